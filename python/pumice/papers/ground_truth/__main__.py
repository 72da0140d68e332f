"""The simulator beside closed forms, and its own speed by device size: the figures of docs/VALIDATION.md.

`python -m pumice.papers.ground_truth --out DIR` writes a CSV and an SVG a figure. `--measure`
also measures the speed, which takes some minutes of an idle machine and 5 GiB of memory; without it the figure is
drawn from the CSV that DIR holds.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pumice import _engine, files
from pumice.analysis import plots
from pumice.papers.experiment import ROOT
from pumice.papers.ground_truth.closed_forms import (
    Kind,
    greedy_write_amplification,
    least_write_amplification_apart,
    lru_write_amplification,
    lru_write_amplification_of_kinds,
    m_d_1_waiting,
)
from pumice.papers.ratios import write_csv
from pumice.results.document import number
from pumice.runs.batch import Outcome, Settings
from pumice.runs.spec import Spec, preset
from pumice.runs.sweep import read_sweep, run_grid

#: Blocks of a plane that hold no data when a victim is chosen: the free one and the one copied into.
EMPTY_BLOCKS = 2

#: Curve in the figure → value of `ftl.gc_policy`.
POLICIES = {"FIFO": "fifo", "greedy": "greedy"}

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

#: Devices whose speed is measured, made from `bench-64g`: GiB → channels, chips a channel, planes, blocks
#: a plane. Below 64 GiB planes are taken away, since a plane needs some blocks to collect garbage.
DEVICES = {
    1: (1, 1, 1, 256),
    4: (2, 1, 2, 256),
    16: (4, 2, 2, 256),
    64: (8, 2, 2, 512),
    256: (8, 2, 2, 2048),
    1024: (8, 2, 2, 8192),
    4096: (8, 2, 2, 32768),
}

#: What is done to a filled device while the speed is measured: name → settings.
LOADS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "random writes, timed": {"workload": {"read_fraction": 0.0}, "run": {"timed": True}},
    "random writes, untimed": {"workload": {"read_fraction": 0.0}, "run": {"timed": False}},
    "random reads, timed": {
        "workload": {"read_fraction": 1.0},
        "initial": {"fill": 1.0},
        "run": {"timed": True},
    },
}
MEASURED_REQUESTS = 5_000_000


def main(arguments: Sequence[str] | None = None) -> None:
    """Writes all figures."""
    parser = argparse.ArgumentParser(prog="ground_truth", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--measure", action="store_true", help="measure the speed by device size anew")
    parser.add_argument("--one", nargs=2, metavar=("GIB", "LOAD"), help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.one is not None:
        print(json.dumps(measure_one(int(chosen.one[0]), chosen.one[1])))
        return
    simulate_write_amplification(chosen.out)
    simulate_hot_cold(chosen.out)
    simulate_waiting(chosen.out)
    if chosen.measure:
        measure(chosen.out / "device-size.csv")
    for draw in (write_amplification, hot_cold, waiting, device_size):
        draw(chosen.out)


def simulate_write_amplification(directory: Path) -> None:
    """Write amplification by over-provisioning, FIFO and greedy, as `write-amplification.csv`."""
    rows = [_amplification_row(outcome) for outcome in _runs("write-amplification")]
    columns = ["victims", "spare / raw, %", "blocks", "pages per block", "simulated", "theory"]
    write_csv(directory / "write-amplification.csv", columns, rows)


def simulate_hot_cold(directory: Path) -> None:
    """Write amplification of hot and cold pages, mixed and apart, as `hot-cold.csv`."""
    rows: list[list[Any]] = []
    for outcome in _runs("hot-cold"):
        document = outcome.document or {}
        policy, lies, spare = (
            outcome.job.varied[f"ftl.{key}"] for key in ("gc_policy", "hot_cold", "over_provisioning")
        )
        shape = _shape(document)
        theory = HOT_COLD.get((policy, lies))
        expected = theory[1](_alpha(float(spare), shape), shape[1]) if theory else ""
        simulated = number(document, "write_amplification") or 0.0
        rows.append([policy, lies, round(float(spare) * 100, 6), simulated, expected])
    write_csv(directory / "hot-cold.csv", ["victims", "hot and cold", "spare / raw, %", "simulated", "theory"], rows)


def simulate_waiting(directory: Path) -> None:
    """Mean wait for a die by its load, as `waiting.csv`."""
    rows: list[list[float]] = []
    for outcome in _runs("waiting"):
        document = outcome.document or {}
        service = _service_us(document)
        load = service / float(outcome.job.varied["workload.mean_interarrival_us"])
        waited = (number(document, "host.read.latency_us.mean") or 0.0) - service
        rows.append([round(load, 6), waited / service, m_d_1_waiting(load)])
    write_csv(directory / "waiting.csv", ["load", "wait / service time, simulated", "theory"], rows)


def write_amplification(directory: Path) -> None:
    """Draws `write-amplification.csv` beside the closed forms."""
    rows = _rows(directory / "write-amplification.csv")
    spare = [0.065 + step * 0.0025 for step in range(88)]
    curves: list[plots.Curve] = []
    for colour, (name, policy) in enumerate(POLICIES.items()):
        own = [row for row in rows if row[0] == policy]
        blocks, pages = int(own[0][2]), int(own[0][3])
        theory = [amplification_in_theory(policy, share, (blocks, pages)) for share in spare]
        curves.append(plots.Curve(f"{name}, theory", [share * 100 for share in spare], theory, "plain", colour))
        simulated = [float(row[4]) for row in own]
        curves.append(plots.Curve("", [float(row[1]) for row in own], simulated, "points", colour))
    title = f"Write amplification: dots simulated, lines Desnoyers (within {_worst(rows, 4):.1%})"
    frame = plots.Frame(title, "write amplification", x_label="spare / raw, %")
    ticks = sorted({float(row[1]) for row in rows})
    _draw(frame, curves, directory / "write-amplification", plots.Scale(ticks=ticks))


def hot_cold(directory: Path) -> None:
    """Draws `hot-cold.csv` beside the closed forms."""
    rows = _rows(directory / "hot-cold.csv")
    curves: list[plots.Curve] = []
    for colour, ((policy, lies), (name, _)) in enumerate(HOT_COLD.items()):
        own = [row for row in rows if row[:2] == [policy, lies]]
        spare = [float(row[2]) for row in own]
        curves.append(plots.Curve(name, spare, [float(row[4]) for row in own], "plain", colour))
        curves.append(plots.Curve("", spare, [float(row[3]) for row in own], "points", colour))
    title = f"{HOT[0]:.0%} of the writes to {HOT[1]:.0%} of the pages: dots simulated, lines theory"
    frame = plots.Frame(title, "write amplification", x_label="spare / raw, %")
    ticks = sorted({float(row[2]) for row in rows})
    _draw(frame, curves, directory / "hot-cold", plots.Scale(ticks=ticks))


def waiting(directory: Path) -> None:
    """Draws `waiting.csv` beside the closed form."""
    rows = _rows(directory / "waiting.csv")
    loads = [step / 100 for step in range(91)]
    curves = [
        plots.Curve("M/D/1", loads, [m_d_1_waiting(load) for load in loads], "plain", 0),
        plots.Curve("", [float(row[0]) for row in rows], [float(row[1]) for row in rows], "points", 0),
    ]
    title = f"Waiting for a die: dots simulated, line M/D/1 (within {_worst(rows, 1):.1%})"
    _draw(plots.Frame(title, "mean wait, service times", x_label="load"), curves, directory / "waiting", plots.Scale())


def amplification_in_theory(policy: str, spare: float, shape: tuple[int, int]) -> float:
    """Write amplification of a plane of (blocks, pages per block) with a share of its pages spare."""
    alpha = _alpha(spare, shape)
    return lru_write_amplification(alpha) if policy == "fifo" else greedy_write_amplification(alpha, shape[1])


def _alpha(spare: float, shape: tuple[int, int]) -> float:
    """Pages of the blocks that hold data over user pages."""
    blocks, pages = shape
    return (blocks - EMPTY_BLOCKS) * pages / int(blocks * pages * (1.0 - spare))


def _shape(document: Mapping[str, Any]) -> tuple[int, int]:
    """Blocks a plane and pages a block."""
    geometry = document["config"]["geometry"]
    return int(geometry["blocks_per_plane"]), int(geometry["pages_per_block"])


def device_size(directory: Path) -> None:
    """Time of a flash command by the size of the simulated device, from `device-size.csv`; nothing
    if there is none."""
    path = directory / "device-size.csv"
    if not path.exists():
        return
    rows = _rows(path)
    curves = [
        plots.Curve(
            load,
            [float(row[1]) for row in rows if row[0] == load],
            [float(row[3]) / float(row[2]) * 1e9 for row in rows if row[0] == load],
        )
        for load in dict.fromkeys(row[0] for row in rows)
    ]
    frame = plots.Frame("Time of a flash command by device size", "CPU time, ns", x_label="device, GiB")
    _draw(frame, curves, directory / "device-size", plots.Scale(log_x=True, ticks=list(DEVICES)))


def measure(path: Path) -> None:
    """Load, size, flash commands and CPU seconds of each measurement, each in a process of its own. What is
    measured is kept in the file, whatever becomes of the rest."""
    rows: list[list[Any]] = []
    for load in LOADS:
        for gib in DEVICES:
            command = [sys.executable, "-m", "pumice.papers.ground_truth", "--out", ".", "--one", str(gib), load]
            rows.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
            write_csv(path, ["load", "device, GiB", "flash commands", "CPU, s"], rows)


def measure_one(gib: int, load: str) -> list[Any]:
    """A row of `measure`. The time of a run of one request, which is that of the device's start, is left out."""
    names = ("channels", "chips_per_channel", "planes_per_die", "blocks_per_plane")
    spec = preset("bench-64g").with_(
        geometry=dict(zip(names, DEVICES[gib], strict=True)),
        initial={"age_writes": 0.0, "fill": 0.9, **LOADS[load].get("initial", {})},
        workload=LOADS[load]["workload"],
        run=LOADS[load]["run"],
    )
    _, start = _timed_run(spec.with_(workload={"requests": 1}))
    commands, seconds = _timed_run(spec.with_(workload={"requests": MEASURED_REQUESTS}))
    return [load, gib, commands, round(seconds - start, 3)]


