"""Figure 6 of PEN: pages copied with and without partial erase; a worked example."""

from __future__ import annotations

import numpy as np

from pumice.analysis import plots
from pumice.analysis.plots import Frame
from pumice.planning.block_state import FREE, INVALID, VALID
from pumice.planning.m_merge import plan_m_merge
from pumice.planning.worked_examples import MAX_SPLITS, example
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.scoreboard import Finding


@figure(
    frame=Frame("Figure 6: copies to merge one outdated PB", "pages copied"),
    rows=("fig6_copies", "pb_count"),
)
def figure_6(drawing: Drawing) -> Findings:
    """Pages copied with and without partial erase."""
    shown = example("fig6")
    (plan,) = shown.plans()
    full, partial = shown.valid_pages, plan["copy_out"] + plan["copy_back"]
    drawing.write_csv(["merge", "pages copied"], [["full merge", full], ["M-Merge", partial]])
    bars = plots.Bars(["full merge", "M-Merge"], {"pages": [full, partial]})
    plots.grouped_bars(drawing.frame, bars, drawing.file())
    return {"fig6_copies": Finding([full, partial]), "pb_count": Finding([_count_pbs()])}


def _count_pbs() -> int:
    """How many PBs of a block the planner knows: those that it restores alone if just they are outdated."""
    pages = 9 << MAX_SPLITS
    found = 0
    for pb in range(1, 2 << MAX_SPLITS):
        level = pb.bit_length() - 1
        size = pages >> level
        first = (pb - (1 << level)) * size
        d = np.full(pages, VALID, np.uint8)
        d[first : first + size] = INVALID
        u = np.repeat(np.array([VALID, FREE], np.uint8), [size, pages - size])
        found += plan_m_merge(d, u, max_splits=MAX_SPLITS)["restores"] == [pb]
    return found
