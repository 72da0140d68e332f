"""Bars: beside each other, stacked, and stacked in several panels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pumice.analysis.plots.style import (
    COLOURS,
    GREY,
    INK,
    Frame,
    Range,
    blank_figure,
    house_style,
    number,
    reference_line,
    save,
    thousands,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Figures with more bars than this carry no numbers on them.
LABELLED_BARS_MAX = 40

#: Colours on which white letters are read best.
_DARK = (COLOURS[0], COLOURS[2], COLOURS[5], COLOURS[7], GREY)


@dataclass(frozen=True)
class Bars:
    """Values by series and group; None leaves a gap.

    Attributes:
        ranges: by series, a range for each group that is drawn as a line on the bar. Stacked bars have
            the ranges of their totals under the name "total".
    """

    groups: Sequence[str]
    series: Mapping[str, Sequence[float | None]]
    colours: Sequence[str] = field(default=COLOURS)
    ranges: Mapping[str, Sequence[Range | None]] = field(default_factory=dict)


def grouped_bars(frame: Frame, bars: Bars, path: Path) -> list[Path]:
    """Bars beside each other, in groups. Writes `path`.png and `path`.svg."""
    with house_style():
        figure, axes = _canvas(frame, len(bars.groups), len(bars.series))
        width = 0.8 / max(len(bars.series), 1)
        for place, (name, values) in enumerate(bars.series.items()):
            offset = (place - (len(bars.series) - 1) / 2) * width
            places = [group + offset for group in range(len(bars.groups))]
            _bar_row(axes, places, values, (width, bars.colours[place]))
            tops = _range_lines(axes, places, values, bars.ranges.get(name))
            if len(bars.groups) * len(bars.series) <= LABELLED_BARS_MAX:
                _numbers_on_bars(axes, places, values, (tops, frame.digits))
        _group_axis(axes, bars.groups, frame)
        _name_series(axes, list(bars.series), bars.colours)
        return save(figure, path)


def stacked_bars(frame: Frame, bars: Bars, path: Path) -> list[Path]:
    """Bars made of parts, one bar a group, the total above it. Writes `path`.png and `path`.svg."""
    with house_style():
        figure, axes = _canvas(frame, len(bars.groups) + 3, 1)
        _stack(axes, bars, frame.digits)
        _group_axis(axes, bars.groups, frame)
        _name_series(axes, list(bars.series), bars.colours, upward=True)
        return save(figure, path)


def stacked_panels(frame: Frame, panels: Mapping[str, Bars], path: Path) -> list[Path]:
    """Stacked bars in a panel for each name, each with a scale of its own; all have the same series and as
    many groups. Only totals are written on the bars. Writes `path`.png and `path`.svg."""
    columns = min(4, len(panels))
    rows = -(-len(panels) // columns)
    with house_style():
        figure = blank_figure(0.6 + 2.7 * columns, 0.9 + 2.3 * rows)
        figure.suptitle(frame.title, x=0.01, ha="left", fontsize=10.5, fontweight="bold")
        figure.supylabel(frame.y_label, fontsize=9)
        for place, (name, bars) in enumerate(panels.items()):
            axes = figure.add_subplot(rows, columns, place + 1)
            axes.set_title(name, fontsize=9)
            _stack(axes, bars, frame.digits, parts=False)
            _group_axis(axes, bars.groups, Frame("", ""))
            thousands(axes.yaxis)
        _key(figure, next(iter(panels.values())), frame.x_label)
        return save(figure, path)


def _stack(axes: Axes, bars: Bars, digits: int, *, parts: bool = True) -> None:
    """Draws stacked bars with their totals, and numbers on the larger parts if `parts`."""
    bottom = [0.0] * len(bars.groups)
    totals = [sum(values[group] or 0.0 for values in bars.series.values()) for group in range(len(bars.groups))]
    tallest = max(totals, default=0.0) or 1.0
    for place, values in enumerate(bars.series.values()):
        heights = [value or 0.0 for value in values]
        look: dict[str, Any] = {"color": bars.colours[place], "edgecolor": "white", "linewidth": 0.6 if parts else 0.0}
        shown = [group for group, height in enumerate(heights) if height]  # an empty part would make the axis end at it
        axes.bar(
            shown, [heights[group] for group in shown], 0.6 if parts else 0.75,
            bottom=[bottom[group] for group in shown], **look,
        )  # fmt: skip
        for group, height in enumerate(heights):
            if parts and height > 0.06 * tallest:
                axes.text(
                    group, bottom[group] + height / 2, number(height, digits), ha="center", va="center",
                    fontsize=7.5, color="white" if bars.colours[place] in _DARK else INK,
                )  # fmt: skip
        bottom = [low + height for low, height in zip(bottom, heights, strict=True)]
    tops = _range_lines(axes, list(range(len(bars.groups))), totals, bars.ranges.get("total"))
    for group, (total, top) in enumerate(zip(totals, tops, strict=True)):
        axes.text(
            group, top + 0.015 * tallest, number(total, digits), ha="center", va="bottom",
            fontweight="bold", fontsize=9 if parts else 7,
        )  # fmt: skip


def _key(figure: Figure, bars: Bars, x_label: str | None) -> None:
    """The name of the x axes, and below it those of the series in a row, below the panels."""
    from matplotlib.patches import Patch

    patches = [Patch(color=colour, label=name) for name, colour in zip(bars.series, bars.colours, strict=False)]
    figure.legend(
        handles=patches, loc="outside lower center", ncols=len(patches), frameon=False, fontsize=8.5,
        title=x_label, title_fontsize=9,
    )  # fmt: skip


def _canvas(frame: Frame, groups: int, series: int) -> tuple[Figure, Axes]:
    """Axes wide enough for the groups, their bars and the title."""
    width = max(4.2, 1.6 + 0.60 * groups, 1.6 + 0.36 * groups * series, 1.0 + 0.09 * len(frame.title))
    figure = blank_figure(min(width, 12.0), 3.6)
    axes = figure.add_subplot()
    axes.set_title(frame.title, pad=22 if series > 1 else 10)
    axes.set_ylabel(frame.y_label)
    thousands(axes.yaxis)
    return figure, axes


def _bar_row(axes: Axes, places: list[float], values: Sequence[float | None], look: tuple[float, str]) -> None:
    width, colour = look
    shown = [(place, value) for place, value in zip(places, values, strict=True) if value is not None]
    axes.bar([place for place, _ in shown], [value for _, value in shown], width * 0.94, color=colour)


def _range_lines(
    axes: Axes, places: Sequence[float], values: Sequence[float | None], ranges: Sequence[Range | None] | None
) -> list[float]:
    """Draws the ranges of a row of bars, where they have a length; the top of each bar with its line."""
    tops = [value or 0.0 for value in values]
    for place, found in enumerate(ranges or []):
        if found is not None and found[1] > found[0]:
            axes.vlines(places[place], *found, color=INK, linewidth=0.9)
            tops[place] = max(tops[place], found[1])
    return tops


def _numbers_on_bars(
    axes: Axes, places: Sequence[float], values: Sequence[float | None], how: tuple[Sequence[float], int]
) -> None:
    """Writes the values above the tops of their bars, with as many digits as `how` says second."""
    tops, digits = how
    halo = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}  # keeps the reference line off the numbers
    for place, value in enumerate(values):
        text = "–" if value is None else number(value, digits)
        axes.annotate(
            text, (places[place], tops[place]), xytext=(0, 2.5), textcoords="offset points", ha="center", va="bottom",
            fontsize=7, bbox=halo,
        )  # fmt: skip


def _group_axis(axes: Axes, groups: Sequence[str], frame: Frame) -> None:
    slanted = len(groups) > 4 and max(len(group) for group in groups) > 6
    axes.set_xticks(range(len(groups)), groups, rotation=35 if slanted else 0, ha="right" if slanted else "center")
    axes.set_xlim(-0.6, len(groups) - 0.4)
    axes.margins(y=0.12)
    axes.set_xlabel(frame.x_label or "")
    if frame.mark is not None:
        axes.axvline(frame.mark - 0.5, color=GREY, linewidth=0.8)
        axes.get_xticklabels()[frame.mark].set_fontweight("bold")
    reference_line(axes, frame)


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
