"""Figure 17 of PEN: write amplification and wear under the superblock FTL."""

from __future__ import annotations

from pumice.analysis.plots import Frame
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.pen.baseline import OURS
from pumice_papers.pen.superblock_shapes import SHAPES, STUDY, draw_shapes, shape_ratios
from pumice_papers.quantities import AEP, VEP, WAF
from pumice_papers.ratios import describe, means_finding


@figure(
    frame=Frame("Figure 17a: Superblock FTL, write amplification, M-Merge / baseline", "ratio to the baseline"),
    studies=(STUDY,),
    rows=("fig17_waf_aep",),
)
def figure_17a(drawing: Drawing) -> Findings:
    """Write amplification, M-Merge / baseline, with the row over both WAF and AEP.

    WAF is judged by the ratio of the means over workloads, AEP by the mean of the ratios.
    """
    found = draw_shapes(drawing, WAF)
    rows = {f"WAF {shape}": found[shape] for shape in SHAPES}
    rows |= {f"AEP {shape}": shape_ratios(drawing, shape, OURS, AEP) for shape in SHAPES}
    note = "; ".join(f"{name}: {describe(ratio, drawing.high_write)}" for name, ratio in rows.items())
    return {"fig17_waf_aep": means_finding(list(rows.values()), lambda values: all(v < 1 for v in values), note)}


@figure(
    frame=Frame("Figure 17b: Superblock FTL, erases per page (AEP), M-Merge / baseline", "ratio to the baseline"),
    studies=(STUDY,),
)
def figure_17b(drawing: Drawing) -> Findings:
    """Erases per page, M-Merge / baseline; its row is figure 17a's."""
    draw_shapes(drawing, AEP)
    return {}


@figure(
    frame=Frame(
        "Figure 17c: Superblock FTL, variance of erases per page (VEP), M-Merge / baseline", "ratio to the baseline"
    ),
    studies=(STUDY,),
)
def figure_17c(drawing: Drawing) -> Findings:
    """Variance of erases per page, M-Merge / baseline; the paper prints no mean, so there is no row."""
    draw_shapes(drawing, VEP)
    return {}
