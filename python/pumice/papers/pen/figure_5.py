"""Figure 5 of PEN: write amplification by block size."""

from __future__ import annotations

from pumice.analysis import plots
from pumice.analysis.plots import Frame
from pumice.analysis.statistics import mean_of
from pumice.papers.figures import Drawing, Findings, figure
from pumice.papers.pen.block_size import (
    SIZES,
    SIZES_TEXT,
    STUDY,
    by_size,
    draw_over_sizes,
    quotients_text,
    write_by_size,
)
from pumice.papers.quantities import WAF
from pumice.papers.scoreboard import Finding, trend

#: Mean write amplification that the paper prints for 72 and 576 pages a block.
PRINTED = ((72.0, 576.0), (2.1, 5.1))


@figure(
    paper="pen",
    id="5",
    frame=Frame(
        "Figure 5: write amplification by block size", "write amplification", (1.0, "1"), x_label="pages per block"
    ),
    studies=(STUDY,),
    rows=("fig5_waf_by_block",),
)
def figure_5(drawing: Drawing) -> Findings:
    """Write amplification of the workloads that write much, by block size."""
    everything = by_size(drawing, WAF)
    amplification = {size: {name: everything[size].get(name) for name in drawing.high_write} for size in SIZES}
    means = [mean_of(list(amplification[size].values())) for size in SIZES]
    curves = [
        plots.Curve("mean, simulated", SIZES, means),
        plots.Curve("mean, printed", *PRINTED, kind="points", colour=5),
        *(
            plots.Curve(name, SIZES, [amplification[size][name] for size in SIZES], "pale")
            for name in drawing.high_write
        ),
    ]
    draw_over_sizes(drawing, curves)
    write_by_size(drawing, "write amplification", amplification)
    note = f"mean at {SIZES_TEXT} pages: {quotients_text(means)}; printed 2.1 at 72 and 5.1 at 576"
    found = trend(means, lambda values: values[3] > values[1], note)
    return {"fig5_waf_by_block": Finding(found.values and [found.values[3]], found.holds, note)}
