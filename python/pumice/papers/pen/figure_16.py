"""Figure 16 of PEN: write and read latency under the superblock FTL."""

from __future__ import annotations

from collections.abc import Mapping

from pumice.analysis.plots import Frame
from pumice.papers.figures import Drawing, Findings, figure
from pumice.papers.pen.superblock_shapes import SHAPES, STUDY, draw_shapes
from pumice.papers.quantities import READ_LATENCY, WRITE_LATENCY
from pumice.papers.ratios import Ratios, mean_finding
from pumice.papers.scoreboard import Finding, trend


@figure(
    paper="pen",
    id="16a",
    frame=Frame("Figure 16a: Superblock FTL, mean write latency, M-Merge / baseline", "ratio to the baseline"),
    studies=(STUDY,),
    rows=("fig16_latency_4_5", "fig16_latency_4_8"),
)
def figure_16a(drawing: Drawing) -> Findings:
    """Mean write latency, M-Merge / baseline."""
    found = draw_shapes(drawing, WRITE_LATENCY)
    tight, loose = (mean_finding(drawing, found[shape]) for shape in SHAPES)
    both = [finding.values[0] if finding.values else None for finding in (tight, loose)]
    note = f"4:8: {loose.note}; budgeted planner: {_budgeted_means(found)}"
    return {
        "fig16_latency_4_5": tight,
        "fig16_latency_4_8": trend(both, lambda values: values[1] > values[0], note),
    }


def _budgeted_means(found: Mapping[str, Ratios]) -> str:
    means = {shape: found[f"{shape} budgeted"].means().arithmetic for shape in SHAPES}
    return ", ".join(f"{shape} {'–' if mean is None else f'{mean:.3f}'}" for shape, mean in means.items())


@figure(
    paper="pen",
    id="16b",
    frame=Frame("Figure 16b: Superblock FTL, mean read latency, M-Merge / baseline", "ratio to the baseline"),
    studies=(STUDY,),
    rows=("fig16_read",),
)
def figure_16b(drawing: Drawing) -> Findings:
    """Mean read latency, M-Merge / baseline."""
    tight = mean_finding(drawing, draw_shapes(drawing, READ_LATENCY)["4:5"])
    holds = tight.values is not None and tight.values[0] < 1
    return {"fig16_read": Finding(tight.values, holds, tight.note)}
