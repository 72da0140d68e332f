"""Figure 3 of PEN: where a write waits, by block size.

The paper names the parts of a write's latency (section 2.3.1): the write itself, and its waiting for
collection in four parts. Waiting behind other requests of the host, `queue` here, is not among them. So
shares are judged without `queue`; they are shown without and with it. They are shares of the sum of the
workloads' mean latencies, in which a slow workload weighs more than a fast one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pumice.analysis import plots
from pumice.analysis.comparison_figures import BREAKDOWN, PART_COLOURS
from pumice.analysis.plots import Frame
from pumice.analysis.statistics import mean_of
from pumice.results.document import number
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.over_seeds import Spread, cells, ends, judged, mean, spread, with_seeds
from pumice_papers.pen.block_size import PAPER, SIZES, SIZES_TEXT, STUDY, line_text
from pumice_papers.quantities import quotient
from pumice_papers.scoreboard import Finding

#: Parts of one mean write latency, µs.
Parts = Mapping[str, float | None]

#: Parts with one seed, by workload and block size.
SeedParts = Mapping[str, Mapping[int, Parts]]

QUEUE = "queue"
COPIES = ("gc_read", "gc_write")
SPARE = ("gc_spare_read",)

#: The parts that each denominator leaves out, by its name.
LEFT_OUT = {"without queue": (QUEUE,), "with queue": ()}


@figure(
    paper="pen",
    id="3a",
    frame=Frame(
        "Figure 3a: where a write waits, workloads that write much",
        "mean write latency, ms",
        digits=1,
        x_label="pages per block; below it, share of GC reads and writes in %: without queue, with queue",
    ),
    studies=(STUDY,),
    rows=("fig3a_copy_share",),
)
def figure_3a(drawing: Drawing) -> Findings:
    """Parts of the write latency of the workloads that write much."""
    seeds = _draw_parts(drawing, drawing.high_write, COPIES)
    found = _judged_shares(seeds, COPIES, (576, 72), lambda values: values[0] > values[1], of_row=1)
    return {"fig3a_copy_share": found}


@figure(
    paper="pen",
    id="3b",
    frame=Frame(
        "Figure 3b: where a write waits, workloads that write little",
        "mean write latency, ms",
        digits=1,
        x_label="pages per block; below it, share of GC spare reads in %: without queue, with queue",
    ),
    studies=(STUDY,),
    rows=("fig3b_spare_share",),
)
def figure_3b(drawing: Drawing) -> Findings:
    """Parts of the write latency of the workloads that write little."""
    low = [name for name in drawing.runs.workloads(STUDY) if name not in drawing.high_write]
    seeds = _draw_parts(drawing, low, SPARE)
    return {"fig3b_spare_share": _judged_shares(seeds, SPARE, (72, 576), lambda values: values[1] > values[0])}


def _judged_shares(
    seeds: Sequence[SeedParts],
    of: Sequence[str],
    sizes: Sequence[int],
    holds: Callable[[list[float]], bool],
    of_row: int | None = None,
) -> Finding:
    """Shares without `queue` at some block sizes, judged by a rule; the note has all sizes and both
    denominators."""
    shares = {name: [_share_at(seeds, size, of, left_out) for size in SIZES] for name, left_out in LEFT_OUT.items()}
    names = " and ".join(BREAKDOWN[part] for part in of)
    note = "; ".join(f"{name}: {line_text(found, 4)}" for name, found in shares.items())
    per_seed = [[_share(_sums(one, size), of, (QUEUE,)) for size in sizes] for one in seeds]
    return judged(per_seed, holds, f"{names} at {SIZES_TEXT} pages a block, {note}", of_row=of_row)


def _draw_parts(drawing: Drawing, workloads: Sequence[str], of: Sequence[str]) -> list[SeedParts]:
    """Draws a panel of stacked bars for each workload and one for their mean, means over the seeds. Below each
    bar stand the shares of the parts `of` without and with `queue`.

    The CSV also holds the sizes beyond the paper.

    Returns:
        The parts, seed by seed.
    """
    seeds = [_parts_of(one, workloads) for one in drawing.by_seed]
    names = [name for name in workloads if name in seeds[0]]
    panels: dict[str, list[SeedParts]] = {name: [{name: one[name]} for one in seeds] for name in names}
    panels["mean"] = seeds
    drawn = [part for part in BREAKDOWN if any(mean(_part(seeds, size, [part])) for size in SIZES)]
    bars = {name: _bars(own, drawn, of) for name, own in panels.items()}
    plots.stacked_panels(with_seeds(drawing.frame, len(seeds)), bars, drawing.file())
    columns = ["workload", "pages per block", *(f"{label}, µs" for label in BREAKDOWN.values())]
    columns += [f"total, µs{ending}" for ending in ("", ": least", ": largest")]
    what = " and ".join(BREAKDOWN[part] for part in of)
    columns += [f"share of {what} {name}{ending}" for name in LEFT_OUT for ending in ("", ": least", ": largest")]
    drawing.write_csv(columns, [_csv_row(name, size, own, of) for name, own in panels.items() for size in SIZES])
    return seeds


def _csv_row(name: str, size: int, seeds: Sequence[SeedParts], of: Sequence[str]) -> list[Any]:
    """A line of the CSV: the parts of the mean over workloads and seeds, their total, and both shares."""
    row: list[Any] = [name, size, *(mean(_part(seeds, size, [part])) for part in BREAKDOWN)]
    found = [_part(seeds, size, list(BREAKDOWN))]
    found += [_share_at(seeds, size, of, left_out) for left_out in LEFT_OUT.values()]
    return row + [cell for each in found for cell in cells(each)]


def _parts_of(drawing: Drawing, workloads: Sequence[str]) -> SeedParts:
    """The parts of some workloads' mean write latencies in runs of one seed."""
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


