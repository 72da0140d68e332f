"""CPU time of a flash command by the size of the simulated device."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pumice import _engine, files
from pumice.analysis import plots
from pumice.runs.spec import Spec, preset
from pumice_papers.studies.ground_truth.study_files import draw_svg, read_rows

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


def draw(directory: Path) -> None:
    """Time of a flash command by the size of the simulated device, from `device-size.csv`; nothing
    if there is none."""
    path = directory / "device-size.csv"
    if not path.exists():
        return
    rows = read_rows(path)
    curves = [
        plots.Curve(
            load,
            [float(row[1]) for row in rows if row[0] == load],
            [float(row[3]) / float(row[2]) * 1e9 for row in rows if row[0] == load],
        )
        for load in dict.fromkeys(row[0] for row in rows)
    ]
    frame = plots.Frame("Time of a flash command by device size", "CPU time, ns", x_label="device, GiB")
    draw_svg(frame, curves, directory / "device-size", plots.Scale(log_x=True, ticks=list(DEVICES)))


def measure(path: Path) -> None:
    """Load, size, flash commands and CPU seconds of each measurement, each in a process of its own. What is
    measured is kept in the file, whatever becomes of the rest."""
    rows: list[list[Any]] = []
    for load in LOADS:
        for gib in DEVICES:
            command = [
                sys.executable,
                "-m",
                "pumice_papers.studies.ground_truth",
                "--out",
                ".",
                "--one",
                str(gib),
                load,
            ]
            rows.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
            files.write_csv(path, ["load", "device, GiB", "flash commands", "CPU, s"], rows)


def measure_one(gib: int, load: str) -> list[Any]:
    """A row of `measure`. The time that the device takes to start, measured by a run of one request, is subtracted."""
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
