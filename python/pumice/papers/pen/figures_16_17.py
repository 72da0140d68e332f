"""Figures 16 and 17 of PEN (FAST'18): the Superblock FTL, 4 logical on 5 or 8 physical blocks."""

from __future__ import annotations

from collections.abc import Mapping

from pumice.analysis import plots
from pumice.papers.context import (
    AEP,
    BASE,
    OURS,
    READ_LATENCY,
    VEP,
    WAF,
    WRITE_LATENCY,
    Context,
    FigureOf,
    mean_finding,
    trend,
)
from pumice.papers.ratios import Ratios, describe, draw_ratios, ratios
from pumice.papers.scoreboard import Finding

STUDY = "superblock"

#: Logical and physical blocks of a superblock: name in the paper → preset.
SHAPES = {"4:5": "pen-superblock-4-5", "4:8": "pen-superblock-4-8"}

#: Beyond the paper: the planner that restores no more than it needs.
BUDGETED = "m-merge-budgeted"


def figure_16a(context: Context) -> dict[str, Finding]:
    """Mean write latency, M-Merge / baseline."""
    found = _draw(context, "Figure 16a: Superblock FTL, mean write latency", WRITE_LATENCY, "fig16a")
    tight, loose = (mean_finding(context, found[shape]) for shape in SHAPES)
    both = [finding.values[0] if finding.values else None for finding in (tight, loose)]
    note = f"4:8: {loose.note}; budgeted planner: {_budgeted_means(found)}"
    return {
        "fig16_latency_4_5": tight,
        "fig16_latency_4_8": trend(both, lambda values: values[1] > values[0], note),
    }


def figure_16b(context: Context) -> dict[str, Finding]:
    """Mean read latency, M-Merge / baseline."""
    found = _draw(context, "Figure 16b: Superblock FTL, mean read latency", READ_LATENCY, "fig16b")
    tight = mean_finding(context, found["4:5"])
    holds = tight.values is not None and tight.values[0] < 1
    return {"fig16_read": Finding(tight.values, holds, tight.note)}


def figure_17a(context: Context) -> dict[str, Finding]:
    """Write amplification, M-Merge / baseline, with the row over both WAF and AEP."""
    found = _draw(context, "Figure 17a: Superblock FTL, write amplification", WAF, "fig17a")
    rows = {f"WAF {shape}": found[shape] for shape in SHAPES}
    rows |= {f"AEP {shape}": _ratios(context, shape, OURS, AEP) for shape in SHAPES}
    findings = [mean_finding(context, ratio) for ratio in rows.values()]
    means = [finding.values[0] if finding.values else None for finding in findings]
    note = "; ".join(f"{name}: {describe(ratio, context.high_write)}" for name, ratio in rows.items())
    return {"fig17_waf_aep": trend(means, lambda values: all(value < 1 for value in values), note)}


def figure_17b(context: Context) -> dict[str, Finding]:
    """Erases per page, M-Merge / baseline; its row is figure 17a's."""
    _draw(context, "Figure 17b: Superblock FTL, erases per page (AEP)", AEP, "fig17b")
    return {}


def figure_17c(context: Context) -> dict[str, Finding]:
    """Variance of erases per page, M-Merge / baseline; the paper prints no mean, so there is no row."""
    _draw(context, "Figure 17c: Superblock FTL, variance of erases per page (VEP)", VEP, "fig17c")
    return {}


FIGURES: dict[str, FigureOf] = {
    "16a": figure_16a,
    "16b": figure_16b,
    "17a": figure_17a,
    "17b": figure_17b,
    "17c": figure_17c,
}


def _ratios(context: Context, shape: str, merge: str, path: str) -> Ratios:
    """A field of the runs with a merge divided by the baseline's of the same shape."""
    over, under = (context.values(STUDY, {"preset": SHAPES[shape], "ftl.merge": kind}, path) for kind in (merge, BASE))
    return ratios(over, under)


def _draw(context: Context, title: str, path: str, name: str) -> dict[str, Ratios]:
    """Draws M-Merge for both shapes; the budgeted planner, which differs little, stands in the CSV.
    Returns the ratios of all."""
    ours = {shape: _ratios(context, shape, OURS, path) for shape in SHAPES}
    budgeted = {f"{shape} budgeted": _ratios(context, shape, BUDGETED, path) for shape in SHAPES}
    frame = plots.Frame(f"{title}, M-Merge / baseline", "ratio to the baseline")
    draw_ratios(frame, ours, context.runs.workloads(STUDY), context.directory / name, budgeted)
    return {**ours, **budgeted}


def _budgeted_means(found: Mapping[str, Ratios]) -> str:
    means = {shape: found[f"{shape} budgeted"].means().arithmetic for shape in SHAPES}
    return ", ".join(f"{shape} {'–' if mean is None else f'{mean:.3f}'}" for shape, mean in means.items())
