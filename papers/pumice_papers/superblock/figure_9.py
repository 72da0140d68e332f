"""Figure 9 of the superblock paper: overhead and pages copied of every FTL in every workload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pumice.analysis import plots
from pumice.analysis.plots import Frame
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.quantities import Quantity, quantity
from pumice_papers.ratios import Ratios, ratios
from pumice_papers.scoreboard import Finding
from pumice_papers.superblock.ftls import (
    COPY,
    FAST,
    FTLS,
    KEEP,
    LOG,
    OVERALL,
    PARTS,
    by_workload,
    listed,
    overhead,
    scaled,
)

#: Parts of the overhead, in seconds.
SECONDS = {part: quantity(f"gc.time_us.{part}", 1e6) for part in PARTS}


@figure(
    frame=Frame(
        "Figure 9: garbage collection overhead (SB: superblock FTL, two readings of its full merge)",
        "seconds",
        digits=0,
    ),
    studies=(OVERALL,),
    rows=("fig9_overhead", "fig9_copies", "fig9_map_share"),
)
def figure_9(drawing: Drawing) -> Findings:
    """Overhead by part, and pages copied, of every FTL in every workload."""
    seconds = {name: {part: by_workload(drawing, name, of) for part, of in SECONDS.items()} for name in FTLS}
    copied = {name: by_workload(drawing, name, quantity("gc.copied_pages")) for name in FTLS}
    workloads = list(copied[LOG])
    rows = [
        [load, name, *(seconds[name][part][load] for part in PARTS), copied[name][load]]
        for load in workloads
        for name in FTLS
    ]
    drawing.write_csv(["workload", "FTL", *(f"{part}, s" for part in PARTS), "pages copied"], rows)
    panels = {
        load: plots.Bars(
            ["log", "FAST", "SB", "SB keep"],
            {part: [seconds[name][part][load] for name in FTLS] for part in PARTS},
        )
        for load in workloads
    }
    plots.stacked_panels(drawing.frame, panels, drawing.file())
    _draw_copies(drawing, copied, workloads)
    return _judge(drawing)


def _draw_copies(drawing: Drawing, copied: Mapping[str, Mapping[str, float | None]], workloads: Sequence[str]) -> None:
    bars = {name: [scaled(found[load], 1e6) for load in workloads] for name, found in copied.items()}
    drawing.write_csv(["FTL", *workloads], [[name, *found.values()] for name, found in copied.items()], "-copies")
    frame = Frame("Figure 9: valid pages copied", "pages, millions", digits=2)
    plots.grouped_bars(frame, plots.Bars(workloads, bars), drawing.file("-copies"))


def _judge(drawing: Drawing) -> Findings:
    def map_share(name: str) -> Ratios:
        return ratios(by_workload(drawing, name, SECONDS["map"]), by_workload(drawing, name, overhead))

    def to_fast(of: Quantity, name: str) -> Ratios:
        return ratios(by_workload(drawing, name, of), by_workload(drawing, FAST, of))

    return {
        "fig9_overhead": _extremes(to_fast(overhead, COPY), to_fast(overhead, KEEP)),
        "fig9_copies": _extremes(to_fast(SECONDS["copy"], COPY), to_fast(SECONDS["copy"], KEEP)),
        "fig9_map_share": _extremes(map_share(COPY), map_share(KEEP)),
    }


def _extremes(found: Ratios, keep: Ratios) -> Finding:
    """The least and the largest ratio of the workloads; none if a run failed."""
    note = f"{listed(found)}; with keep: {listed(keep)}"
    if found.failed or not found.over:
        return Finding(None, note=f"{note}; failed: {', '.join(found.failed)}")
    values = [value for load in found.over if (value := found.ratio(load)) is not None]
    return Finding([min(values), max(values)], note=note)
