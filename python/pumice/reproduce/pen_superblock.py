"""Figures 16 and 17 of PEN (FAST'18): the Superblock FTL, 4 logical on 5 or 8 physical blocks."""

from __future__ import annotations

from collections.abc import Mapping

from pumice import plots
from pumice.reproduce.context import (
    AEP,
    READ_LATENCY,
    VEP,
    WAF,
    WRITE_LATENCY,
    Context,
    FigureOf,
    mean_finding,
    trend,
)
from pumice.reproduce.figure import Ratios, describe, draw_ratios, ratios
from pumice.reproduce.scoreboard import Finding

STUDY = "superblock"

#: Logical and physical blocks of a superblock: name in the paper → preset of the baseline.
SHAPES = {"4:5": "pen-superblock-4-5", "4:8": "pen-superblock-4-8"}


def figure_16a(context: Context) -> dict[str, Finding]:
    """Mean write latency, M-Merge / baseline."""
    found = _shapes(context, WRITE_LATENCY)
    title = "Figure 16a: Superblock FTL, mean write latency, M-Merge / baseline"
    _draw(context, plots.Frame(title, "ratio of mean write latencies"), found, "fig16a")
    tight, loose = (mean_finding(context, ratio) for ratio in found.values())
    both = [finding.values[0] if finding.values else None for finding in (tight, loose)]
    note = f"4:5, then 4:8; 4:8: {loose.note}"
    return {
        "fig16_latency_4_5": tight,
        "fig16_latency_4_8": trend(both, lambda values: values[1] > values[0], note),
    }


def figure_16b(context: Context) -> dict[str, Finding]:
    """Mean read latency, M-Merge / baseline."""
    found = _shapes(context, READ_LATENCY)
    title = "Figure 16b: Superblock FTL, mean read latency, M-Merge / baseline"
    _draw(context, plots.Frame(title, "ratio of mean read latencies"), found, "fig16b")
    tight = mean_finding(context, found["4:5"])
    holds = tight.values is not None and tight.values[0] < 1
    return {"fig16_read": Finding(tight.values, holds, tight.note)}


def figure_17a(context: Context) -> dict[str, Finding]:
    """Write amplification, M-Merge / baseline, with the row over both WAF and AEP."""
    found = _shapes(context, WAF)
    title = "Figure 17a: Superblock FTL, write amplification, M-Merge / baseline"
    _draw(context, plots.Frame(title, "ratio of write amplification"), found, "fig17a")
    rows = {f"WAF {shape}": ratio for shape, ratio in found.items()}
    rows |= {f"AEP {shape}": ratio for shape, ratio in _shapes(context, AEP).items()}
    findings = [mean_finding(context, ratio) for ratio in rows.values()]
    means = [finding.values[0] if finding.values else None for finding in findings]
    note = "; ".join(f"{name}: {describe(ratio, context.high_write)}" for name, ratio in rows.items())
    return {"fig17_waf_aep": trend(means, lambda values: all(value < 1 for value in values), note)}


def figure_17b(context: Context) -> dict[str, Finding]:
    """Erases per page, M-Merge / baseline; its row is figure 17a's."""
    title = "Figure 17b: Superblock FTL, erases per page (AEP), M-Merge / baseline"
    _draw(context, plots.Frame(title, "ratio of AEP"), _shapes(context, AEP), "fig17b")
    return {}


def figure_17c(context: Context) -> dict[str, Finding]:
    """Variance of erases per page, M-Merge / baseline; the paper prints no mean, so there is no row."""
    title = "Figure 17c: Superblock FTL, variance of erases per page (VEP), M-Merge / baseline"
    _draw(context, plots.Frame(title, "ratio of VEP"), _shapes(context, VEP), "fig17c")
    return {}


FIGURES: dict[str, FigureOf] = {
    "16a": figure_16a,
    "16b": figure_16b,
    "17a": figure_17a,
    "17b": figure_17b,
    "17c": figure_17c,
}


def _shapes(context: Context, path: str) -> dict[str, Ratios]:
    runs = {shape: ({"preset": f"{preset}-m-merge"}, {"preset": preset}) for shape, preset in SHAPES.items()}
    return {
        shape: ratios(context.values(STUDY, ours, path), context.values(STUDY, base, path))
        for shape, (ours, base) in runs.items()
    }


def _draw(context: Context, frame: plots.Frame, found: Mapping[str, Ratios], name: str) -> None:
    draw_ratios(frame, found, context.runs.workloads(STUDY), context.directory / name)
