"""A cache on a drive, with placement by two handles and without: write amplification by how much was written."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pumice.analysis import plots
from pumice.analysis.plots import Curve, Frame
from pumice_papers.experiment import Experiment
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.scoreboard import Finding, trend
from pumice_papers.studies.placement.one_stream import series
from pumice_papers.studies.placement.windows import WriteSeries, errors, largest, root_mean_square

#: Bytes of the user capacity of the Samsung drive, in TB: the period of its counters under one stream.
CAPACITY_TB = 7.681501126656

#: User capacities that are compared window by window: the drives' start. Some logs change character later.
COMPARED = 12.0

#: The last part of what was written, over which levels are compared.
LAST = 0.2

#: Largest error (root mean square over the windows) of a model that is the drive's.
WINDOWS_ERROR = 0.10

#: Logs that are compared to their ends as well: those without placement that go on beyond `COMPARED`.
TO_THE_END = ("kv202206_soc4_none", "kv2024_soc4_none", "kv2024_soc20_none")

#: Ways in which an unplaced drive could come to begin late: words → what differs from the study's first run.
MECHANISMS: dict[str, Mapping[str, object]] = {
    "the preset": {},
    "paced by the free units": {"ftl.gc_mode": "paced", "ftl.gc_stop_threshold": 0.0417},
    "from 2 to 20 free units": {"ftl.gc_stop_threshold": 0.04},
    "at 8 free units": {"ftl.gc_free_threshold": 0.016, "ftl.gc_stop_threshold": 0.016},
    "cost-benefit": {"ftl.gc_policy": "cost-benefit"},
    "host and collected data mixed": {"ftl.hot_cold": "mixed"},
    "spare space 0.25": {"ftl.over_provisioning": 0.2},
    "four times as many units": {"geometry.blocks_per_plane": 2048, "geometry.pages_per_block": 256},
    "full at first": {"initial.fill": 1.0},
    "a cache in 0.9 of the drive": {"workload.footprint": 0.9},
    "the log's own share of bytes, cost-benefit": {"workload.small_share": 0.887, "ftl.gc_policy": "cost-benefit"},
    "the log's own share of bytes": {"workload.small_share": 0.887},
}

#: The log that they are compared with, and the one of them that it does not refute.
LATE, OWN = "kv202206_soc4_none", "the log's own share of bytes"


@dataclass(frozen=True)
class CacheLog:
    """What a drive's log says of a cache, and its input.

    Attributes:
        small_space: part of the drive that small objects have.
        small_share: part of the bytes that small objects take.
        handles: 2 with placement, 1 without.
        share_from: what `small_share` is known from.
        series: what the drive counted, in user capacities.
    """

    small_space: float
    small_share: float
    handles: int
    share_from: str
    series: WriteSeries

    @property
    def end(self) -> float:
        """User capacities written by the end of the last window that is compared."""
        return max(host for host in self.series.host if host <= COMPARED)

    @property
    def bounds(self) -> list[float]:
        """Bounds of the windows that are compared, in user capacities."""
        return [0.0, *(host for host in self.series.host if host <= self.end)]


def cache_logs(experiment: Experiment) -> dict[str, CacheLog]:
    """The logs of an experiment by their names."""
    return {
        name: CacheLog(
            log["small_space"],
            log["small_share"],
            log["handles"],
            log["share_from"],
            WriteSeries(
                [float(tb) for tb in np.linspace(0.0, log["host_TB"] / CAPACITY_TB, len(log["media_TB"]))[1:]],
                [tb / CAPACITY_TB for tb in log["media_TB"][1:]],
            ),
        )
        for name, log in experiment.content["drives"]["cachelib"].items()
    }


def windows(written: WriteSeries, bounds: Sequence[float]) -> list[float]:
    """Write amplification between neighbouring bounds, in user capacities."""
    return [written.amplification(begin, end) for begin, end in itertools.pairwise(bounds)]


def level(written: WriteSeries, end: float) -> float:
    """Write amplification of the last fifth before so many user capacities."""
    return written.amplification((1.0 - LAST) * end, end)


def simulated(drawing: Drawing, log: CacheLog) -> WriteSeries:
    """The run that stands for a log."""
    keys = ("workload.small_space", "workload.small_share", "ftl.handles")
    return series(drawing, "cache", dict(zip(keys, (log.small_space, log.small_share, log.handles), strict=True)))


def _rows(handles: int, names: Sequence[str]) -> tuple[str, ...]:
    ends = [f"cache_{name}_end" for name in TO_THE_END] if handles == 1 else []
    return (*(f"cache_{name}" for name in names), *ends)


#: The logs, in the order of the scoreboard; `_none` or `_fdp` is put behind.
REPLAYS = (
    "kv202206_soc4", "kv202206_soc20", "kv202206_soc40", "kv202210_soc4", "kv202210_soc20", "kv2024_soc4",
    "kv2024_soc20", "twitter12", "twitter37", "cdn_soc0", "cdn_soc4",
)  # fmt: skip


@figure(
    frame=Frame("A cache without placement", "write amplification", x_label="user capacities written"),
    studies=("cache",),
    rows=_rows(1, [f"{name}_none" for name in REPLAYS]),
    needs_all=True,
)
def figure_cache(drawing: Drawing) -> Findings:
    """Each log without placement, window by window, beside the run with its share of bytes."""
    return _compare(drawing, 1)


@figure(
    frame=Frame("A cache with two handles", "write amplification", x_label="user capacities written"),
    studies=("cache",),
    rows=_rows(2, [f"{name}_fdp" for name in REPLAYS]),
    needs_all=True,
)
def figure_cache_placed(drawing: Drawing) -> Findings:
    """Each log with placement, window by window, beside the run with its share of bytes."""
    return _compare(drawing, 2)


def _compare(drawing: Drawing, handles: int) -> Findings:
    logs = {name: log for name, log in cache_logs(drawing.experiment).items() if log.handles == handles}
    runs = {name: simulated(drawing, log) for name, log in logs.items()}
    table: list[list[object]] = []
    curves: list[Curve] = []
    findings: Findings = {}
    for name, log in logs.items():
        bounds = log.bounds
        drive, ours = windows(log.series, bounds), windows(runs[name], bounds)
        table += [[name, *row] for row in zip(bounds, bounds[1:], drive, ours, strict=False)]
        error = errors(ours, drive)
        note = f"largest error of a window {largest(error):.0%}; share from: {log.share_from}"
        findings[f"cache_{name}"] = Finding([root_mean_square(error), level(runs[name], log.end)], None, note)
        if max(drive) > 1.0 + WINDOWS_ERROR:
            middles = [(begin + end) / 2 for begin, end in itertools.pairwise(bounds)]
            colour = len(curves) // 2
            curves.append(Curve("", middles, drive, kind="points", colour=colour))
            curves.append(Curve(name.rsplit("_", 1)[0], middles, ours, kind="plain", colour=colour))
    for name in TO_THE_END if handles == 1 else ():
        findings[f"cache_{name}_end"] = Finding([level(runs[name], logs[name].series.host[-1])])
    drawing.write_csv(["log", "from, user capacities", "to", "drive", "simulated"], table)
    plots.lines(drawing.frame, curves, drawing.file())
    return findings


@figure(
    frame=Frame("Why an unplaced drive begins late", "write amplification", x_label="user capacities written"),
    studies=("cache-mechanisms",),
    rows=("cache_mechanisms",),
    needs_all=True,
)
def figure_cache_mechanisms(drawing: Drawing) -> Findings:
    """One log beside drives that collect otherwise, and beside a workload of its own share of bytes."""
    log = cache_logs(drawing.experiment)[LATE]
    bounds = log.bounds
    drive = windows(log.series, bounds)
    first = drawing.runs.outcomes("cache-mechanisms")[0].job.varied
    ours = {
        name: windows(series(drawing, "cache-mechanisms", {**first, **varied}), bounds)
        for name, varied in MECHANISMS.items()
    }
    drawing.write_csv(["to, user capacities", "drive", *ours], [*zip(bounds[1:], drive, *ours.values(), strict=True)])
    middles = [(begin + end) / 2 for begin, end in itertools.pairwise(bounds)]
    curves = [Curve("drive", middles, drive, kind="points")]
    curves += [Curve(name if name == OWN else "", middles, one, kind="line" if name == OWN else "pale")
               for name, one in ours.items()]  # fmt: skip
    plots.lines(drawing.frame, curves, drawing.file())
    found = {name: root_mean_square(errors(one, drive)) for name, one in ours.items()}
    note = "; ".join(f"{name} {error:.1%}" for name, error in found.items())
    refuted = [error for name, error in found.items() if name != OWN]
    return {"cache_mechanisms": trend(refuted, lambda values: min(values) > WINDOWS_ERROR, note)}
