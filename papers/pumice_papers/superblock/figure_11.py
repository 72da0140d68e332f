"""Figure 11 of the superblock paper: block erases by the merge that they belong to."""

from __future__ import annotations

from collections.abc import Mapping

from pumice.analysis import plots
from pumice.analysis.plots import Frame
from pumice.results.document import number
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.quantities import quotient
from pumice_papers.scoreboard import trend
from pumice_papers.superblock.ftls import COPY, FAST, FTLS, KEEP, LOG, OVERALL, of_pc, scaled, shown

#: The ratio below which "significantly reduced" (section 5.2) holds: no number is printed, and less than a tenth is no
#: significant part. Chosen.
SIGNIFICANTLY = 0.9

#: Kinds of merge, as the result document names them, and their names in the figure.
MERGES = {
    "switch": "switch merges",
    "partial": "partial merges",
    "full": "full merges",
    "dead": "no merge: nothing valid",
}


@figure(
    frame=Frame("Figure 11: erases by merge (pc)", "block erases, thousands", digits=1),
    studies=(OVERALL,),
    rows=("fig11_switch_erases", "fig11_full_erases"),
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
    to_fast = {merge: _to_fast(erases, merge) for merge in ("switch", "full")}
    findings = {}
    for row, merge in (("fig11_switch_erases", "switch"), ("fig11_full_erases", "full")):
        found = to_fast[merge]
        note = f"with keep {shown(found[KEEP])}, log block {shown(found[LOG])}"
        findings[row] = trend([found[COPY]], lambda values: values[0] < SIGNIFICANTLY, note)
    return findings


def _to_fast(erases: Mapping[str, Mapping[str, float | None]], merge: str) -> dict[str, float | None]:
    """The erases of a kind of merge of every FTL in relation to FAST's; None where FAST has none, or a run failed."""
    fast = erases[FAST][merge]
    return {name: quotient(found[merge], fast) for name, found in erases.items()}
