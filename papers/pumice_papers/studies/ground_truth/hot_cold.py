"""Write amplification of hot and cold pages, mixed and apart, beside closed forms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pumice import files
from pumice.analysis import plots
from pumice.results.document import number
from pumice_papers.studies.ground_truth.closed_forms import (
    Kind,
    greedy_write_amplification,
    least_write_amplification_apart,
    lru_write_amplification_of_kinds,
)
from pumice_papers.studies.ground_truth.study_files import alpha_of, draw_svg, read_rows, run_study, shape_of

#: What is written where in `hot-cold`: shares of writes and of data.
HOT: Kind = (0.9, 0.1)

#: What is simulated in `hot-cold` → its name in the figure and the theory it is held against, by α and
#: pages a block. Greedy keeps hot and cold blocks at the same fewest valid pages, hence at the same α: apart,
#: the two cost what uniform writes cost.
HOT_COLD: Mapping[tuple[str, str], tuple[str, Callable[[float, int], float]]] = {
    ("fifo", "mixed"): (
        "FIFO, mixed",
        lambda alpha, _pages: lru_write_amplification_of_kinds(alpha, [HOT, (1 - HOT[0], 1 - HOT[1])]),
    ),
    ("greedy", "recency"): ("greedy, apart", greedy_write_amplification),
    ("cost-benefit", "recency"): (
        "cost-benefit, apart (line: least possible)",
        lambda alpha, pages: least_write_amplification_apart(alpha, pages, HOT),
    ),
}


def simulate(directory: Path) -> None:
    """Write amplification of hot and cold pages, mixed and apart, as `hot-cold.csv`."""
    rows: list[list[Any]] = []
    for outcome in run_study("hot-cold"):
        document = outcome.document or {}
        policy, lies, spare = (
            outcome.job.varied[f"ftl.{key}"] for key in ("gc_policy", "hot_cold", "over_provisioning")
        )
        shape = shape_of(document)
        theory = HOT_COLD.get((policy, lies))
        expected = theory[1](alpha_of(float(spare), shape), shape[1]) if theory else ""
        simulated = number(document, "write_amplification") or 0.0
        rows.append([policy, lies, round(float(spare) * 100, 6), simulated, expected])
    files.write_csv(
        directory / "hot-cold.csv", ["victims", "hot and cold", "spare / raw, %", "simulated", "theory"], rows
    )


def draw(directory: Path) -> None:
    """Draws `hot-cold.csv` beside the closed forms."""
    rows = read_rows(directory / "hot-cold.csv")
    curves: list[plots.Curve] = []
    for colour, ((policy, lies), (name, _)) in enumerate(HOT_COLD.items()):
        own = [row for row in rows if row[:2] == [policy, lies]]
        spare = [float(row[2]) for row in own]
        curves.append(plots.Curve(name, spare, [float(row[4]) for row in own], "plain", colour))
        curves.append(plots.Curve("", spare, [float(row[3]) for row in own], "points", colour))
    title = f"{HOT[0]:.0%} of the writes to {HOT[1]:.0%} of the pages: dots simulated, lines theory"
    frame = plots.Frame(title, "write amplification", x_label="spare / raw, %")
    ticks = sorted({float(row[2]) for row in rows})
    draw_svg(frame, curves, directory / "hot-cold", plots.Scale(ticks=ticks))
