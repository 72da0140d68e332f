"""Figure 3 of PEN: where a write waits, by block size; `write_parts` says what is judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pumice.analysis import plots
from pumice.analysis.comparison_figures import BREAKDOWN, PART_COLOURS
from pumice.analysis.plots import Frame
from pumice.analysis.statistics import mean_of
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.over_seeds import Spread, cells, ends, judged, mean, spread, with_seeds
from pumice_papers.pen.block_size import PAPER, SIZES, SIZES_TEXT, STUDY, line_text
from pumice_papers.pen.write_parts import COPIES, LEFT_OUT, SPARE, SeedParts, parts_of, share, share_at, sum_of
from pumice_papers.quantities import quotient
from pumice_papers.scoreboard import Finding


@figure(
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
    shares = {name: [share_at(seeds, size, of, left_out) for size in SIZES] for name, left_out in LEFT_OUT.items()}
    names = " and ".join(BREAKDOWN[part] for part in of)
    note = "; ".join(f"{name}: {line_text(found, 4)}" for name, found in shares.items())
    per_seed = [[share(one, size, of) for size in sizes] for one in seeds]
    return judged(per_seed, holds, f"{names} at {SIZES_TEXT} pages a block, {note}", of_row=of_row)


def _draw_parts(drawing: Drawing, workloads: Sequence[str], of: Sequence[str]) -> list[SeedParts]:
    """Draws a panel of stacked bars for each workload and one for their mean, means over the seeds. Below each
    bar stand the shares of the parts `of` without and with `queue`.

    The CSV also holds the sizes beyond the paper.

    Returns:
        The parts, seed by seed.
    """
    seeds = [parts_of(one, STUDY, workloads) for one in drawing.by_seed]
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
    found += [share_at(seeds, size, of, left_out) for left_out in LEFT_OUT.values()]
    return row + [cell for each in found for cell in cells(each)]


def _part(seeds: Sequence[SeedParts], size: int, parts: Sequence[str]) -> Spread | None:
    """The sum of some parts, the mean over the workloads, over the seeds."""
    return spread([mean_of([sum_of(by_size[size], parts) for by_size in one.values()]) for one in seeds])


def _bars(seeds: Sequence[SeedParts], parts: Sequence[str], of: Sequence[str]) -> plots.Bars:
    series = {BREAKDOWN[part]: [quotient(mean(_part(seeds, size, [part])), 1000.0) for size in PAPER] for part in parts}
    totals = [ends(_part(seeds, size, parts)) for size in PAPER]
    in_ms = [None if total is None else (total[0] / 1000, total[1] / 1000) for total in totals]
    groups = [f"{size}\n{_both_shares(seeds, size, of)}" for size in PAPER]
    return plots.Bars(groups, series, [PART_COLOURS[part] for part in parts], {"total": in_ms})


def _both_shares(seeds: Sequence[SeedParts], size: int, of: Sequence[str]) -> str:
    """The shares without and with `queue` in percent, as they stand below a bar."""
    shares = [mean(share_at(seeds, size, of, left_out)) for left_out in LEFT_OUT.values()]
    return ", ".join("–" if share is None else f"{100 * share:.{0 if share > 0.1 else 1}f}" for share in shares)
