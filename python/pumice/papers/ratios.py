"""Ratios of two variants over workloads: their means, their figures and their CSV files."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pumice import files
from pumice.analysis import plots
from pumice.analysis.statistics import Means, ratio_means
from pumice.papers.figures import Drawing
from pumice.papers.scoreboard import Finding, trend

#: Rows of a CSV below the workloads: label, field of `Means`.
_MEANS = (("arithmetic mean", "arithmetic"), ("geometric mean", "geometric"), ("ratio of means", "of_means"))


@dataclass(frozen=True)
class Ratios:
    """A quantity of two variants over workloads.

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


def describe(found: Ratios, high_write: Sequence[str]) -> str:
    """The means in words, and which workloads they leave out."""
    means, high = found.means(), found.means(high_write)
    parts = [
        f"arithmetic {_shown(means.arithmetic)}, geometric {_shown(means.geometric)},"
        f" ratio of means {_shown(means.of_means)} over {len(found.over)} workloads",
        f"high-write set {_shown(high.arithmetic)}, {_shown(high.geometric)}, {_shown(high.of_means)}",
    ]
    named = {"left out at 0/0": found.left_out, "left out at x/0": found.unbounded, "failed": found.failed}
    parts += [f"{reason}: {', '.join(names)}" for reason, names in named.items() if names]
    return "; ".join(parts)


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def draw_ratios(
    drawing: Drawing,
    series: Mapping[str, Ratios],
    workloads: Sequence[str],
    beside: Mapping[str, Ratios] | None = None,
) -> None:
    """Draws one bar for each workload and series, with the arithmetic means set apart.

    The CSV also holds the series `beside`.
    """
    frame = dataclasses.replace(drawing.frame, reference=(1.0, "no change"), mark=len(workloads))
    bars = {
        name: [*(found.ratio(workload) for workload in workloads), found.means().arithmetic]
        for name, found in series.items()
    }
    plots.grouped_bars(frame, plots.Bars([*workloads, "mean"], bars), drawing.file())
    written = {**series, **(beside or {})}
    columns = ["workload"]
    for name in written:
        columns += [f"{name}: over", f"{name}: under", f"{name}: ratio"]
    rows: list[list[Any]] = [_csv_row(workload, written) for workload in workloads]
    for label, field in _MEANS:
        rows.append(
            [label, *(cell for found in written.values() for cell in (None, None, getattr(found.means(), field)))]
        )
    drawing.write_csv(columns, rows)


def _csv_row(workload: str, series: Mapping[str, Ratios]) -> list[Any]:
    row: list[Any] = [workload]
    for found in series.values():
        row += [found.over.get(workload), found.under.get(workload), found.ratio(workload)]
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

    by_value: Mapping[float, Ratios]
    name: Sequence[str] = ()
    log_x: bool = False
    from_zero: bool = True


def draw_sweep(frame: plots.Frame, sweep: Sweep, path: Path) -> None:
    """Draws a line for each workload and one for their arithmetic mean. Writes `path`.png, .svg and .csv."""
    values = list(sweep.by_value)
    workloads = list(dict.fromkeys(name for found in sweep.by_value.values() for name in found.over))
    by_workload = {name: [found.ratio(name) for found in sweep.by_value.values()] for name in workloads}
    means = [found.means() for found in sweep.by_value.values()]
    curves = [plots.Curve("mean", values, [mean.arithmetic for mean in means])]
    curves += [plots.Curve(name, values, by_workload[name]) for name in sweep.name if name in by_workload]
    curves += [plots.Curve("", values, by_workload[name], "pale") for name in workloads if name not in sweep.name]
    plots.lines(frame, curves, path, plots.Scale(log_x=sweep.log_x, ticks=values, from_zero=sweep.from_zero))
    rows: list[list[Any]] = [[name, *ratios_] for name, ratios_ in by_workload.items()]
    for label, field in _MEANS:
        rows.append([label, *(getattr(mean, field) for mean in means)])
    files.write_csv(path.with_name(f"{path.name}.csv"), ["workload", *(f"{value:g}" for value in values)], rows)


def mean_finding(drawing: Drawing, found: Ratios, *, of_means: bool = False) -> Finding:
    """The arithmetic mean of the ratios, or the ratio of the means. It has no value if a run failed,
    since a mean over fewer workloads is another."""
    means = found.means()
    value = None if found.failed else (means.of_means if of_means else means.arithmetic)
    return Finding(None if value is None else [value], note=describe(found, drawing.high_write))


def mean_trend(drawing: Drawing, by_value: Mapping[float, Ratios], holds: Callable[[Sequence[float]], bool]) -> Finding:
    """The mean over workloads at each swept value, and whether the rule holds for these means."""
    findings = [mean_finding(drawing, found) for found in by_value.values()]
    means = [finding.values[0] if finding.values else None for finding in findings]
    shown = ", ".join(f"{value:g}" for value in by_value)
    return trend(means, holds, f"means at {shown}; at the last: {findings[-1].note}")
