"""Ratios of two variants over workloads: their means, their figures and their CSV files."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pumice import files
from pumice.analysis import plots
from pumice.analysis.statistics import Means, ratio_means
from pumice_papers.figures import Drawing
from pumice_papers.over_seeds import Spread, cells, curve, ends, judged, mean, shown, spread, with_seeds
from pumice_papers.scoreboard import Finding

#: A mean over workloads: a field of `Means`.
MeanKind = Literal["arithmetic", "geometric", "of_means"]

#: The means in words: labels of bars and of the rows of a CSV below the workloads.
MEANS: Mapping[MeanKind, str] = {
    "arithmetic": "arithmetic mean",
    "geometric": "geometric mean",
    "of_means": "ratio of means",
}


@dataclass(frozen=True)
class Ratios:
    """A quantity of two variants over workloads, with one seed.

    Attributes:
        over, under: value by workload of the first and of the second variant.
        left_out: workloads where both are 0, so that there is no ratio.
        unbounded: workloads where only the second value is 0.
        failed: workloads without a value because a run failed.
    """

    over: Mapping[str, float]
    under: Mapping[str, float]
    left_out: list[str]
    unbounded: list[str]
    failed: list[str]

    def ratio(self, workload: str) -> float | None:
        """The ratio of a workload; None if it has none."""
        return self.over[workload] / self.under[workload] if workload in self.over else None

    def means(self, only: Sequence[str] | None = None) -> Means:
        """Means over the workloads that have a ratio, or over those of them in `only`."""
        chosen = [name for name in self.over if only is None or name in only]
        return ratio_means([self.under[name] for name in chosen], [self.over[name] for name in chosen])


def ratios(over: Mapping[str, float | None], under: Mapping[str, float | None]) -> Ratios:
    """Pairs two quantities by workload and sorts out those without a ratio."""
    kept_over: dict[str, float] = {}
    kept_under: dict[str, float] = {}
    left_out: list[str] = []
    unbounded: list[str] = []
    failed: list[str] = []
    for workload, top in over.items():
        bottom = under.get(workload)
        if top is None or bottom is None:
            failed.append(workload)
        elif bottom == 0:
            (left_out if top == 0 else unbounded).append(workload)
        else:
            kept_over[workload], kept_under[workload] = top, bottom
    return Ratios(kept_over, kept_under, left_out, unbounded, failed)


@dataclass(frozen=True)
class SeedRatios:
    """A quantity of two variants over workloads, seed by seed; one seed if runs are not repeated.

    Attributes:
        seeds: the ratios with each seed.
        kind: the mean over workloads by which it is judged.
    """

    seeds: Sequence[Ratios]
    kind: MeanKind = "arithmetic"

    @property
    def workloads(self) -> list[str]:
        """The workloads that have a ratio at every seed."""
        return [name for name in self.seeds[0].over if all(name in found.over for found in self.seeds)]

    @property
    def failed(self) -> list[str]:
        """The workloads of which a run failed."""
        return list(dict.fromkeys(name for found in self.seeds for name in found.failed))

    def ratio(self, workload: str) -> Spread | None:
        """The ratio of a workload over the seeds; None if it has none at one of them."""
        return spread([found.ratio(workload) for found in self.seeds])

    def mean(self, kind: MeanKind | None = None, only: Sequence[str] | None = None) -> Spread | None:
        """A mean over workloads, or over those in `only`, taken at each seed; by default that of its kind."""
        return spread([getattr(found.means(only), kind or self.kind) for found in self.seeds])

    def judged_means(self) -> list[float | None]:
        """The mean of its kind at each seed; None where a run failed, since a mean over fewer workloads is
        another."""
        return [None if found.failed else getattr(found.means(), self.kind) for found in self.seeds]

    def value(self, workload: str, place: Literal["over", "under"]) -> float | None:
        """The quantity of one of the variants, the mean over the seeds."""
        return mean(spread([getattr(found, place).get(workload) for found in self.seeds]))


def describe(found: SeedRatios, high_write: Sequence[str]) -> str:
    """The means in words, which workloads lie on either side of 1, and which are left out."""

    def means(only: Sequence[str] | None = None) -> list[str]:
        return [shown(found.mean(kind, only)) for kind in MEANS]

    arithmetic, geometric, of_means = means()
    parts = [
        f"arithmetic {arithmetic}, geometric {geometric}, ratio of means {of_means} over"
        f" {len(found.workloads)} workloads",
        f"high-write set {', '.join(means(high_write))}",
    ]
    parts += [split] if (split := _split(found)) else []
    named = {
        "left out at 0/0": [name for one in found.seeds for name in one.left_out],
        "left out at x/0": [name for one in found.seeds for name in one.unbounded],
        "failed": found.failed,
    }
    parts += [f"{reason}: {', '.join(dict.fromkeys(names))}" for reason, names in named.items() if names]
    return "; ".join(parts)


def _split(found: SeedRatios) -> str:
    """The workloads on the other side of 1 than most: a mean hides them."""
    by_workload = {name: ratio.mean for name in found.workloads if (ratio := found.ratio(name)) is not None}
    above = [name for name, ratio in by_workload.items() if ratio > 1]
    below = [name for name, ratio in by_workload.items() if ratio < 1]
    side, fewer = ("above", above) if len(above) <= len(below) else ("below", below)
    names = ", ".join(f"{name} {by_workload[name]:.3f}" for name in fewer)
    return f"{side} 1: {names}" if fewer else ""


def draw_ratios(
    drawing: Drawing,
    series: Mapping[str, SeedRatios],
    workloads: Sequence[str],
    beside: Mapping[str, SeedRatios] | None = None,
) -> None:
    """Draws one bar for each workload and series, with the means set apart; a line on a bar reaches from the
    least to the largest of the seeds.

    The CSV also holds the series `beside`.
    """
    frame = dataclasses.replace(_with_seeds(drawing.frame, series.values()), reference=(1.0, "no change"))
    frame = dataclasses.replace(frame, mark=len(workloads))
    found = {name: [*(own.ratio(workload) for workload in workloads), own.mean()] for name, own in series.items()}
    bars = plots.Bars(
        [*workloads, mean_name(series.values())],
        {name: [mean(each) for each in row] for name, row in found.items()},
        ranges={name: [ends(each) for each in row] for name, row in found.items()},
    )
    plots.grouped_bars(frame, bars, drawing.file())
    written = {**series, **(beside or {})}
    columns = ["workload"]
    for name in written:
        columns += [f"{name}: {what}" for what in ("over", "under", "ratio", "least", "largest")]
    rows: list[list[Any]] = [_csv_row(workload, written) for workload in workloads]
    for kind, label in MEANS.items():
        rows.append([label, *(cell for own in written.values() for cell in (None, None, *cells(own.mean(kind))))])
    drawing.write_csv(columns, rows)


def mean_name(series: Iterable[SeedRatios]) -> str:
    """The name of the mean over workloads by which some ratios are judged."""
    (kind,) = {found.kind for found in series}
    return "mean" if kind == "arithmetic" else MEANS[kind]


def _with_seeds(frame: plots.Frame, series: Iterable[SeedRatios]) -> plots.Frame:
    return with_seeds(frame, max((len(found.seeds) for found in series), default=1))


def _csv_row(workload: str, series: Mapping[str, SeedRatios]) -> list[Any]:
    row: list[Any] = [workload]
    for found in series.values():
        row += [found.value(workload, "over"), found.value(workload, "under"), *cells(found.ratio(workload))]
    return row


@dataclass(frozen=True)
class Sweep:
    """A ratio over workloads at each value of what is swept.

    Attributes:
        by_value: the ratios, by swept value in ascending order.
        name: workloads that are named in the figure; the others stay in the background.
        log_x: whether the swept values are drawn on a logarithmic axis.
        from_zero: whether the axis of the ratios begins at 0.
    """

    by_value: Mapping[float, SeedRatios]
    name: Sequence[str] = ()
    log_x: bool = False
    from_zero: bool = True

    @property
    def curve(self) -> plots.Curve:
        """The mean over workloads at each value."""
        found = [own.mean() for own in self.by_value.values()]
        name = mean_name(self.by_value.values())
        return curve(name, list(self.by_value), found)


def draw_sweep(frame: plots.Frame, sweep: Sweep, path: Path, beside: Sequence[plots.Curve] = ()) -> None:
    """Draws a line for the mean, the curves `beside`, and a line for each workload. Writes `path`.png, .svg
    and .csv."""
    values = list(sweep.by_value)
    drawn = {name: [mean(ratio) for ratio in row] for name, row in _by_workload(sweep).items()}
    curves = [sweep.curve, *beside]
    curves += [plots.Curve(name, values, drawn[name]) for name in sweep.name if name in drawn]
    curves += [plots.Curve("", values, drawn[name], "pale") for name in drawn if name not in sweep.name]
    scale = plots.Scale(log_x=sweep.log_x, ticks=values, from_zero=sweep.from_zero)
    plots.lines(_with_seeds(frame, sweep.by_value.values()), curves, path, scale)
    write_sweep(sweep, path)


def write_sweep(sweep: Sweep, path: Path) -> None:
    """Writes `path`.csv: a line for each workload and mean; at each value the mean over the seeds, the least
    and the largest."""
    found = _by_workload(sweep)
    for kind, label in MEANS.items():
        found[label] = [own.mean(kind) for own in sweep.by_value.values()]
    rows: list[list[Any]] = [[name, *(cell for each in row for cell in cells(each))] for name, row in found.items()]
    columns = ["workload"]
    columns += [f"{value:g}{ending}" for value in sweep.by_value for ending in ("", ": least", ": largest")]
    files.write_csv(path.with_name(f"{path.name}.csv"), columns, rows)


def _by_workload(sweep: Sweep) -> dict[str, list[Spread | None]]:
    """The ratio of each workload at each value; None where it has none."""
    named = dict.fromkeys(name for own in sweep.by_value.values() for name in own.workloads)
    return {name: [own.ratio(name) for own in sweep.by_value.values()] for name in named}


def mean_finding(drawing: Drawing, found: SeedRatios, holds: Callable[[list[float]], bool] | None = None) -> Finding:
    """The mean of the ratios over workloads, judged by a rule if there is one."""
    return judged([[value] for value in found.judged_means()], holds, describe(found, drawing.high_write))


def mean_trend(drawing: Drawing, by_value: Mapping[float, SeedRatios], holds: Callable[[list[float]], bool]) -> Finding:
    """The mean over workloads at each swept value, judged by a rule over these means."""
    values = ", ".join(f"{value:g}" for value in by_value)
    several = list(by_value.values())
    return means_finding(several, holds, f"means at {values}; at the last: {describe(several[-1], drawing.high_write)}")


def means_finding(several: Sequence[SeedRatios], holds: Callable[[list[float]], bool], note: str) -> Finding:
    """The means of several ratios, judged by a rule over them."""
    by_seed = zip(*(found.judged_means() for found in several), strict=True)
    return judged([list(values) for values in by_seed], holds, note)
