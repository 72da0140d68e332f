"""Figure 3 of PEN: where a write waits, by block size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pumice.analysis import plots
from pumice.analysis.comparison_figures import BREAKDOWN, PART_COLOURS
from pumice.analysis.plots import Frame
from pumice.analysis.statistics import mean_of
from pumice.papers.figures import Drawing, Findings, figure
from pumice.papers.pen.block_size import PAPER, SIZES, SIZES_TEXT, STUDY, quotient
from pumice.papers.scoreboard import trend
from pumice.results.document import number

#: Parts of one mean write latency, µs.
Parts = Mapping[str, float | None]

#: Parts by block size.
PartsBySize = Mapping[int, Parts]


@figure(
    paper="pen",
    id="3a",
    frame=Frame(
        "Figure 3a: where a write waits, workloads that write much",
        "mean write latency, ms",
        digits=1,
        x_label="pages per block",
    ),
    studies=(STUDY,),
    rows=("fig3a_copy_share",),
)
def figure_3a(drawing: Drawing) -> Findings:
    """Parts of the write latency of the workloads that write much."""
    parts = _draw_parts(drawing, drawing.high_write)
    shares = [_share(parts, size, ("gc_read", "gc_write")) for size in SIZES]
    found = trend(
        [shares[SIZES.index(576)]],
        lambda values: shares[0] is not None and values[0] > shares[0],
        _shares_text("GC read and GC write take", shares),
    )
    return {"fig3a_copy_share": found}


@figure(
    paper="pen",
    id="3b",
    frame=Frame(
        "Figure 3b: where a write waits, workloads that write little",
        "mean write latency, ms",
        digits=1,
        x_label="pages per block",
    ),
    studies=(STUDY,),
    rows=("fig3b_spare_share",),
)
def figure_3b(drawing: Drawing) -> Findings:
    """Parts of the write latency of the workloads that write little."""
    low = [name for name in drawing.runs.workloads(STUDY) if name not in drawing.high_write]
    parts = _draw_parts(drawing, low)
    shares = [_share(parts, size, ("gc_spare_read",)) for size in SIZES]
    ends = [shares[SIZES.index(72)], shares[SIZES.index(576)]]
    note = _shares_text("GC spare reads take", shares)
    return {"fig3b_spare_share": trend(ends, lambda values: values[1] > values[0], note)}


def _draw_parts(drawing: Drawing, workloads: Sequence[str]) -> Mapping[str, PartsBySize]:
    """Draws a panel of stacked bars for each workload and one for their mean.

    The CSV also holds the sizes beyond the paper.

    Returns:
        The parts by workload and block size.
    """
    shown = _parts_of(drawing, workloads)
    mean = {
        size: {part: mean_of([by_size[size][part] for by_size in shown.values()]) for part in BREAKDOWN}
        for size in SIZES
    }
    drawn = [part for part in BREAKDOWN if any(found[part] for by_size in shown.values() for found in by_size.values())]
    panels = {name: _bars(by_size, drawn) for name, by_size in {**shown, "mean": mean}.items()}
    plots.stacked_panels(drawing.frame, panels, drawing.file())
    rows: list[list[Any]] = [
        [workload, size, *(by_size[size][part] for part in BREAKDOWN)]
        for workload, by_size in {**shown, "mean": mean}.items()
        for size in SIZES
    ]
    drawing.write_csv(["workload", "pages per block", *(f"{label}, µs" for label in BREAKDOWN.values())], rows)
    return shown


def _parts_of(drawing: Drawing, workloads: Sequence[str]) -> dict[str, PartsBySize]:
    """The parts of some workloads' mean write latencies, by workload and block size."""
    parts: dict[str, dict[int, Parts]] = {}
    for size in SIZES:
        for workload, document in drawing.runs.find(STUDY, {"geometry.pages_per_block": size}).items():
            parts.setdefault(workload, {})[size] = _parts(document)
    return {workload: parts[workload] for workload in workloads if workload in parts}


def _parts(document: Mapping[str, Any] | None) -> Parts:
    """Parts of a run's mean write latency; 0 where a part has no model, None if the run failed."""
    return {
        part: None if document is None else number(document, f"write_latency_breakdown_us.{part}") or 0.0
        for part in BREAKDOWN
    }


def _bars(by_size: PartsBySize, parts: Sequence[str]) -> plots.Bars:
    series = {BREAKDOWN[part]: [quotient(by_size[size][part], 1000.0) for size in PAPER] for part in parts}
    return plots.Bars([str(size) for size in PAPER], series, [PART_COLOURS[part] for part in parts])


def _share(parts: Mapping[str, PartsBySize], size: int, of: Sequence[str]) -> float | None:
    """Share of some parts in the sum of the workloads' mean write latencies."""
    chosen = [by_size[size] for by_size in parts.values()]
    every = [value for found in chosen for value in found.values()]
    if not chosen or any(value is None for value in every):
        return None
    return sum(found[part] or 0.0 for found in chosen for part in of) / sum(value or 0.0 for value in every)


def _shares_text(what: str, shares: Sequence[float | None]) -> str:
    shown = ", ".join("–" if share is None else f"{share:.1%}" for share in shares)
    return f"{what} {shown} at {SIZES_TEXT} pages a block"
