"""Figure 5 of SFWS: copies and response time under four workloads."""

from __future__ import annotations

from pumice.analysis.plots import Frame
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.quantities import Quantity
from pumice_papers.ratios import Ratios, SeedRatios, draw_ratios
from pumice_papers.scoreboard import Finding
from pumice_papers.sfws.devices import (
    LAYER_FIRST,
    SUB_BLOCK_FIRST,
    copied_pages,
    copies_per_collection,
    response,
    sfws_to_lfws,
)

STUDIES = (LAYER_FIRST, SUB_BLOCK_FIRST)


@figure(
    frame=Frame("Figure 5a: pages copied per collection, SFWS / LFWS", "ratio of pages copied per collection"),
    studies=STUDIES,
    rows=("fig5a_copies_per_gc",),
)
def figure_5a(drawing: Drawing) -> Findings:
    """Pages copied per collection; the paper compares the mean of the reductions."""
    found = _draw(drawing, copies_per_collection)
    return {"fig5a_copies_per_gc": _finding(found, found.means().arithmetic)}


@figure(
    frame=Frame("Figure 5b: pages copied, SFWS / LFWS", "ratio of pages copied"),
    studies=STUDIES,
    rows=("fig5b_total_copied",),
)
def figure_5b(drawing: Drawing) -> Findings:
    """All pages copied, summed over the workloads."""
    found = _draw(drawing, copied_pages)
    return {"fig5b_total_copied": _finding(found, found.means().of_means)}


@figure(
    frame=Frame("Figure 5c: mean response time, SFWS / LFWS", "ratio of mean response time"),
    studies=STUDIES,
    rows=("fig5c_response",),
)
def figure_5c(drawing: Drawing) -> Findings:
    """Mean response time; judged at full scale only."""
    found = _draw(drawing, response)
    return {"fig5c_response": _finding(found, found.means().arithmetic)} if drawing.full_scale else {}


def _draw(drawing: Drawing, of: Quantity) -> Ratios:
    found = sfws_to_lfws(drawing, of)
    draw_ratios(drawing, {"SFWS / LFWS": SeedRatios([found])}, drawing.runs.workloads(LAYER_FIRST))
    return found


def _finding(found: Ratios, value: float | None) -> Finding:
    by_workload = ", ".join(f"{name} {found.ratio(name):.3f}" for name in found.over)
    if found.failed or value is None:
        return Finding(None, note=f"failed: {', '.join(found.failed)}")
    return Finding([value], note=by_workload)
