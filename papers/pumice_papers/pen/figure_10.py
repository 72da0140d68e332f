"""Figure 10 of PEN: the time of a merge and of an M-Merge by part; a worked example."""

from __future__ import annotations

from pumice.analysis import plots
from pumice.analysis.plots import Frame
from pumice.planning.worked_examples import example
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.scoreboard import Finding


@figure(
    frame=Frame("Figure 10: one merge, two ways", "time, in page copies", digits=0),
    rows=("fig10_speedup", "fig10_restores"),
)
def figure_10(drawing: Drawing) -> Findings:
    """Time of a merge and an M-Merge by part, in units of a page copy."""
    shown = example("fig10")
    (plan,) = shown.plans()
    erase = shown.options["block_erase_us"]
    parts: dict[str, list[float | None]] = {
        "copies to a free block": [float(shown.valid_pages), None],
        "copies out of D": [None, float(plan["copy_out"])],
        "copies back into D": [None, float(plan["copy_back"])],
        "partial erases": [None, len(plan["restores"]) * erase],
        "block erases": [2 * erase, erase],
    }
    groups = ["full merge", "M-Merge"]
    drawing.write_csv(["part", *groups], [[name, *values] for name, values in parts.items()])
    plots.stacked_bars(drawing.frame, plots.Bars(groups, parts), drawing.file())
    speedup = plan["merge_us"] / plan["m_merge_us"]
    return {
        "fig10_speedup": Finding([speedup], note=f"{plan['merge_us']:g} / {plan['m_merge_us']:g}"),
        "fig10_restores": Finding([*plan["restores"], plan["copy_out"], plan["copy_back"]]),
    }
