"""PEN's figures 3 to 5: what large blocks cost the baseline at equal capacity. What they share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pumice.analysis import plots
from pumice.papers.figures import Drawing

#: Pages per block in the paper, and beyond it.
PAPER, BEYOND = (72, 144, 288, 576), (1152, 2304)
SIZES = (*PAPER, *BEYOND)

STUDY = "block-size"

#: The sizes in the notes of the scoreboard.
SIZES_TEXT = ", ".join(f"{size:,}" for size in SIZES)

#: A result field's value by workload, for each block size.
BySize = Mapping[int, Mapping[str, float | None]]


def by_size(drawing: Drawing, path: str) -> BySize:
    """A field of the runs with each block size, by workload."""
    return {size: drawing.values(STUDY, {"geometry.pages_per_block": size}, path) for size in SIZES}


def draw_over_sizes(drawing: Drawing, curves: Sequence[plots.Curve]) -> None:
    """Draws lines over the block size, on logarithmic axes."""
    plots.lines(drawing.frame, curves, drawing.file(), plots.Scale(log_x=True, log_y=True, ticks=SIZES))


def write_by_size(drawing: Drawing, what: str, values: BySize) -> None:
    """Writes a CSV with a line for each workload and a column for each block size."""
    columns = ["workload", *(f"{what}, {size} pages" for size in SIZES)]
    drawing.write_csv(columns, [[name, *(values[size][name] for size in SIZES)] for name in values[SIZES[0]]])


def quotient(over: float | None, under: float | None) -> float | None:
    """`over` / `under`; None if one of them is missing or `under` is 0."""
    return over / under if over is not None and under else None


def quotients_text(values: Sequence[float | None]) -> str:
    """Quotients as they stand in the notes of the scoreboard."""
    return ", ".join("–" if value is None else f"{value:.2f}" for value in values)
