"""The superblock FTL of PEN's figures 16 and 17: 4 logical on 5 or 8 physical blocks."""

from __future__ import annotations

from pumice_papers.figures import Drawing
from pumice_papers.pen.baseline import BASE, OURS, over_seeds
from pumice_papers.ratios import SeedRatios, draw_ratios, ratios

STUDY = "superblock"

#: Logical and physical blocks of a superblock: name in the paper → preset.
SHAPES = {"4:5": "pen-superblock-4-5", "4:8": "pen-superblock-4-8"}

#: Beyond the paper: the planner that restores no more than it needs.
BUDGETED = "m-merge-budgeted"


def shape_ratios(drawing: Drawing, shape: str, merge: str, path: str) -> SeedRatios:
    """A field of the runs with a merge divided by the baseline's of the same shape."""
    over, under = ({"preset": SHAPES[shape], "ftl.merge": kind} for kind in (merge, BASE))
    return over_seeds(drawing, path, lambda one: ratios(one.values(STUDY, over, path), one.values(STUDY, under, path)))


def draw_shapes(drawing: Drawing, path: str) -> dict[str, SeedRatios]:
    """Draws a field under M-Merge, divided by the baseline's, for both shapes.

    The budgeted planner, which differs little, stands in the CSV only.

    Returns:
        The ratios by shape, and those of the budgeted planner by `SHAPE budgeted`.
    """
    ours = {shape: shape_ratios(drawing, shape, OURS, path) for shape in SHAPES}
    budgeted = {f"{shape} budgeted": shape_ratios(drawing, shape, BUDGETED, path) for shape in SHAPES}
    draw_ratios(drawing, ours, drawing.runs.workloads(STUDY), budgeted)
    return {**ours, **budgeted}
