"""Figure 10 of the superblock paper: how full the U-blocks are that are reclaimed."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from pumice.analysis import plots
from pumice.analysis.plots import Frame
from pumice.results.document import lookup
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.quantities import Document
from pumice_papers.scoreboard import Finding
from pumice_papers.superblock.ftls import A_RUN_FAILED, COPY, FAST, FTLS, KEEP, LOG, OVERALL, of_pc, shown


@figure(
    frame=Frame(
        "Figure 10: victim U-blocks by pages written (pc)",
        "share of victims written less",
        x_label="share of the block's pages written, %",
    ),
    studies=(OVERALL,),
    rows=("fig10_full_victims",),
)
def figure_10(drawing: Drawing) -> Findings:
    """How full the U-blocks are that are reclaimed."""
    fills: dict[str, list[int] | None] = {name: lookup(of_pc(drawing, name), "gc.victim_fill") for name in FTLS}
    below = {name: None if fill is None else _below(fill) for name, fill in fills.items()}
    edges = [10.0 * (place + 1) for place in range(10)]
    rows = [[f"below {edge:g} %", *(b[i] if b else None for b in below.values())] for i, edge in enumerate(edges)]
    full = {name: fully_written(of_pc(drawing, name)) for name in FTLS}
    drawing.write_csv(["pages written", *below], [*rows, ["all", *full.values()]])
    curves = [plots.Curve(name, edges, b) for name, b in below.items() if b is not None]
    plots.lines(drawing.frame, curves, drawing.file(), plots.Scale(ticks=edges))
    shares = [full[name] for name in (LOG, FAST, COPY)]
    if None in shares:
        return {"fig10_full_victims": Finding(None, note=A_RUN_FAILED)}
    known = [share for share in shares if share is not None]
    rises = all(a < b for a, b in itertools.pairwise(known))
    return {"fig10_full_victims": Finding(known, rises, f"with keep: {shown(full[KEEP])}")}


def fully_written(document: Document) -> float | None:
    """Share of the reclaimed U-blocks that were fully written."""
    fill: list[int] | None = lookup(document, "gc.victim_fill")
    return fill[-1] / (sum(fill) or 1) if fill else None


def _below(fill: Sequence[int]) -> list[float]:
    """Share of victims below 10 %, 20 %, … 100 % written, from the document's histogram."""
    total = sum(fill) or 1
    return [sum(fill[: place + 1]) / total for place in range(len(fill) - 1)]
