"""Figure 4 of PEN: GC invocations by block size."""

from __future__ import annotations

from pumice.analysis.plots import Frame
from pumice.analysis.statistics import falling, mean_of
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.over_seeds import judged, spreads
from pumice_papers.pen.block_size import (
    PAPER,
    SIZES_TEXT,
    STUDY,
    by_size,
    curve,
    draw_over_sizes,
    line_text,
    relative,
    write_by_size,
)

#: Workloads whose invocations rise with the block size in the paper.
RISING = ("prn_1", "proj_1")


@figure(
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
    seeds = by_size(drawing, "gc.invocations")
    by_name = {name: relative(seeds, name) for name in seeds[0][72]}
    others = [name for name in by_name if name not in RISING]
    means = spreads([[mean_of(list(row)) for row in zip(*(by_name[name][place] for name in others), strict=True)]
                     for place in range(len(seeds))])  # fmt: skip
    curves = [curve("mean of the others", means)]
    curves += [curve(name, spreads(by_name[name])) for name in RISING]
    curves += [curve("", spreads(by_name[name]), "pale") for name in others]
    draw_over_sizes(drawing, curves)
    write_by_size(drawing, "GC invocations", seeds)
    own = ", ".join(f"{name} {line_text(spreads(by_name[name]))}" for name in RISING)
    absolute = [[mean_of([one[size][name] for name in others]) for size in PAPER] for one in seeds]
    ends = [[number for name in RISING for number in (one[72].get(name), one[576].get(name))] for one in seeds]
    return {
        "fig4_gc_halves": judged(absolute, falling, f"mean ratio to 72 pages at {SIZES_TEXT}: {line_text(means)}"),
        "fig4_gc_rises": judged(ends, lambda v: v[1] > v[0] and v[3] > v[2], f"ratio to 72 pages: {own}"),
    }
