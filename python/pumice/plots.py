"""The house style of every figure, and the kinds of figure that are drawn.

Each figure is written as PNG (160 dpi) and SVG beside each other. Colours are those of Okabe and
Ito, which stay apart for colour-blind readers; series are named where they are, not in a key.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pumice import files

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
GREY = "#8A8A8A"
INK = "#222222"

STYLE: dict[Any, Any] = {
    "figure.dpi": 160,
    "savefig.dpi": 160,
    "font.size": 9,
    "font.family": "DejaVu Sans",
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": GREY,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.axisbelow": True,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.7,
    "svg.hashsalt": "pumice",  # the same figure gives the same file
    "svg.fonttype": "none",
}

#: Columns of the image of a wear map.
WEAR_COLUMNS_MAX = 1000

#: Figures with more bars than this carry no numbers on them.
LABELLED_BARS_MAX = 40


@dataclass(frozen=True)
class Frame:
    """What surrounds a figure's data.

    Attributes:
        title: what the figure shows, in words.
        y_label: quantity and unit of the y axis.
        reference: y of a dashed line to compare with, and its label.
        mark: index of a group set apart by a rule, such as a mean; None for none.
        digits: digits after the point of the numbers on bars.
    """

    title: str
    y_label: str
    reference: tuple[float, str] | None = None
    mark: int | None = None
    digits: int = 2


@dataclass(frozen=True)
class Bars:
    """Values by series and group; None leaves a gap."""

    groups: Sequence[str]
    series: Mapping[str, Sequence[float | None]]
    colours: Sequence[str] = field(default=COLOURS)


def grouped_bars(frame: Frame, bars: Bars, path: Path) -> list[Path]:
    """Bars beside each other, one group a workload. Writes `path`.png and `path`.svg."""
    with _style():
        figure, axes = _canvas(frame, len(bars.groups), len(bars.series))
        width = 0.8 / max(len(bars.series), 1)
        for place, values in enumerate(bars.series.values()):
            offset = (place - (len(bars.series) - 1) / 2) * width
            _bar_row(axes, [group + offset for group in range(len(bars.groups))], values, (width, bars.colours[place]))
            if len(bars.groups) * len(bars.series) <= LABELLED_BARS_MAX:
                _numbers_on_bars(axes, offset, values, frame.digits)
        _group_axis(axes, bars.groups, frame)
        _name_series(axes, list(bars.series), bars.colours)
        return _save(figure, path)


def stacked_bars(frame: Frame, bars: Bars, path: Path) -> list[Path]:
    """Bars made of parts, one bar a group, the total above it. Writes `path`.png and `path`.svg."""
    with _style():
        figure, axes = _canvas(frame, len(bars.groups) + 3, 1)
        bottom = [0.0] * len(bars.groups)
        totals = [sum(values[group] or 0.0 for values in bars.series.values()) for group in range(len(bars.groups))]
        tallest = max(totals, default=0.0) or 1.0
        for place, values in enumerate(bars.series.values()):
            heights = [value or 0.0 for value in values]
            axes.bar(
                range(len(bars.groups)),
                heights,
                0.6,
                bottom=bottom,
                color=bars.colours[place],
                edgecolor="white",
                linewidth=0.6,
            )
            for group, height in enumerate(heights):
                if height > 0.06 * tallest:
                    dark = place in (0, 2, 5, 7)
                    axes.text(
                        group, bottom[group] + height / 2, _number(height, frame.digits), ha="center", va="center",
                        fontsize=7.5, color="white" if dark else INK,
                    )  # fmt: skip
            bottom = [low + height for low, height in zip(bottom, heights, strict=True)]
        for group, total in enumerate(totals):
            axes.text(
                group,
                total + 0.015 * tallest,
                _number(total, frame.digits),
                ha="center",
                va="bottom",
                fontweight="bold",
            )
        _group_axis(axes, bars.groups, frame)
        _name_series(axes, list(bars.series), bars.colours, upward=True)
        return _save(figure, path)


def lines(frame: Frame, x: Sequence[float], series: Mapping[str, Sequence[float]], path: Path) -> list[Path]:
    """Lines over numbers, named at their right end. Writes `path`.png and `path`.svg."""
    with _style():
        figure, axes = _canvas(frame, 8, 1)
        for colour, (name, values) in zip(COLOURS, series.items(), strict=False):
            axes.plot(x, values, color=colour, linewidth=1.8, marker="o", markersize=4)
            axes.annotate(f" {name}", (x[-1], values[-1]), color=colour, va="center", fontweight="bold")
        axes.margins(x=0.02)
        axes.set_ylim(bottom=0)
        _reference_line(axes, frame)
        return _save(figure, path)


def panels(draw: Callable[[Any], None], path: Path) -> list[Path]:
    """Two rows of three axes, drawn by `draw` (an array of axes). Writes `path`.png and `path`.svg."""
    from matplotlib.figure import Figure

    with _style():
        figure = Figure(figsize=(10.5, 6.2), layout="constrained")
        draw(figure.subplots(2, 3))
        return _save(figure, path)


def wear_png(erases: np.ndarray[Any, Any]) -> bytes:
    """A wear map as an image: blocks from left to right, leaves from top to bottom, erases as colour.

    Args:
        erases: counts, a row for each block. More blocks than the image has columns are averaged.
    """
    import numpy as np

    group = -(-len(erases) // WEAR_COLUMNS_MAX)
    edges = np.arange(0, len(erases), group)
    sizes = np.diff([*edges, len(erases)])
    means = np.add.reduceat(erases.astype(float), edges) / sizes[:, None]
    with _style():
        figure, axes = _canvas(Frame("Erases of each leaf", "leaf"), 12, 1)
        axes.grid(visible=False)
        extent = (-0.5, len(erases) - 0.5, erases.shape[1] - 0.5, -0.5)
        image = axes.imshow(means.T, aspect="auto", interpolation="nearest", cmap="viridis", extent=extent)
        axes.set_xlabel("block" if group == 1 else f"block (means of {group})")
        figure.colorbar(image, label="erases")
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png")
        return buffer.getvalue()


@contextmanager
def _style() -> Iterator[None]:
    """The house style for as long as a figure is drawn and written."""
    # Loaded only where something is drawn: it takes longer to load than most commands to run.
    import matplotlib as mpl

    with mpl.rc_context(STYLE):
        yield


def _canvas(frame: Frame, groups: int, series: int) -> tuple[Figure, Axes]:
    """Axes wide enough for the groups, their bars and the title."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import StrMethodFormatter

    width = max(4.2, 1.6 + 0.60 * groups, 1.6 + 0.36 * groups * series, 1.0 + 0.09 * len(frame.title))
    figure = Figure(figsize=(min(width, 12.0), 3.6), layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(frame.title, pad=22 if series > 1 else 10)
    axes.set_ylabel(frame.y_label)
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    return figure, axes


def _bar_row(axes: Axes, places: list[float], values: Sequence[float | None], look: tuple[float, str]) -> None:
    width, colour = look
    shown = [(place, value) for place, value in zip(places, values, strict=True) if value is not None]
    axes.bar([place for place, _ in shown], [value for _, value in shown], width * 0.94, color=colour)


def _numbers_on_bars(axes: Axes, offset: float, values: Sequence[float | None], digits: int) -> None:
    halo = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}  # keeps the reference line off the numbers
    for group, value in enumerate(values):
        text, height = ("–", 0.0) if value is None else (_number(value, digits), value)
        axes.annotate(
            text, (group + offset, height), xytext=(0, 2.5), textcoords="offset points", ha="center", va="bottom",
            fontsize=7, bbox=halo,
        )  # fmt: skip


