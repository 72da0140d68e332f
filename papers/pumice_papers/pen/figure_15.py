"""Figure 15 of PEN: protection from disturb, latency over time, and capacity lost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pumice.analysis import plots
from pumice.analysis.plots import Frame
from pumice.analysis.statistics import not_rising
from pumice.results.document import lookup, number
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.over_seeds import judged
from pumice_papers.pen.baseline import BASE, OPEN_LOOP, OURS, over_seeds, to_baseline, to_m_merge
from pumice_papers.quantities import WAF, WRITE_LATENCY
from pumice_papers.ratios import Sweep, draw_ratios, draw_sweep, mean_finding, mean_trend, ratios

#: Shares of the capacity lost in figure 15c.
LOSSES = (0.0, 0.041, 0.083, 0.124, 0.165)

#: The workload that figure 15b follows.
FOLLOWED = "proj_1"

SECONDS_A_DAY = 86_400.0

CORRUPT = "integrity.corrupt_pages"


@figure(
    frame=Frame("Figure 15a: mean write latency, M-Merge / baseline", "ratio of mean write latencies"),
    studies=(OPEN_LOOP, "disturb"),
    rows=("fig15a_disturb", "fig15a_corrupt"),
)
def figure_15a(drawing: Drawing) -> Findings:
    """Write latency with and without protection from disturb, and the pages that are corrupted without."""
    runs = {aware: {"partial_erase.disturb_aware": aware} for aware in (True, False)}
    aware, unaware = (to_baseline(drawing, "disturb", varied, WRITE_LATENCY) for varied in runs.values())
    draw_ratios(drawing, {"aware of disturb": aware, "not aware": unaware}, drawing.runs.workloads("disturb"))
    cost = over_seeds(
        drawing,
        WRITE_LATENCY,
        lambda one: ratios(*(one.values("disturb", varied, WRITE_LATENCY) for varied in runs.values())),
    )
    corrupt = [[_total(one.values("disturb", varied, CORRUPT)) for varied in runs.values()] for one in drawing.by_seed]
    return {
        "fig15a_disturb": mean_finding(drawing, cost, lambda values: 1.0 <= values[0] <= 1.25),
        "fig15a_corrupt": judged(corrupt, lambda values: values[0] == 0 < values[1], "corrupt pages: aware, not aware"),
    }


def _total(values: Mapping[str, float | None]) -> float | None:
    """The sum over the workloads; None if one of them has no value."""
    return None if None in values.values() else sum(value or 0.0 for value in values.values())


@figure(
    frame=Frame(
        f"Figure 15b: mean write latency of {FOLLOWED}, an hour a window", "mean write latency, ms", x_label="days"
    ),
    studies=("over-time",),
    rows=("fig15b_over_time",),
)
def figure_15b(drawing: Drawing) -> Findings:
    """Mean write latency in windows of time; drawn for the first seed, judged over all."""
    seeds = [
        {merge: _windows(one.runs.find("over-time", {"ftl.merge": merge}).get(FOLLOWED)) for merge in (BASE, OURS)}
        for one in drawing.by_seed
    ]
    series = seeds[0]
    both = _common(series)
    days = [start / SECONDS_A_DAY for start in both]
    curves = [
        plots.Curve("baseline", days, [series[BASE][start] / 1000 for start in both], "plain", colour=1),
        plots.Curve("M-Merge", days, [series[OURS][start] / 1000 for start in both], "plain", colour=0),
    ]
    plots.lines(drawing.frame, curves, drawing.file(), plots.Scale(log_y=True))
    columns = ["window starts, s", "baseline: mean write latency, µs", "M-Merge: mean write latency, µs"]
    drawing.write_csv(columns, [[start, series[BASE][start], series[OURS][start]] for start in both])
    note = f"{len(both)} windows with writes in both runs of the first seed"
    return {"fig15b_over_time": judged(list(map(_share_at_or_below, seeds)), lambda values: values[0] >= 0.9, note)}


def _share_at_or_below(series: Mapping[str, Mapping[float, float]]) -> list[float | None]:
    """The share of windows in which M-Merge's latency is at most the baseline's; None without windows."""
    both = _common(series)
    return [sum(series[OURS][start] <= series[BASE][start] for start in both) / len(both) if both else None]


def _common(series: Mapping[str, Mapping[float, float]]) -> list[float]:
    """The starts of the windows in which both runs have writes."""
    return sorted(series[BASE].keys() & series[OURS].keys())


def _windows(document: Mapping[str, Any] | None) -> dict[float, float]:
    """Mean write latency in µs by the start of the window in s; windows without writes are left out."""
    found = lookup(document, "time_series")
    windows = [window for window in found if isinstance(window, dict)] if isinstance(found, list) else []
    pairs = [(number(window, "start_s"), number(window, "write_mean_us")) for window in windows]
    return {start: latency for start, latency in pairs if start is not None and latency is not None}


@figure(
    frame=Frame(
        "Figure 15c: write amplification by capacity lost, partial block erase / M-Merge",
        "ratio of write amplification",
        (1.0, "M-Merge"),
        x_label="capacity lost, %",
    ),
    studies=(OPEN_LOOP, "pbe"),
    rows=("fig15c_pbe",),
)
def figure_15c(drawing: Drawing) -> Findings:
    """Write amplification of partial block erase by the capacity lost, in relation to M-Merge."""
    by_loss = {loss * 100: to_m_merge(drawing, "pbe", {"ftl.capacity_loss": loss}, WAF) for loss in LOSSES}
    draw_sweep(drawing.frame, Sweep(by_loss, name=("prn_1",), from_zero=False), drawing.file())
    return {"fig15c_pbe": mean_trend(drawing, by_loss, lambda means: not_rising(means[::-1]) and means[-1] > 1)}
