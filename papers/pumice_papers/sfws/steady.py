"""Copies in a steady state by over-provisioning: beside Figure 5 of SFWS, no row of the scoreboard."""

from __future__ import annotations

from pumice.analysis import plots
from pumice.analysis.plots import Frame
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.sfws.devices import LAYER_FIRST, OP, copied_pages, copies_per_collection, sfws_to_lfws


@figure(
    frame=Frame("Steady state: copies, SFWS / LFWS", "ratio", (1.0, "no change")),
    studies=("steady-lfws", "steady-sfws"),
)
def figure_steady(drawing: Drawing) -> Findings:
    """Copies in a steady state by over-provisioning."""
    shares = drawing.runs.values(f"steady-{LAYER_FIRST}", OP)
    total = [sfws_to_lfws(drawing, copied_pages, "steady-", {OP: share}).means().of_means for share in shares]
    each = [sfws_to_lfws(drawing, copies_per_collection, "steady-", {OP: share}).means().arithmetic for share in shares]
    columns = ["over-provisioning", "pages copied, SFWS / LFWS", "pages copied per collection, SFWS / LFWS"]
    drawing.write_csv(columns, [list(row) for row in zip(shares, total, each, strict=True)])
    bars = plots.Bars([f"OP {share:.0%}" for share in shares], {"all pages copied": total, "per collection": each})
    plots.grouped_bars(drawing.frame, bars, drawing.file())
    return {}
