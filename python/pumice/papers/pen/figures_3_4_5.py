"""Figures 3 to 5 of PEN (FAST'18): what large blocks cost the baseline at equal capacity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pumice.analysis import plots
from pumice.analysis.comparison_figures import BREAKDOWN, PART_COLOURS
from pumice.analysis.statistics import mean_of
from pumice.papers.context import WAF, Context, FigureOf, falling, trend
from pumice.papers.ratios import write_csv
from pumice.papers.scoreboard import Finding
from pumice.results.document import number

#: Pages per block in the paper, and beyond it.
PAPER, BEYOND = (72, 144, 288, 576), (1152, 2304)
SIZES = (*PAPER, *BEYOND)

STUDY = "block-size"

#: Workloads whose invocations rise with the block size, as the paper has it.
RISING = ("prn_1", "proj_1")

#: Mean write amplification that the paper prints for 72 and 576 pages a block.
PRINTED_WAF = ((72.0, 576.0), (2.1, 5.1))

#: A result field's value by workload, for each block size.
BySize = Mapping[int, Mapping[str, float | None]]


def _by_size(context: Context, path: str) -> BySize:
    return {size: context.values(STUDY, {"geometry.pages_per_block": size}, path) for size in SIZES}


def figure_3a(context: Context) -> dict[str, Finding]:
    """Parts of the write latency of the workloads that write much."""
    title = "Figure 3a: where a write waits, workloads that write much"
    parts = _draw_parts(context, context.high_write, plots.Frame(title, "mean write latency, ms"), "fig3a")
    shares = [_share(parts, context.high_write, size, ("gc_read", "gc_write")) for size in SIZES]
    found = trend(
        [shares[SIZES.index(576)]],
        lambda values: shares[0] is not None and values[0] > shares[0],
        _by_size_text("GC read and GC write take", shares),
    )
    return {"fig3a_copy_share": found}


def figure_3b(context: Context) -> dict[str, Finding]:
    """Parts of the write latency of the workloads that write little."""
    low = [name for name in context.runs.workloads(STUDY) if name not in context.high_write]
    title = "Figure 3b: where a write waits, workloads that write little"
    parts = _draw_parts(context, low, plots.Frame(title, "mean write latency, ms"), "fig3b")
    shares = [_share(parts, low, size, ("gc_spare_read",)) for size in SIZES]
    ends = [shares[SIZES.index(72)], shares[SIZES.index(576)]]
    note = _by_size_text("GC spare reads take", shares)
    return {"fig3b_spare_share": trend(ends, lambda values: values[1] > values[0], note)}


def figure_4(context: Context) -> dict[str, Finding]:
    """GC invocations by block size, in relation to blocks of 72 pages."""
    invocations = _by_size(context, "gc.invocations")
    relative = {
        name: [_quotient(invocations[size][name], invocations[72][name]) for size in SIZES] for name in invocations[72]
    }
    others = [name for name in relative if name not in RISING]
    means = [mean_of([relative[name][place] for name in others]) for place in range(len(SIZES))]
    curves = [plots.Curve("mean of the others", SIZES, means)]
    curves += [plots.Curve(name, SIZES, relative[name]) for name in RISING]
    curves += [plots.Curve("", SIZES, relative[name], "pale") for name in others]
    _draw_over_sizes(
        plots.Frame("Figure 4: GC invocations by block size", "invocations, 72 pages = 1", (1.0, "as at 72")),
        curves, context.directory / "fig4", log_y=True,
    )  # fmt: skip
    _write_by_size(context.directory / "fig4.csv", "GC invocations", invocations)
    shown = ", ".join(f"{name} {_quotients(relative[name])}" for name in RISING)
    absolute = [mean_of([invocations[size][name] for name in others]) for size in PAPER]
    rises = [number for name in RISING for number in (invocations[72].get(name), invocations[576].get(name))]
    return {
        "fig4_gc_halves": trend(absolute, falling, f"mean ratio to 72 pages at {_sizes_text()}: {_quotients(means)}"),
        "fig4_gc_rises": trend(rises, lambda v: v[1] > v[0] and v[3] > v[2], f"ratio to 72 pages: {shown}"),
    }


def figure_5(context: Context) -> dict[str, Finding]:
    """Write amplification of the workloads that write much, by block size."""
    everything = _by_size(context, WAF)
    amplification = {size: {name: everything[size].get(name) for name in context.high_write} for size in SIZES}
    means = [mean_of(list(amplification[size].values())) for size in SIZES]
    curves = [
        plots.Curve("mean, simulated", SIZES, means),
        plots.Curve("mean, printed", *PRINTED_WAF, kind="points", colour=5),
        *(
            plots.Curve(name, SIZES, [amplification[size][name] for size in SIZES], "pale")
            for name in context.high_write
        ),
    ]
    frame = plots.Frame("Figure 5: write amplification by block size", "write amplification", (1.0, "1"))
    _draw_over_sizes(frame, curves, context.directory / "fig5", log_y=True)
    _write_by_size(context.directory / "fig5.csv", "write amplification", amplification)
    note = f"mean at {_sizes_text()} pages: {_quotients(means)}; printed 2.1 at 72 and 5.1 at 576"
    found = trend(means, lambda values: values[3] > values[1], note)
    return {"fig5_waf_by_block": Finding(found.values and [found.values[3]], found.holds, note)}


FIGURES: dict[str, FigureOf] = {"3a": figure_3a, "3b": figure_3b, "4": figure_4, "5": figure_5}

#: Parts of a workload's mean write latency in µs, by block size: part → value.
Parts = Mapping[str, Mapping[int, Mapping[str, float | None]]]


def _draw_parts(context: Context, workloads: Sequence[str], frame: plots.Frame, name: str) -> Parts:
    """A panel of stacked bars a workload and one of their mean; the CSV also holds the sizes beyond the paper."""
    parts: dict[str, dict[int, dict[str, float | None]]] = {}
    for size in SIZES:
        for workload, document in context.runs.find(STUDY, {"geometry.pages_per_block": size}).items():
            parts.setdefault(workload, {})[size] = _parts(document)
    shown = {workload: parts[workload] for workload in workloads if workload in parts}
    drawn = [part for part in BREAKDOWN if any(found[part] for by_size in shown.values() for found in by_size.values())]
    panels = {workload: _bars(by_size, drawn) for workload, by_size in shown.items()}
    average = {
        size: {part: mean_of([by_size[size][part] for by_size in shown.values()]) for part in BREAKDOWN}
        for size in SIZES
    }
    panels["mean"] = _bars(average, drawn)
    labelled = plots.Frame(frame.title, frame.y_label, digits=1, x_label="pages per block")
    plots.stacked_panels(labelled, panels, context.directory / name)
    rows: list[list[Any]] = [
        [workload, size, *(by_size[size][part] for part in BREAKDOWN)]
        for workload, by_size in {**shown, "mean": average}.items()
        for size in SIZES
    ]
    columns = ["workload", "pages per block", *(f"{label}, µs" for label in BREAKDOWN.values())]
    write_csv(context.directory / f"{name}.csv", columns, rows)
    return shown


def _parts(document: dict[str, Any] | None) -> dict[str, float | None]:
    """Parts of a run's mean write latency; 0 where a part has no model, None if the run failed."""
    return {
        part: None if document is None else number(document, f"write_latency_breakdown_us.{part}") or 0.0
        for part in BREAKDOWN
    }


