"""Figure 11 of PEN: one partial block restored four times over; a worked example."""

from __future__ import annotations

from pumice.analysis import plots
from pumice.analysis.plots import Frame
from pumice.planning.worked_examples import example
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.scoreboard import Finding


@figure(
    frame=Frame("Figure 11: PB 9 restored four times over", "pages copied back", digits=0),
    rows=("fig11_copied_back",),
)
def figure_11(drawing: Drawing) -> Findings:
    """Pages copied back by four M-Merges in a row: the PB itself, and neighbours at risk."""
    back = [plan["copy_back"] for plan in example("fig11").plans()]
    own = back[0]
    rounds = [f"{place}. M-Merge" for place in range(1, len(back) + 1)]
    rows = [[name, own, count - own, count] for name, count in zip(rounds, back, strict=True)]
    drawing.write_csv(["M-Merge", "PB 9", "neighbours", "copied back"], rows)
    series: dict[str, list[float | None]] = {
        "PB 9": [float(own)] * len(back),
        "neighbours at risk": [float(count - own) for count in back],
    }
    plots.stacked_bars(drawing.frame, plots.Bars(rounds, series), drawing.file())
    return {"fig11_copied_back": Finding([*back])}
