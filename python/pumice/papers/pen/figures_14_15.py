"""Figures 14 and 15 of PEN (FAST'18): splits, wear limit, disturb, time, lost capacity."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pumice.analysis import plots
from pumice.papers.context import (
    BASE,
    OURS,
    VEP,
    WAF,
    WRITE_LATENCY,
    Context,
    FigureOf,
    falling,
    mean_finding,
    trend,
)
from pumice.papers.ratios import Ratios, Sweep, draw_ratios, draw_sweep, ratios, write_csv
from pumice.papers.scoreboard import Finding
from pumice.results.document import lookup, number

SPLITS = (0, 2, 4, 6)
LIMITS = (1, 4, 16, 64)
LOSSES = (0.0, 0.041, 0.083, 0.124, 0.165)

#: The workload that Figure 15b follows.
FOLLOWED = "proj_1"

SECONDS_A_DAY = 86_400.0


def figure_14a(context: Context) -> dict[str, Finding]:
    """Write latency by the number of splits, in relation to the baseline."""
    by_split = {
        float(splits): context.to_baseline("splits", {"partial_erase.max_splits": splits}, WRITE_LATENCY)
        for splits in SPLITS
    }
    title = "Figure 14a: mean write latency by splits L, M-Merge / baseline"
    frame = plots.Frame(title, "ratio of mean write latencies", (1.0, "baseline"), x_label="splits L")
    draw_sweep(frame, Sweep(by_split, name=("prn_1",)), context.directory / "fig14a")
    return {"fig14a_splits": _mean_trend(context, by_split, falling)}


def figure_14b(context: Context) -> dict[str, Finding]:
    """Write latency by the wear limit, in relation to the baseline."""
    by_limit = _by_limit(context, WRITE_LATENCY)
    title = "Figure 14b: mean write latency by wear limit W, M-Merge / baseline"
    frame = plots.Frame(title, "ratio of mean write latencies", (1.0, "baseline"), x_label="wear limit W")
    draw_sweep(frame, Sweep(by_limit, name=("prn_1",), log_x=True), context.directory / "fig14b")
    return {"fig14b_w_latency": _mean_trend(context, by_limit, _not_rising)}


def figure_14c(context: Context) -> dict[str, Finding]:
    """Variance of erases per page by the wear limit, in relation to the baseline."""
    by_limit = _by_limit(context, VEP)
    title = "Figure 14c: variance of erases per page (VEP) by wear limit W, M-Merge / baseline"
    frame = plots.Frame(title, "ratio of VEP", (1.0, "baseline"), x_label="wear limit W")
    named = ("prn_1", "proj_0", "prxy_0")  # those that the paper calls severely skewed
    draw_sweep(frame, Sweep(by_limit, name=named, log_x=True), context.directory / "fig14c")
    return {"fig14c_w_vep": _mean_trend(context, by_limit, lambda means: _not_rising(means[::-1]))}


def figure_15a(context: Context) -> dict[str, Finding]:
    """Write latency with and without protection from disturb, and what the latter corrupts."""
    runs = {aware: {"partial_erase.disturb_aware": aware} for aware in (True, False)}
    aware, unaware = (context.to_baseline("disturb", varied, WRITE_LATENCY) for varied in runs.values())
    frame = plots.Frame("Figure 15a: mean write latency, M-Merge / baseline", "ratio of mean write latencies")
    workloads = context.runs.workloads("disturb")
    draw_ratios(frame, {"aware of disturb": aware, "not aware": unaware}, workloads, context.directory / "fig15a")
    pages = [list(context.values("disturb", varied, "integrity.corrupt_pages").values()) for varied in runs.values()]
    corrupt = [None if None in found else sum(value or 0.0 for value in found) for found in pages]
    cost = mean_finding(context, ratios(aware.over, unaware.over))
    holds = cost.values is not None and 1.0 <= cost.values[0] <= 1.25
    return {
        "fig15a_disturb": Finding(cost.values, holds, cost.note),
        "fig15a_corrupt": trend(corrupt, lambda values: values[0] == 0 < values[1], "corrupt pages: aware, not aware"),
    }


def figure_15b(context: Context) -> dict[str, Finding]:
    """Mean write latency in windows of time."""
    series = {
        merge: _windows(context.runs.find("over-time", {"ftl.merge": merge}).get(FOLLOWED)) for merge in (BASE, OURS)
    }
    both = sorted(series[BASE].keys() & series[OURS].keys())
    days = [start / SECONDS_A_DAY for start in both]
    curves = [
        plots.Curve("baseline", days, [series[BASE][start] / 1000 for start in both], "plain", colour=1),
        plots.Curve("M-Merge", days, [series[OURS][start] / 1000 for start in both], "plain", colour=0),
    ]
    title = f"Figure 15b: mean write latency of {FOLLOWED}, an hour a window"
    frame = plots.Frame(title, "mean write latency, ms", x_label="days")
    plots.lines(frame, curves, context.directory / "fig15b", plots.Scale(log_y=True))
    rows: list[list[Any]] = [[start, series[BASE][start], series[OURS][start]] for start in both]
    columns = ["window starts, s", "baseline: mean write latency, µs", "M-Merge: mean write latency, µs"]
    write_csv(context.directory / "fig15b.csv", columns, rows)
    if not both:
        return {"fig15b_over_time": Finding(None, note="the runs hold no series over time")}
    share = sum(series[OURS][start] <= series[BASE][start] for start in both) / len(both)
    note = f"{len(both)} windows with writes in both runs"
    return {"fig15b_over_time": Finding([share], share >= 0.9, note)}


def figure_15c(context: Context) -> dict[str, Finding]:
    """Write amplification of partial block erase by the capacity lost, in relation to M-Merge."""
    ours = context.nftl(OURS, WAF)
    by_loss = {loss * 100: ratios(context.values("pbe", {"ftl.capacity_loss": loss}, WAF), ours) for loss in LOSSES}
    title = "Figure 15c: write amplification by capacity lost, partial block erase / M-Merge"
    frame = plots.Frame(title, "ratio of write amplification", (1.0, "M-Merge"), x_label="capacity lost, %")
    draw_sweep(frame, Sweep(by_loss, name=("prn_1",), from_zero=False), context.directory / "fig15c")
    return {"fig15c_pbe": _mean_trend(context, by_loss, lambda means: _not_rising(means[::-1]))}


FIGURES: dict[str, FigureOf] = {
    "14a": figure_14a,
    "14b": figure_14b,
    "14c": figure_14c,
    "15a": figure_15a,
    "15b": figure_15b,
    "15c": figure_15c,
}


def _by_limit(context: Context, path: str) -> dict[float, Ratios]:
    return {
        float(limit): context.to_baseline("wear-limit", {"partial_erase.wear_limit_w": limit}, path) for limit in LIMITS
    }


def _mean_trend(
    context: Context, by_value: Mapping[float, Ratios], holds: Callable[[Sequence[float]], bool]
) -> Finding:
    """The means over workloads in the order of the swept values, and whether the rule holds."""
    findings = [mean_finding(context, found) for found in by_value.values()]
    means = [finding.values[0] if finding.values else None for finding in findings]
    shown = ", ".join(f"{value:g}" for value in by_value)
    return trend(means, holds, f"means at {shown}; at the last: {findings[-1].note}")


def _not_rising(values: Sequence[float]) -> bool:
    return all(later <= earlier for earlier, later in itertools.pairwise(values))


def _windows(document: dict[str, Any] | None) -> dict[float, float]:
    """Mean write latency in µs by the start of the window in s; windows without writes are left out."""
    found = lookup(document, "time_series")
    windows = [window for window in found if isinstance(window, dict)] if isinstance(found, list) else []
    pairs = [(number(window, "start_s"), number(window, "write_mean_us")) for window in windows]
    return {start: latency for start, latency in pairs if start is not None and latency is not None}