def _part(seeds: Sequence[SeedParts], size: int, parts: Sequence[str]) -> Spread | None:
    """The sum of some parts, the mean over the workloads, over the seeds."""
    return spread([mean_of([_sum(by_size[size], parts) for by_size in one.values()]) for one in seeds])


def _sum(parts: Parts, names: Sequence[str]) -> float | None:
    values = [parts[name] for name in names]
    return None if None in values else sum(value or 0.0 for value in values)


def _sums(one: SeedParts, size: int) -> Parts:
    """The parts, summed over the workloads."""
    return {part: _total([by_size[size][part] for by_size in one.values()]) for part in BREAKDOWN}


def _total(values: Sequence[float | None]) -> float | None:
    found = mean_of(values)
    return None if found is None else found * len(values)


def _bars(seeds: Sequence[SeedParts], parts: Sequence[str], of: Sequence[str]) -> plots.Bars:
    series = {BREAKDOWN[part]: [quotient(mean(_part(seeds, size, [part])), 1000.0) for size in PAPER] for part in parts}
    totals = [ends(_part(seeds, size, parts)) for size in PAPER]
    in_ms = [None if total is None else (total[0] / 1000, total[1] / 1000) for total in totals]
    groups = [f"{size}\n{_both_shares(seeds, size, of)}" for size in PAPER]
    return plots.Bars(groups, series, [PART_COLOURS[part] for part in parts], {"total": in_ms})


def _both_shares(seeds: Sequence[SeedParts], size: int, of: Sequence[str]) -> str:
    """The shares without and with `queue` in percent, as they stand below a bar."""
    shares = [mean(_share_at(seeds, size, of, left_out)) for left_out in LEFT_OUT.values()]
    return ", ".join("–" if share is None else f"{100 * share:.{0 if share > 0.1 else 1}f}" for share in shares)


def _share_at(seeds: Sequence[SeedParts], size: int, of: Sequence[str], left_out: Sequence[str]) -> Spread | None:
    """Share of some parts at a block size, over the seeds."""
    return spread([_share(_sums(one, size), of, left_out) for one in seeds])


def _share(parts: Parts, of: Sequence[str], left_out: Sequence[str]) -> float | None:
    """Share of some parts in all of them but those left out."""
    return quotient(_sum(parts, of), _sum(parts, [part for part in parts if part not in left_out]))