def _bars(by_size: Mapping[int, Mapping[str, float | None]], parts: Sequence[str]) -> plots.Bars:
    series = {BREAKDOWN[part]: [_quotient(by_size[size][part], 1000.0) for size in PAPER] for part in parts}
    return plots.Bars([str(size) for size in PAPER], series, [PART_COLOURS[part] for part in parts])


def _share(parts: Parts, workloads: Sequence[str], size: int, of: Sequence[str]) -> float | None:
    """Share of some parts in the sum of the workloads' mean write latencies."""
    chosen = [parts[workload][size] for workload in workloads if workload in parts]
    every = [value for found in chosen for value in found.values()]
    if not chosen or any(value is None for value in every):
        return None
    return sum(found[part] or 0.0 for found in chosen for part in of) / sum(value or 0.0 for value in every)


def _draw_over_sizes(frame: plots.Frame, curves: Sequence[plots.Curve], path: Path, *, log_y: bool) -> None:
    labelled = plots.Frame(frame.title, frame.y_label, frame.reference, x_label="pages per block")
    plots.lines(labelled, curves, path, plots.Scale(log_x=True, log_y=log_y, ticks=SIZES))


def _write_by_size(path: Path, what: str, values: BySize) -> None:
    columns = ["workload", *(f"{what}, {size} pages" for size in SIZES)]
    write_csv(path, columns, [[name, *(values[size][name] for size in SIZES)] for name in values[SIZES[0]]])


def _quotient(over: float | None, under: float | None) -> float | None:
    return over / under if over is not None and under else None


def _quotients(values: Sequence[float | None]) -> str:
    return ", ".join("–" if value is None else f"{value:.2f}" for value in values)


def _sizes_text() -> str:
    return ", ".join(f"{size:,}" for size in SIZES)


def _by_size_text(what: str, shares: Sequence[float | None]) -> str:
    shown = ", ".join("–" if share is None else f"{share:.1%}" for share in shares)
    return f"{what} {shown} at {_sizes_text()} pages a block"
