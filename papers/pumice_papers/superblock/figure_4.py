"""Figure 4 of the superblock paper: merges of eight updates; a worked example."""

from __future__ import annotations

from pumice import _engine
from pumice.analysis import plots
from pumice.analysis.plots import Frame
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.scoreboard import Finding

#: FTLs of the figure: name → `ftl.kind`, and the kind of merge that the paper's drawing shows.
DRAWN = {"log block": ("log-block", "full"), "FAST": ("fast", "full"), "superblock": ("superblock-2006", "switch")}
MERGES = ("full", "partial", "switch")


@figure(
    frame=Frame("Figure 4: updates of P5 P2 P3 P7, twice over", "merges", digits=0),
    rows=("fig4_merges",),
)
def figure_4(drawing: Drawing) -> Findings:
    """Merges of eight updates of four pages, by kind."""
    merges = {name: _engine.merges_of_updates(kind) for name, (kind, _) in DRAWN.items()}
    rows = [[name, *(found[kind] for kind in MERGES), found["dead"]] for name, found in merges.items()]
    drawing.write_csv(["FTL", *MERGES, "U-blocks erased without a merge"], rows)
    series: dict[str, list[float | None]] = {
        f"{kind} merges": [float(found[kind]) for found in merges.values()] for kind in MERGES
    }
    plots.stacked_bars(drawing.frame, plots.Bars(list(merges), series), drawing.file())
    drawn = [merges[name][kind] for name, (_, kind) in DRAWN.items()]
    other = sum(merges[name][kind] for name, (_, shown) in DRAWN.items() for kind in MERGES if kind != shown)
    note = "; ".join(
        f"{name}: " + ", ".join(f"{n} {kind}" for kind, n in found.items() if n) for name, found in merges.items()
    )
    return {"fig4_merges": Finding([*drawn, other], note=note)}
