"""A cache on a drive, with placement by two handles and without: write amplification by the share of small objects."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pumice.analysis import plots
from pumice.analysis.plots import Curve, Frame
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.scoreboard import Finding, trend
from pumice_papers.studies.placement.one_stream import series
from pumice_papers.studies.placement.windows import WriteSeries

#: Number of handles → how runs with it are called.
HANDLES = {1: "none", 2: "FDP"}

#: Shares of small objects of which the drive's log tells the onset; that of 4 % was written with other settings.
ONSET = (0.2, 0.4)

#: The last part of what was written, over which levels are compared: what the drives' logs give.
LAST = 0.2


@dataclass(frozen=True)
class CacheRun:
    """A run, and what the drive did.

    Attributes:
        small: share of the drive that small objects have.
        placement: one of the values of `HANDLES`.
        drive: what the drive's log says: `host` and `media`, in TB, and `waf_last_fifth`.
        series: what was simulated.
    """

    small: float
    placement: str
    drive: Mapping[str, Any]
    series: WriteSeries

    def level(self, written: float) -> float:
        """Simulated write amplification of the last fifth before so many user capacities."""
        return self.series.amplification((1.0 - LAST) * written, written)


def cache_runs(drawing: Drawing) -> list[CacheRun]:
    """All runs of the study, by the share of small objects."""
    drives = drawing.experiment.content["drives"]["samsung_cache"]
    return [
        CacheRun(
            small,
            name,
            drives[f"soc{small * 100:.0f}_{name.lower()}"],
            series(drawing, "cache", {"workload.small_space": small, "ftl.handles": handles}),
        )
        for small in drawing.runs.values("cache", "workload.small_space")
        for handles, name in HANDLES.items()
    ]


def by_placement(runs: list[CacheRun], placement: str) -> list[CacheRun]:
    """The runs with a placement, the smallest share of small objects first."""
    return [run for run in runs if run.placement == placement]


def compared_at(runs: list[CacheRun], run: CacheRun) -> float:
    """User capacities up to which a run is compared with the drive: what both logs of its share hold."""
    return min(float(other.drive["capacities"]) for other in runs if other.small == run.small)


@figure(
    paper="placement",
    id="cache",
    frame=Frame(
        "CacheLib on the Samsung drive",
        "write amplification, last fifth",
        x_label="share of small objects in the drive",
    ),
    studies=("cache",),
    rows=("cache_onset", "cache_order", "cache_fdp"),
)
def figure_cache(drawing: Drawing) -> Findings:
    """Levels at the end, with and without placement, and when an empty drive begins to copy."""
    if drawing.runs.error(drawing.figure.sweeps) is not None:
        return {}
    runs = cache_runs(drawing)
    rows = [
        [
            run.small,
            run.placement,
            run.drive["capacities"],
            run.drive["waf_last_fifth"],
            run.level(run.drive["capacities"]),
            run.series.first_copy(),
        ]
        for run in runs
    ]
    columns = ["share of small objects", "placement", "user capacities written", "drive", "simulated", "first copies"]
    drawing.write_csv(columns, rows)
    curves = []
    for placement in reversed(HANDLES.values()):
        of = by_placement(runs, placement)
        shares = [run.small for run in of]
        curves.append(Curve(f"drive, {placement}", shares, [run.drive["waf_last_fifth"] for run in of], kind="points"))
        levels = [run.level(run.drive["capacities"]) for run in of]
        curves.append(Curve(f"simulated, {placement}", shares, levels, colour=len(curves) // 2))
    plots.lines(drawing.frame, curves, drawing.file())
    return _judge(runs)


def _judge(runs: list[CacheRun]) -> Findings:
    fdp, none = by_placement(runs, "FDP"), by_placement(runs, "none")
    levels = [run.level(run.drive["capacities"]) for run in fdp]
    pairs = [(with_.level(compared_at(runs, with_)), without.level(compared_at(runs, with_)))
             for with_, without in zip(fdp, none, strict=True)]  # fmt: skip
    return {
        "cache_onset": Finding(
            [first for run in none if run.small in ONSET and (first := run.series.first_copy()) is not None],
            None,
            "to a hundredth of the capacity",
        ),
        "cache_order": trend(
            [value for pair in pairs for value in pair],
            lambda _: (
                all(with_ < without for with_, without in pairs) and all(a < b for a, b in itertools.pairwise(levels))
            ),
            "FDP and none by share of small objects, a pair at the smaller of the volumes that its logs hold",
        ),
        "cache_fdp": Finding(levels, None, "; ".join(f"{run.small:.0%}" for run in fdp)),
    }