def _timed_run(spec: Spec) -> tuple[int, float]:
    """Flash commands of a run, and its CPU seconds."""
    started = time.process_time()
    document = json.loads(_engine.run(spec.request(), None))
    return int(document["run"]["flash_commands"]), time.process_time() - started


def _runs(study: str) -> list[Outcome]:
    outcomes = run_grid(read_sweep(ROOT / "ground_truth" / f"{study}.toml"), Settings(study))
    for outcome in outcomes:
        if outcome.document is None:
            raise SystemExit(f"{outcome.job.label}: {outcome.error}")
    return outcomes


def _amplification_row(outcome: Outcome) -> list[Any]:
    document = outcome.document or {}
    shape = _shape(document)
    policy = outcome.job.varied["ftl.gc_policy"]
    spare = float(outcome.job.varied["ftl.over_provisioning"])
    theory = amplification_in_theory(policy, spare, shape)
    return [policy, round(spare * 100, 6), *shape, number(document, "write_amplification") or 0.0, theory]


def _rows(path: Path) -> list[list[str]]:
    """The lines of a CSV file below its first."""
    with path.open(encoding="utf-8") as file:
        return list(csv.reader(file))[1:]


def _worst(rows: Sequence[Sequence[str]], simulated: int) -> float:
    """Largest relative difference between a column and the next one, theory."""
    return max(abs(float(row[simulated]) / float(row[simulated + 1]) - 1) for row in rows)


def _service_us(document: Mapping[str, Any]) -> float:
    """tR and the transfer of a page with its spare bytes."""
    config = document["config"]
    moved = int(config["geometry"]["page_bytes"]) + int(config["geometry"]["spare_bytes"])
    return float(config["timing"]["t_r_us"]) + moved / float(config["timing"]["channel_mb_per_s"])


def _draw(frame: plots.Frame, curves: Sequence[plots.Curve], path: Path, scale: plots.Scale) -> None:
    """Draws a figure and keeps its SVG, which is small enough for a repository."""
    with tempfile.TemporaryDirectory() as directory:
        drawn = Path(directory) / path.name
        plots.lines(frame, curves, drawn, scale)
        files.write_text(path.with_suffix(".svg"), drawn.with_suffix(".svg").read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
