"""Figure 6 of the superblock paper: the tables in which a page is looked up; a worked example."""

from __future__ import annotations

from pumice import _engine
from pumice.analysis import plots
from pumice.analysis.plots import Frame
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.scoreboard import Finding

#: Logical block, page, and logical blocks of a superblock in the paper's example.
LOGICAL_BLOCK, PAGE, SUPERBLOCK = 17, 12, 4
INDICES = ("superblock", "PGD index", "PMD index", "PTE index")


@figure(
    frame=Frame(f"Figure 6: logical block {LOGICAL_BLOCK}, page {PAGE}", "index", digits=0),
    rows=("fig6_translation",),
)
def figure_6(drawing: Drawing) -> Findings:
    """Where the tables of a page are looked up."""
    found = _engine.superblock_indices(LOGICAL_BLOCK, PAGE, SUPERBLOCK)
    drawing.write_csv(["index", "value"], [list(row) for row in zip(INDICES, found, strict=True)])
    bars = plots.Bars(INDICES, {"index": [float(value) for value in found]})
    plots.grouped_bars(drawing.frame, bars, drawing.file())
    return {"fig6_translation": Finding([*found])}