def _number(value: float, digits: int) -> str:
    if abs(value) >= 10_000:
        return f"{value / 1000:,.1f}k"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.{digits}f}"


def _group_axis(axes: Axes, groups: Sequence[str], frame: Frame) -> None:
    slanted = len(groups) > 4 and max(len(group) for group in groups) > 6
    axes.set_xticks(range(len(groups)), groups, rotation=35 if slanted else 0, ha="right" if slanted else "center")
    axes.set_xlim(-0.6, len(groups) - 0.4)
    axes.margins(y=0.12)
    if frame.mark is not None:
        axes.axvline(frame.mark - 0.5, color=GREY, linewidth=0.8)
        axes.get_xticklabels()[frame.mark].set_fontweight("bold")
    _reference_line(axes, frame)


def _reference_line(axes: Axes, frame: Frame) -> None:
    if frame.reference is None or not math.isfinite(frame.reference[0]):
        return
    level, label = frame.reference
    axes.axhline(level, color=INK, linewidth=0.9, linestyle=(0, (4, 3)))
    axes.annotate(
        label, (1.0, level), xycoords=("axes fraction", "data"), xytext=(3, 0), textcoords="offset points",
        va="center", fontsize=7.5, color=INK, annotation_clip=False,
    )  # fmt: skip


def _name_series(axes: Axes, names: list[str], colours: Sequence[str], *, upward: bool = False) -> None:
    """The names of the series beside a spot of their colours: in a row above the data, or stacked beside it."""
    if len(names) < 2:
        return
    right = 0.0
    for place, (name, colour) in enumerate(zip(names, colours, strict=False)):
        corner = (1.02, 0.02 + 0.105 * place) if upward else (0.0, 1.0)
        shift = (0.0, 0.0) if upward else (right, 6.0)
        for text, ink, indent in (("■", colour, 0.0), (name, INK, 12.0)):
            axes.annotate(
                text, corner, xycoords="axes fraction", xytext=(shift[0] + indent, shift[1]),
                textcoords="offset points", color=ink, fontsize=8.5, annotation_clip=False,
            )  # fmt: skip
        right += 12 + 5.6 * (len(name) + 3)


def _save(figure: Figure, path: Path) -> list[Path]:
    written = [path.with_name(f"{path.name}.png"), path.with_name(f"{path.name}.svg")]
    files.write_with(written[0], lambda file: figure.savefig(file, format="png"))
    files.write_with(written[1], lambda file: figure.savefig(file, format="svg", metadata={"Date": None}))
    return written
