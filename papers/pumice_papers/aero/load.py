"""Beyond AERO's paper: the p99.99 of reads against the share of time for which a die erases.

Four workloads arrive at the rates of Figure 14, and four and sixteen times faster. Nothing else is changed,
so what moves the ratio is how often a read meets an erase. No row of the scoreboard.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pumice.analysis import plots
from pumice.analysis.plots import Frame
from pumice_papers.aero.seed_pairs import Interval, Variants, means, pairs_of, workload_interval
from pumice_papers.aero.tails import BASE, PEC, PECS, SCHEME, erase_share, read_tail
from pumice_papers.figures import Drawing, Findings, figure

STUDY, SPEEDUP = "load", "host.speedup"


@dataclass(frozen=True)
class Point:
    """A workload at a speed and an age.

    Attributes:
        load: the workload.
        speedup: how much faster than recorded its requests arrive.
        pec: P/E cycles at the start.
        share: share of the time for which a die erases under `BASE`.
        latencies: p99.99 of reads under `BASE` and under aero, µs, means over seeds.
        ratio: aero / `BASE`.
    """

    load: str
    speedup: float
    pec: int
    share: float
    latencies: tuple[float, float]
    ratio: Interval


@figure(
    frame=Frame(
        "p99.99 read latency, aero / ispe, against the share of time for which a die erases under ispe",
        "ratio",
        (1.0, "ispe"),
        x_label="share of time",
    ),
    studies=(STUDY,),
    needs_all=True,
)
def figure_load(drawing: Drawing) -> Findings:
    """p99.99 of reads, aero / ispe, against the share of time for which a die erases under ispe."""
    found = list(_points(drawing))
    columns = ["workload", "speedup", "PEC", "erase share of a die", "ispe, µs", "aero, µs", "ratio", "lo", "hi"]
    drawing.write_csv(
        columns,
        [
            [one.load, one.speedup, one.pec, one.share, *one.latencies, one.ratio.value, one.ratio.lo, one.ratio.hi]
            for one in found
        ],
    )
    curves = [_curve(pec, [one for one in found if one.pec == pec]) for pec in PECS]
    plots.lines(drawing.frame, curves, drawing.file(), plots.Scale(log_x=True))
    return {}


def _points(drawing: Drawing) -> Iterator[Point]:
    """Every point for which the runs of both schemes are there."""
    for pec, speedup in itertools.product(PECS, drawing.runs.values(STUDY, SPEEDUP)):
        over, under = ({SCHEME: scheme, PEC: pec, SPEEDUP: speedup} for scheme in ("aero", BASE))
        below = drawing.runs.by_seed(STUDY, under)
        for load, of_seeds in pairs_of(drawing.runs, read_tail("p99_99"), Variants(STUDY, over, under)).items():
            share = statistics.fmean(map(erase_share, below[load].values()))
            yield Point(load, speedup, pec, share, means(of_seeds), workload_interval(of_seeds))


def _curve(pec: int, found: Sequence[Point]) -> plots.Curve:
    ordered = sorted(found, key=lambda one: one.share)
    name = f"{pec / 1000:g}K"
    return plots.Curve(name, [one.share for one in ordered], [one.ratio.value for one in ordered], kind="points")
