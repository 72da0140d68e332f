"""Write amplification under uniform random writes, beside Desnoyers' closed forms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pumice import files
from pumice.analysis import plots
from pumice.results.document import number
from pumice.runs.jobs import Outcome
from pumice_papers.studies.ground_truth.closed_forms import greedy_write_amplification, lru_write_amplification
from pumice_papers.studies.ground_truth.study_files import (
    alpha_of,
    draw_svg,
    read_rows,
    run_study,
    shape_of,
    worst_difference,
)

#: Curve in the figure → value of `ftl.gc_policy`.
POLICIES = {"FIFO": "fifo", "greedy": "greedy"}


def simulate(directory: Path) -> None:
    """Write amplification by over-provisioning, FIFO and greedy, as `write-amplification.csv`."""
    rows = [_amplification_row(outcome) for outcome in run_study("write-amplification")]
    columns = ["victims", "spare / raw, %", "blocks", "pages per block", "simulated", "theory"]
    files.write_csv(directory / "write-amplification.csv", columns, rows)


def _amplification_row(outcome: Outcome) -> list[Any]:
    document = outcome.document or {}
    shape = shape_of(document)
    policy = outcome.job.varied["ftl.gc_policy"]
    spare = float(outcome.job.varied["ftl.over_provisioning"])
    theory = amplification_in_theory(policy, spare, shape)
    return [policy, round(spare * 100, 6), *shape, number(document, "write_amplification") or 0.0, theory]


def draw(directory: Path) -> None:
    """Draws `write-amplification.csv` beside the closed forms."""
    rows = read_rows(directory / "write-amplification.csv")
    spare = [0.065 + step * 0.0025 for step in range(88)]
    curves: list[plots.Curve] = []
    for colour, (name, policy) in enumerate(POLICIES.items()):
        own = [row for row in rows if row[0] == policy]
        blocks, pages = int(own[0][2]), int(own[0][3])
        theory = [amplification_in_theory(policy, share, (blocks, pages)) for share in spare]
        curves.append(plots.Curve(f"{name}, theory", [share * 100 for share in spare], theory, "plain", colour))
        simulated = [float(row[4]) for row in own]
        curves.append(plots.Curve("", [float(row[1]) for row in own], simulated, "points", colour))
    title = f"Write amplification: dots simulated, lines Desnoyers (within {worst_difference(rows, 4):.1%})"
    frame = plots.Frame(title, "write amplification", x_label="spare / raw, %")
    ticks = sorted({float(row[1]) for row in rows})
    draw_svg(frame, curves, directory / "write-amplification", plots.Scale(ticks=ticks))


def amplification_in_theory(policy: str, spare: float, shape: tuple[int, int]) -> float:
    """Write amplification of a plane of (blocks, pages per block) with a share of its pages spare."""
    alpha = alpha_of(spare, shape)
    return lru_write_amplification(alpha) if policy == "fifo" else greedy_write_amplification(alpha, shape[1])
