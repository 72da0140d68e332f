"""PEN's figures 3 to 5: what large blocks cost the baseline at equal capacity. What they share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from pumice.analysis import plots
from pumice_papers.figures import Drawing
from pumice_papers.over_seeds import Spread, cells, ends, mean, shown, spread, spreads, with_seeds
from pumice_papers.quantities import quotient

#: Pages per block in the paper, and beyond it.
PAPER, BEYOND = (72, 144, 288, 576), (1152, 2304)
SIZES = (*PAPER, *BEYOND)

STUDY = "block-size"

#: The sizes in the notes of the scoreboard.
SIZES_TEXT = ", ".join(f"{size:,}" for size in SIZES)

#: A result field's value with one seed: by block size, then by workload.
BySize = Mapping[int, Mapping[str, float | None]]

#: A number at each block size, over the seeds.
Line = Sequence[Spread | None]


def by_size(drawing: Drawing, path: str) -> list[BySize]:
    """A field of the runs with each block size, seed by seed."""
    return [
        {size: one.values(STUDY, {"geometry.pages_per_block": size}, path) for size in SIZES} for one in drawing.by_seed
    ]


def line(seeds: Sequence[BySize], of: Callable[[Mapping[str, float | None]], float | None]) -> Line:
    """A number of the workloads' values at each block size, over the seeds."""
    return spreads([[of(one[size]) for size in SIZES] for one in seeds])


def relative(seeds: Sequence[BySize], workload: str) -> list[list[float | None]]:
    """A workload's value at each block size in relation to blocks of 72 pages, seed by seed."""
    return [[quotient(one[size][workload], one[PAPER[0]][workload]) for size in SIZES] for one in seeds]


def curve(name: str, found: Line, kind: Literal["line", "pale"] = "line") -> plots.Curve:
    """A line over the block size; one in the background has no ranges."""
    ranges = [] if kind == "pale" else [ends(each) for each in found]
    return plots.Curve(name, SIZES, [mean(each) for each in found], kind, ranges=ranges)


def draw_over_sizes(drawing: Drawing, curves: Sequence[plots.Curve]) -> None:
    """Draws lines over the block size, on logarithmic axes."""
    scale = plots.Scale(log_x=True, log_y=True, ticks=SIZES)
    plots.lines(with_seeds(drawing.frame, len(drawing.by_seed)), curves, drawing.file(), scale)


def write_by_size(drawing: Drawing, what: str, seeds: Sequence[BySize]) -> None:
    """Writes a CSV with a line for each workload; for each block size the mean over the seeds, the least and
    the largest."""
    columns = ["workload"]
    columns += [f"{what}, {size} pages{ending}" for size in SIZES for ending in ("", ": least", ": largest")]
    rows: list[list[Any]] = []
    for name in seeds[0][SIZES[0]]:
        found = [spread([one[size][name] for one in seeds]) for size in SIZES]
        rows.append([name, *(cell for each in found for cell in cells(each))])
    drawing.write_csv(columns, rows)


def line_text(found: Line, digits: int = 2) -> str:
    """A number at each block size, as it stands in the notes of the scoreboard."""
    return ", ".join(shown(each, digits) for each in found)
