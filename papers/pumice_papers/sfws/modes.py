"""Response time by the way of collecting: beside Figure 5 of SFWS, no row of the scoreboard."""

from __future__ import annotations

from pumice.analysis.plots import Frame
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.ratios import SeedRatios, draw_ratios
from pumice_papers.sfws.devices import MODE, response, sfws_to_lfws


@figure(
    frame=Frame("Mean response time by the way of collecting, SFWS / LFWS", "ratio of mean response times"),
    studies=("modes-lfws", "modes-sfws"),
)
def figure_modes(drawing: Drawing) -> Findings:
    """Response time by the way of collecting."""
    modes = drawing.runs.values("modes-lfws", MODE)
    found = {mode: SeedRatios([sfws_to_lfws(drawing, response, "modes-", {MODE: mode})]) for mode in modes}
    draw_ratios(drawing, found, drawing.runs.workloads("modes-lfws"))
    return {}
