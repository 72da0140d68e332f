"""Beyond AERO's paper (ASPLOS'24): the p99.99 of reads against the share of time for which a die erases.

Four workloads arrive at the rates of Figure 14, and four and sixteen times faster. Nothing else is changed, so
what moves the ratio is how often a read meets an erase.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pumice.analysis import plots
from pumice.papers.aero.read_tails import BASE, PEC, PECS, SCHEME, Device, bootstrap, erase_share, read_tail
from pumice.papers.ratios import write_csv
from pumice.papers.scoreboard import Finding

STUDY, SPEEDUP = "load", "host.speedup"


@dataclass(frozen=True)
class Point:
    """A workload at a speed and an age: how often a die erases under ispe, and what that makes of a tail."""

    load: str
    speedup: float
    pec: int
    share: float
    latencies: tuple[float, float]
    ratio: float
    lo: float
    hi: float


def points(device: Device) -> Iterator[Point]:
    """Every point of the study for which the runs of both schemes are there."""
    speedups = sorted({float(str(o.job.varied[SPEEDUP])) for study, o in device.runs if study == STUDY})
    for pec, speedup in itertools.product(PECS, speedups):
        over, under = ({SCHEME: scheme, PEC: pec, SPEEDUP: speedup} for scheme in ("aero", BASE))
        for load, of_seeds in device.pairs(STUDY, read_tail("p99_99"), over, under).items():
            share = statistics.fmean(map(erase_share, device.seeds(STUDY, under)[load].values()))
            own = bootstrap({load: of_seeds}, 200)
            latencies = statistics.fmean(below for _, below in of_seeds), statistics.fmean(top for top, _ in of_seeds)
            yield Point(load, speedup, pec, share, latencies, own.value, own.lo, own.hi)


def figure_load(device: Device) -> dict[str, Finding]:
    """p99.99 of reads, aero / ispe, against the share of time for which a die erases under ispe."""
    if device.failed(STUDY) is not None:
        return {}
    found = list(points(device))
    columns = ["workload", "speedup", "PEC", "erase share of a die", "ispe, µs", "aero, µs", "ratio", "lo", "hi"]
    rows: list[list[Any]] = [
        [one.load, one.speedup, one.pec, one.share, *one.latencies, one.ratio, one.lo, one.hi] for one in found
    ]
    write_csv(device.directory / "load.csv", columns, rows)
    curves = [
        plots.Curve(f"{pec / 1000:g}K", *_sides([one for one in found if one.pec == pec]), kind="points")
        for pec in PECS
    ]
    title = "p99.99 read latency, aero / ispe, against the share of time for which a die erases under ispe"
    frame = plots.Frame(title, "ratio", (1.0, "ispe"), x_label="share of time")
    plots.lines(frame, curves, device.directory / "load", plots.Scale(log_x=True))
    return {}


def _sides(found: list[Point]) -> tuple[list[float], list[float]]:
    ordered = sorted(found, key=lambda one: one.share)
    return [one.share for one in ordered], [one.ratio for one in ordered]


#: Figure → function of the runs.
FIGURES: dict[str, Callable[[Device], dict[str, Finding]]] = {"load": figure_load}
