"""Ratios as fields of colour: several quantities of one grid side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pumice.analysis.plots.style import COLOURS, GREY, PALE, blank_figure, house_style, number, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Ratio (and its inverse) from which a colour does not deepen.
FULL_COLOUR = 8.0

#: Value and, below it, range of a cell; None where there is none.
Cell = tuple[float, float, float] | None


@dataclass(frozen=True)
class Field:
    """A quantity over the grid.

    Attributes:
        title: the quantity.
        cells: mean ratio, least and greatest ratio of each cell, by row; None draws an empty cell.
        more_is_better: whether ratios above 1 are blue, rather than those below.
    """

    title: str
    cells: Sequence[Sequence[Cell]]
    more_is_better: bool = False


@dataclass(frozen=True)
class Grid:
    """What the rows and columns of every field are, a title over all, and lines of text beside them."""

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    text: Sequence[str] = ()


def fields(grid: Grid, quantities: Sequence[Field], path: Path) -> list[Path]:
    """Draws the fields three in a row, the grid's text behind the last. Writes `path`.png and `path`.svg."""
    with house_style():
        down = math.ceil((len(quantities) + 1) / 3)
        figure = blank_figure(12.0, down * (0.34 * len(grid.rows) + 1.3))
        figure.suptitle(grid.title, x=0.01, ha="left", fontsize=11, fontweight="bold")
        axes = figure.subplots(down, 3, squeeze=False).ravel()
        for place, (own, quantity) in enumerate(zip(axes, quantities, strict=False)):
            _draw(own, grid, quantity, named=place % 3 == 0)
        for own in axes[len(quantities) :]:
            own.set_axis_off()
        axes[len(quantities)].text(0.0, 1.0, "\n".join(grid.text), va="top", fontsize=7.5, wrap=True)
        return save(figure, path)


def _draw(axes: Axes, grid: Grid, quantity: Field, *, named: bool) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    way = 1.0 if quantity.more_is_better else -1.0
    shades = LinearSegmentedColormap.from_list("ratio", [COLOURS[5], "#FFFFFF", COLOURS[0]])
    depth = [[_depth(cell, way) for cell in row] for row in quantity.cells]
    axes.imshow(depth, cmap=shades, vmin=-1.0, vmax=1.0, aspect="auto", interpolation="nearest")
    axes.set_title(quantity.title)
    axes.grid(visible=False)
    axes.set_xticks(range(len(grid.columns)), grid.columns, fontsize=7.5)
    axes.set_yticks(range(len(grid.rows)), grid.rows if named else [""] * len(grid.rows), fontsize=8)
    for place, row in enumerate(quantity.cells):
        for column, cell in enumerate(row):
            _write(axes, (column, place), cell, strong=abs(depth[place][column]) > 0.6)


def _depth(cell: Cell, way: float) -> float:
    """Colour of a ratio, -1 (worse) to 1 (better)."""
    if cell is None or cell[0] <= 0:
        return 0.0
    return max(-1.0, min(1.0, way * math.log(cell[0]) / math.log(FULL_COLOUR)))


def _write(axes: Axes, place: tuple[float, float], cell: Cell, *, strong: bool) -> None:
    def put(text: str, rise: float, size: float, colour: Any) -> None:
        axes.text(place[0], place[1] + rise, text, ha="center", va="center", fontsize=size, color=colour)

    if cell is None:
        put("–", 0.0, 8.0, GREY)
        return
    ink = "#FFFFFF" if strong else "#222222"
    put(number(cell[0], 2), -0.14, 8.0, ink)
    put(f"{number(cell[1], 2)} – {number(cell[2], 2)}", 0.24, 5.5, PALE if strong else GREY)
