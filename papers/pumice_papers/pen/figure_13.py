"""Figure 13 of PEN: write amplification and wear of twelve workloads under a block-level FTL."""

from __future__ import annotations

from pumice.analysis.plots import Frame
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.pen.baseline import BASE, OPEN_LOOP, m_merge_to_baseline, to_baseline, to_m_merge
from pumice_papers.quantities import AEP, VEP, WAF
from pumice_papers.ratios import describe, draw_ratios, mean_finding, means_finding


@figure(
    frame=Frame("Figure 13a: write amplification, baseline / M-Merge", "ratio of write amplification"),
    studies=(OPEN_LOOP,),
    rows=("fig13a_waf_nftl",),
)
def figure_13a(drawing: Drawing) -> Findings:
    """Write amplification, baseline / M-Merge; the paper compares the means over workloads."""
    found = to_m_merge(drawing, OPEN_LOOP, {"ftl.merge": BASE}, WAF)
    draw_ratios(drawing, {"baseline / M-Merge": found}, drawing.runs.workloads(OPEN_LOOP))
    return {"fig13a_waf_nftl": mean_finding(drawing, found)}


@figure(
    frame=Frame("Figure 13b: erases per page (AEP), M-Merge / baseline", "ratio of AEP"),
    studies=(OPEN_LOOP,),
    rows=("fig13b_aep",),
)
def figure_13b(drawing: Drawing) -> Findings:
    """Erases per page, M-Merge / baseline."""
    found = m_merge_to_baseline(drawing, AEP)
    draw_ratios(drawing, {"M-Merge / baseline": found}, drawing.runs.workloads(OPEN_LOOP))
    return {"fig13b_aep": mean_finding(drawing, found, lambda values: values[0] < 1)}


@figure(
    frame=Frame("Figure 13c: variance of erases per page (VEP), M-Merge / baseline", "ratio of VEP", digits=1),
    studies=(OPEN_LOOP, "wear-limit"),
    rows=("fig13c_vep",),
)
def figure_13c(drawing: Drawing) -> Findings:
    """Variance of erases per page, M-Merge / baseline, at two wear limits."""
    tight, loose = (
        to_baseline(drawing, "wear-limit", {"partial_erase.wear_limit_w": limit}, VEP) for limit in (16, 64)
    )
    draw_ratios(drawing, {"W = 16": tight, "W = 64": loose}, drawing.runs.workloads(OPEN_LOOP))
    note = f"W = 16: {describe(tight, drawing.high_write)}; W = 64: {describe(loose, drawing.high_write)}"
    return {"fig13c_vep": means_finding([tight, loose], lambda values: values[0] < values[1], note)}
