"""Figures 12 and 13 of PEN (FAST'18): twelve workloads under a block-level FTL; and all figures by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from pumice.analysis import plots
from pumice.papers.context import (
    AEP,
    BASE,
    OURS,
    VEP,
    WAF,
    WRITE_LATENCY,
    Context,
    FigureOf,
    mean_finding,
    trend,
)
from pumice.papers.pen import figures_3_4_5, figures_14_15, figures_16_17
from pumice.papers.pen.figures_6_10_11 import figure_6, figure_10, figure_11
from pumice.papers.ratios import Ratios, describe, draw_ratios, ratios
from pumice.papers.scoreboard import Finding
from pumice.results.document import number

#: Workloads that the paper names as gaining most.
GAIN_MOST = ("proj_1", "usr_1", "prn_1")

#: Worked examples: figure → function of the directory to draw in.
EXAMPLES: dict[str, Callable[[Path], dict[str, Finding]]] = {"6": figure_6, "10": figure_10, "11": figure_11}


def figure_12a(context: Context) -> dict[str, Finding]:
    """Mean write latency, M-Merge / baseline."""
    found = _pair(context, WRITE_LATENCY)
    frame = plots.Frame("Figure 12a: mean write latency, M-Merge / baseline", "ratio of mean write latencies")
    _draw(context, frame, {"M-Merge / baseline": found}, "fig12a")
    findings = {"fig12a_latency_nftl": mean_finding(context, found), "fig12a_order": _order(found)}
    if context.full_scale:
        findings["prn_1_merges"] = _merges(context, "prn_1")
    return findings


def figure_12b(context: Context) -> dict[str, Finding]:
    """IOPS with one request outstanding, M-Merge / baseline."""
    found = _pair(context, "host.service_iops", "closed-loop")
    frame = plots.Frame("Figure 12b: IOPS at queue depth 1, M-Merge / baseline", "ratio of IOPS")
    _draw(context, frame, {"M-Merge / baseline": found}, "fig12b")
    return {"fig12b_iops_nftl": mean_finding(context, found)}


def figure_12c(context: Context) -> dict[str, Finding]:
    """Mean write latency of the baseline and of GFTL, in relation to M-Merge."""
    ours = context.nftl(OURS, WRITE_LATENCY)
    gftl = ratios(context.values("gftl", {"ftl.kind": "gftl"}, WRITE_LATENCY), ours)
    base = ratios(context.nftl(BASE, WRITE_LATENCY), ours)
    frame = plots.Frame(
        "Figure 12c: mean write latency in relation to M-Merge", "ratio of mean write latencies", digits=1
    )
    _draw(context, frame, {"baseline / M-Merge": base, "GFTL / M-Merge": gftl}, "fig12c")
    means = [gftl.means().arithmetic, base.means().arithmetic]
    note = f"GFTL: {describe(gftl, context.high_write)}; baseline: {describe(base, context.high_write)}"
    if gftl.failed or base.failed:
        return {"fig12c_gftl": Finding(None, note=note)}
    return {"fig12c_gftl": trend(means, lambda values: values[0] > values[1] > 1, note)}


def figure_13a(context: Context) -> dict[str, Finding]:
    """Write amplification, baseline / M-Merge; the paper compares the means over workloads."""
    found = ratios(context.nftl(BASE, WAF), context.nftl(OURS, WAF))
    frame = plots.Frame("Figure 13a: write amplification, baseline / M-Merge", "ratio of write amplification")
    _draw(context, frame, {"baseline / M-Merge": found}, "fig13a")
    return {"fig13a_waf_nftl": mean_finding(context, found, of_means=True)}


def figure_13b(context: Context) -> dict[str, Finding]:
    """Erases per page, M-Merge / baseline."""
    found = _pair(context, AEP)
    frame = plots.Frame("Figure 13b: erases per page (AEP), M-Merge / baseline", "ratio of AEP")
    _draw(context, frame, {"M-Merge / baseline": found}, "fig13b")
    finding = mean_finding(context, found)
    holds = finding.values is not None and finding.values[0] < 1
    return {"fig13b_aep": Finding(finding.values, holds, finding.note)}


def figure_13c(context: Context) -> dict[str, Finding]:
    """Variance of erases per page, M-Merge / baseline, at two wear limits."""
    tight, loose = (context.to_baseline("wear-limit", {"partial_erase.wear_limit_w": w}, VEP) for w in (16, 64))
    frame = plots.Frame("Figure 13c: variance of erases per page (VEP), M-Merge / baseline", "ratio of VEP", digits=1)
    _draw(context, frame, {"W = 16": tight, "W = 64": loose}, "fig13c")
    note = f"W = 16: {describe(tight, context.high_write)}; W = 64: {describe(loose, context.high_write)}"
    if tight.failed or loose.failed:
        return {"fig13c_vep": Finding(None, note=note)}
    means = [tight.means().arithmetic, loose.means().arithmetic]
    return {"fig13c_vep": trend(means, lambda values: values[0] < values[1], note)}


#: Figures over workloads: figure → function of the context.
FIGURES: dict[str, FigureOf] = {
    **figures_3_4_5.FIGURES,
    "12a": figure_12a,
    "12b": figure_12b,
    "12c": figure_12c,
    "13a": figure_13a,
    "13b": figure_13b,
    "13c": figure_13c,
    **figures_14_15.FIGURES,
    **figures_16_17.FIGURES,
}


def _pair(context: Context, path: str, study: str = "open-loop") -> Ratios:
    return ratios(context.nftl(OURS, path, study), context.nftl(BASE, path, study))


def _draw(context: Context, frame: plots.Frame, series: Mapping[str, Ratios], name: str) -> None:
    draw_ratios(frame, series, context.runs.workloads("open-loop"), context.directory / name)


def _order(found: Ratios) -> Finding:
    if found.failed:
        return Finding(None, note=f"failed: {', '.join(found.failed)}")
    by_gain = sorted(found.over, key=lambda name: found.ratio(name) or 0.0)
    places = [by_gain.index(name) + 1 for name in GAIN_MOST if name in by_gain]
    holds = len(places) == len(GAIN_MOST) and all(place <= 4 for place in places)
    lowest = ", ".join(f"{name} {found.ratio(name):.3f}" for name in by_gain[:5])
    return Finding([*places], holds, f"places of {', '.join(GAIN_MOST)}; lowest: {lowest}")


def _merges(context: Context, workload: str) -> Finding:
    merges = number(context.runs.find("open-loop", {"ftl.merge": BASE})[workload], "gc.invocations")
    return Finding(None if merges is None else [int(merges)])
