"""Figure 4 of PEN: GC invocations by block size."""

from __future__ import annotations

from pumice.analysis import plots
from pumice.analysis.plots import Frame
from pumice.analysis.statistics import falling, mean_of
from pumice.papers.figures import Drawing, Findings, figure
from pumice.papers.pen.block_size import (
    PAPER,
    SIZES,
    SIZES_TEXT,
    STUDY,
    by_size,
    draw_over_sizes,
    quotient,
    quotients_text,
    write_by_size,
)
from pumice.papers.scoreboard import trend

#: Workloads whose invocations rise with the block size in the paper.
RISING = ("prn_1", "proj_1")


@figure(
    paper="pen",
    id="4",
    frame=Frame(
        "Figure 4: GC invocations by block size",
        "invocations, 72 pages = 1",
        (1.0, "as at 72"),
        x_label="pages per block",
    ),
    studies=(STUDY,),
    rows=("fig4_gc_halves", "fig4_gc_rises"),
)
def figure_4(drawing: Drawing) -> Findings:
    """GC invocations by block size, in relation to blocks of 72 pages."""
    invocations = by_size(drawing, "gc.invocations")
    relative = {
        name: [quotient(invocations[size][name], invocations[72][name]) for size in SIZES] for name in invocations[72]
    }
    others = [name for name in relative if name not in RISING]
    means = [mean_of([relative[name][place] for name in others]) for place in range(len(SIZES))]
    curves = [plots.Curve("mean of the others", SIZES, means)]
    curves += [plots.Curve(name, SIZES, relative[name]) for name in RISING]
    curves += [plots.Curve("", SIZES, relative[name], "pale") for name in others]
    draw_over_sizes(drawing, curves)
    write_by_size(drawing, "GC invocations", invocations)
    shown = ", ".join(f"{name} {quotients_text(relative[name])}" for name in RISING)
    absolute = [mean_of([invocations[size][name] for name in others]) for size in PAPER]
    ends = [number for name in RISING for number in (invocations[72].get(name), invocations[576].get(name))]
    note = f"mean ratio to 72 pages at {SIZES_TEXT}: {quotients_text(means)}"
    return {
        "fig4_gc_halves": trend(absolute, falling, note),
        "fig4_gc_rises": trend(ends, lambda v: v[1] > v[0] and v[3] > v[2], f"ratio to 72 pages: {shown}"),
    }
