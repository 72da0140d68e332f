"""Lines and points over numbers, named at their right end."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pumice.analysis.plots.style import (
    COLOURS,
    GREY,
    PALE,
    Frame,
    Range,
    blank_figure,
    house_style,
    log_ticks,
    reference_line,
    save,
    thousands,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Least distance between two names, in points.
_NAME_GAP_PT = 9.5


@dataclass(frozen=True)
class Curve:
    """One line or row of points.

    Attributes:
        name: written at its right end; an empty one is left out.
        x, y: its points; where y is None there is none.
        kind: "line" with a dot on each point, "plain" line without, "points" alone, or "pale" for a
            line in the background.
        colour: place in the palette; None takes the next one.
        ranges: for each point, the least and the largest of what it is the mean of, drawn as a line.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float | None]
    kind: Literal["line", "plain", "points", "pale"] = "line"
    colour: int | None = None
    ranges: Sequence[Range | None] = ()


#: Where an axis begins and ends; None where the data decide.
Limits = tuple[float | None, float | None]


@dataclass(frozen=True)
class Scale:
    """How the axes count: logarithms, ticks at given values of x and what stands there if not the value, whether y
    begins at 0, and where they begin and end."""

    log_x: bool = False
    log_y: bool = False
    ticks: Sequence[float] | None = None
    tick_names: Sequence[str] = ()
    from_zero: bool = True
    x_limits: Limits = (None, None)
    y_limits: Limits = (None, None)


@dataclass(frozen=True)
class _End:
    """The points of a curve, and how its name is written at the last one that is seen."""

    name: str
    points: Sequence[tuple[float, float]]
    colour: str
    bold: bool


def lines(frame: Frame, curves: Sequence[Curve], path: Path, scale: Scale | None = None) -> list[Path]:
    """Draws the curves, pale ones first. Writes `path`.png and `path`.svg, or `path` alone if it ends in .pdf, .png or
    .svg."""
    return line_panels(frame, {"": curves}, path, scale)


def line_panels(
    frame: Frame,
    panels: Mapping[str, Sequence[Curve]],
    path: Path,
    scale: Scale | Sequence[Scale] | None = None,
) -> list[Path]:
    """Draws the curves of each panel beside each other, with one y axis, or each with its own if there is a scale for
    each. Files as `lines` writes them."""
    scales = [scale or Scale()] * len(panels) if scale is None or isinstance(scale, Scale) else scale
    width = max(5.6 if len(panels) == 1 else 3.6 * len(panels), 1.2 + 0.085 * len(frame.title))
    with house_style():
        figure = blank_figure(*(frame.size or (width, 3.6)))
        every = figure.subplots(1, len(panels), sharey=scales is not scale, squeeze=False)[0]
        every[0].set_ylabel(frame.y_label)
        named = []
        for axes, (name, curves), scale in zip(every, panels.items(), scales, strict=True):
            axes.set_title(name or frame.title, pad=10)
            axes.set_xlabel(frame.x_label or "")
            named.append([_draw(axes, curve, colour) for curve, colour in _coloured(curves)])
            reference_line(axes, frame, inside=True)
            _set_scale(axes, scale)
        if len(panels) > 1:
            figure.suptitle(frame.title, x=0.01, ha="left", fontsize=10.5, fontweight="bold")
        for axes, scale in zip(every, scales, strict=True):
            _set_limits(axes, scale)
        figure.draw_without_rendering()  # fixes the limits, by which names are kept apart
        for axes, ends in zip(every, named, strict=True):
            _name_ends(axes, [entry for entry in ends if entry is not None])
        return save(figure, path, follows_theme=True)


def _coloured(curves: Sequence[Curve]) -> list[tuple[Curve, str]]:
    """Curves with their colours, those in the background first."""
    found: list[tuple[Curve, str]] = []
    free = 0
    for curve in curves:
        if curve.kind == "pale":
            found.append((curve, PALE))
            continue
        place = free if curve.colour is None else curve.colour
        free = max(free, place + 1)
        found.append((curve, COLOURS[place % len(COLOURS)]))
    return sorted(found, key=lambda pair: pair[0].kind != "pale")


def _draw(axes: Axes, curve: Curve, colour: str) -> _End | None:
    """Draws a curve; its name, last point and colour if it has a name to write."""
    shown = [(x, y) for x, y in zip(curve.x, curve.y, strict=True) if y is not None and math.isfinite(y)]
    if not shown:
        return None
    looks: dict[str, dict[str, Any]] = {
        "line": {"linewidth": 1.8, "marker": "o", "markersize": 4},
        "plain": {"linewidth": 1.4},
        "points": {"linestyle": "none", "marker": "o", "markersize": 5, "markeredgecolor": "white"},
        "pale": {"linewidth": 1.0},
    }
    axes.plot([x for x, _ in shown], [y for _, y in shown], color=colour, **looks[curve.kind])
    for x, found in zip(curve.x, curve.ranges, strict=False):
        if found is not None and found[1] > found[0]:
            axes.vlines(x, *found, color=colour, linewidth=1.0)
    ink = GREY if curve.kind == "pale" else colour
    return _End(curve.name, shown, ink, bold=curve.kind != "pale") if curve.name else None


def _set_scale(axes: Axes, scale: Scale) -> None:
    from matplotlib.ticker import NullLocator

    axes.margins(x=0.02)
    if scale.log_x:
        axes.set_xscale("log", base=2)
    if scale.log_y:
        axes.set_yscale("log")
    elif scale.from_zero:
        # No dot at the top is cut. Without any, the highest value is infinite.
        top = 1.03 * axes.dataLim.ymax
        axes.set_ylim(0, max(axes.get_ylim()[1], top if math.isfinite(top) else 0.0))
    if scale.ticks is not None:
        axes.set_xticks(list(scale.ticks))
        axes.xaxis.set_minor_locator(NullLocator())
        thousands(axes.xaxis)
        if scale.tick_names:
            axes.set_xticklabels(list(scale.tick_names))
            axes.set_xlim(scale.ticks[0] - 0.5, scale.ticks[-1] + 0.5)
    thousands(axes.yaxis)


def _set_limits(axes: Axes, scale: Scale) -> None:
    if scale.x_limits != (None, None):
        axes.set_xlim(*scale.x_limits)
    if scale.y_limits != (None, None):
        axes.set_ylim(*scale.y_limits)
    if scale.log_y:
        log_ticks(axes)


def _name_ends(axes: Axes, ends: Sequence[_End]) -> None:
    """Writes each name beside its curve's last point that is seen, pushed up where it would lie on another."""
    figure = axes.get_figure()
    dots_a_point = (figure.dpi if figure is not None else 72.0) / 72.0
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    seen = [(end, [(x, y) for x, y in end.points if left <= x <= right and bottom <= y <= top]) for end in ends]
    lowest: dict[float, float] = {}
    for end, at in sorted(((end, points[-1]) for end, points in seen if points), key=lambda pair: pair[1][1]):
        height = float(axes.transData.transform(at)[1]) / dots_a_point
        above = 0.0 if at == end.points[-1] else _NAME_GAP_PT  # of a curve that goes on
        place = max(height + above, lowest.get(at[0], -math.inf) + _NAME_GAP_PT)
        lowest[at[0]] = place
        axes.annotate(
            end.name, at, xytext=(6, place - height), textcoords="offset points", color=end.colour,
            va="center", fontweight="bold" if end.bold else "normal", fontsize=8, annotation_clip=False,
        )  # fmt: skip
