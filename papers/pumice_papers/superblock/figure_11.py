"""Figure 11 of the superblock paper: block erases by the merge that they belong to."""

from __future__ import annotations

from pumice.analysis import plots
from pumice.analysis.plots import Frame
from pumice.results.document import number
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.scoreboard import Finding
from pumice_papers.superblock.ftls import COPY, FAST, FTLS, KEEP, OVERALL, of_pc, scaled, shown

#: Kinds of merge, as the result document names them, and their names in the figure.
MERGES = {
    "switch": "switch merges",
    "partial": "partial merges",
    "full": "full merges",
    "dead": "no merge: nothing valid",
}


@figure(
    paper="superblock",
    id="11",
    frame=Frame("Figure 11: erases by merge (pc)", "block erases, thousands", digits=1),
    studies=(OVERALL,),
    rows=("fig11_switch_erases",),
)
def figure_11(drawing: Drawing) -> Findings:
    """Block erases by the merge that they belong to."""
    erases = {
        name: {merge: number(of_pc(drawing, name), f"gc.erases_by_merge.{merge}.block") for merge in MERGES}
        for name in FTLS
    }
    drawing.write_csv(["FTL", *MERGES], [[name, *found.values()] for name, found in erases.items()])
    series = {label: [scaled(found[merge], 1000) for found in erases.values()] for merge, label in MERGES.items()}
    groups = [name.replace(", ", ",\n") for name in erases]
    plots.stacked_bars(drawing.frame, plots.Bars(groups, series), drawing.file())
    fast = erases[FAST]["switch"]
    if not fast or erases[COPY]["switch"] is None:
        return {"fig11_switch_erases": Finding(None, note="a run failed, or FAST has no switch merge")}
    by_name = {name: (found["switch"] or 0) / fast for name, found in erases.items()}
    full = {name: shown(scaled(found["full"], erases[FAST]["full"] or 1)) for name, found in erases.items()}
    note = (
        f"with keep {by_name[KEEP]:.2f}; erases in full merges, superblock / FAST: {full[COPY]}, with keep {full[KEEP]}"
    )
    return {"fig11_switch_erases": Finding([by_name[COPY]], note=note)}
