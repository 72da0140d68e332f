"""Figure 12 of PEN: latency and IOPS of twelve workloads under a block-level FTL."""

from __future__ import annotations

from pumice.analysis.plots import Frame
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.over_seeds import judged, shown
from pumice_papers.pen.baseline import BASE, OPEN_LOOP, m_merge_to_baseline, nftl, to_m_merge
from pumice_papers.quantities import WRITE_LATENCY
from pumice_papers.ratios import SeedRatios, describe, draw_ratios, mean_finding, means_finding
from pumice_papers.scoreboard import Finding

#: Workloads that the paper names as gaining most.
GAIN_MOST = ("proj_1", "usr_1", "prn_1")


@figure(
    frame=Frame("Figure 12a: mean write latency, M-Merge / baseline", "ratio of mean write latencies"),
    studies=(OPEN_LOOP,),
    rows=("prn_1_merges", "fig12a_latency_nftl", "fig12a_order"),
)
def figure_12a(drawing: Drawing) -> Findings:
    """Mean write latency, M-Merge / baseline."""
    found = m_merge_to_baseline(drawing, WRITE_LATENCY)
    draw_ratios(drawing, {"M-Merge / baseline": found}, drawing.runs.workloads(OPEN_LOOP))
    findings = {"fig12a_latency_nftl": mean_finding(drawing, found), "fig12a_order": _order(found)}
    if drawing.full_scale:
        findings["prn_1_merges"] = _merges(drawing, "prn_1")
    return findings


def _order(found: SeedRatios) -> Finding:
    """Whether the workloads that the paper names are among the four that gain most here, by their means over
    the seeds."""
    by_workload = {name: ratio.mean for name in found.workloads if (ratio := found.ratio(name)) is not None}
    by_gain = sorted(by_workload, key=by_workload.__getitem__)
    if found.failed or not set(GAIN_MOST) <= by_workload.keys():
        return Finding(None, note=f"failed: {', '.join(found.failed)}")
    places = [by_gain.index(name) + 1 for name in GAIN_MOST]
    lowest = ", ".join(f"{name} {shown(found.ratio(name))}" for name in by_gain[:5])
    note = f"places of {', '.join(GAIN_MOST)}; lowest: {lowest}"
    return Finding([*places], all(place <= 4 for place in places), note)


def _merges(drawing: Drawing, workload: str) -> Finding:
    found = [[nftl(one, BASE, "gc.invocations").get(workload)] for one in drawing.by_seed]
    return judged(found, None)


@figure(
    frame=Frame("Figure 12b: IOPS at queue depth 1, M-Merge / baseline", "ratio of IOPS"),
    studies=("closed-loop",),
    rows=("fig12b_iops_nftl",),
)
def figure_12b(drawing: Drawing) -> Findings:
    """IOPS with one request outstanding, M-Merge / baseline."""
    found = m_merge_to_baseline(drawing, "host.service_iops", "closed-loop")
    draw_ratios(drawing, {"M-Merge / baseline": found}, drawing.runs.workloads("closed-loop"))
    return {"fig12b_iops_nftl": mean_finding(drawing, found)}


@figure(
    frame=Frame("Figure 12c: mean write latency in relation to M-Merge", "ratio of mean write latencies", digits=1),
    studies=(OPEN_LOOP, "gftl"),
    rows=("fig12c_gftl",),
)
def figure_12c(drawing: Drawing) -> Findings:
    """Mean write latency of the baseline and of GFTL, in relation to M-Merge."""
    gftl = to_m_merge(drawing, "gftl", {"ftl.kind": "gftl"}, WRITE_LATENCY)
    base = to_m_merge(drawing, OPEN_LOOP, {"ftl.merge": BASE}, WRITE_LATENCY)
    draw_ratios(drawing, {"baseline / M-Merge": base, "GFTL / M-Merge": gftl}, drawing.runs.workloads(OPEN_LOOP))
    note = f"GFTL: {describe(gftl, drawing.high_write)}; baseline: {describe(base, drawing.high_write)}"
    return {"fig12c_gftl": means_finding([gftl, base], lambda values: values[0] > values[1] > 1, note)}
