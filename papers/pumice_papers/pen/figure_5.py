"""Figure 5 of PEN: write amplification by block size."""

from __future__ import annotations

from operator import itemgetter

from pumice.analysis import plots
from pumice.analysis.plots import Frame
from pumice.analysis.statistics import mean_of
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.over_seeds import judged
from pumice_papers.pen.block_size import (
    SIZES,
    SIZES_TEXT,
    STUDY,
    by_size,
    curve,
    draw_over_sizes,
    line,
    line_text,
    write_by_size,
)
from pumice_papers.quantities import WAF

#: Mean write amplification that the paper prints for 72 and 576 pages a block.
PRINTED = ((72.0, 576.0), (2.1, 5.1))


@figure(
    frame=Frame(
        "Figure 5: write amplification by block size", "write amplification", (1.0, "1"), x_label="pages per block"
    ),
    studies=(STUDY,),
    rows=("fig5_waf_by_block",),
)
def figure_5(drawing: Drawing) -> Findings:
    """Write amplification of the workloads that write much, by block size."""
    every = by_size(drawing, WAF)
    seeds = [{size: {name: one[size].get(name) for name in drawing.high_write} for size in SIZES} for one in every]
    means = line(seeds, lambda values: mean_of(list(values.values())))
    curves = [
        curve("mean, simulated", means),
        plots.Curve("mean, printed", *PRINTED, kind="points", colour=5),
        *(curve(name, line(seeds, itemgetter(name)), "pale") for name in drawing.high_write),
    ]
    draw_over_sizes(drawing, curves)
    write_by_size(drawing, "write amplification", seeds)
    note = f"mean at {SIZES_TEXT} pages: {line_text(means)}; printed 2.1 at 72 and 5.1 at 576"
    at_576_and_144 = [[mean_of(list(one[size].values())) for size in (576, 144)] for one in seeds]
    found = judged(at_576_and_144, lambda values: values[0] > values[1], note, of_row=1)
    return {"fig5_waf_by_block": found}
