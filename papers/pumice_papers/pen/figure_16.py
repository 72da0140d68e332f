"""Figure 16 of PEN: write and read latency under the superblock FTL."""

from __future__ import annotations

from collections.abc import Mapping

from pumice.analysis.plots import Frame
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.over_seeds import shown
from pumice_papers.pen.superblock_shapes import SHAPES, STUDY, draw_shapes
from pumice_papers.quantities import READ_LATENCY, WRITE_LATENCY
from pumice_papers.ratios import SeedRatios, describe, mean_finding, means_finding


@figure(
    frame=Frame("Figure 16a: Superblock FTL, mean write latency, M-Merge / baseline", "ratio to the baseline"),
    studies=(STUDY,),
    rows=("fig16_latency_4_5", "fig16_latency_4_8"),
)
def figure_16a(drawing: Drawing) -> Findings:
    """Mean write latency, M-Merge / baseline."""
    found = draw_shapes(drawing, WRITE_LATENCY)
    tight, loose = (found[shape] for shape in SHAPES)
    note = f"4:8: {describe(loose, drawing.high_write)}; budgeted planner: {_budgeted_means(found)}"
    return {
        "fig16_latency_4_5": mean_finding(drawing, tight),
        "fig16_latency_4_8": means_finding([tight, loose], lambda values: values[1] > values[0], note),
    }


def _budgeted_means(found: Mapping[str, SeedRatios]) -> str:
    return ", ".join(f"{shape} {shown(found[f'{shape} budgeted'].mean())}" for shape in SHAPES)


@figure(
    frame=Frame("Figure 16b: Superblock FTL, mean read latency, M-Merge / baseline", "ratio to the baseline"),
    studies=(STUDY,),
    rows=("fig16_read",),
)
def figure_16b(drawing: Drawing) -> Findings:
    """Mean read latency, M-Merge / baseline."""
    found = draw_shapes(drawing, READ_LATENCY)["4:5"]
    return {"fig16_read": mean_finding(drawing, found, lambda values: values[0] < 1)}
