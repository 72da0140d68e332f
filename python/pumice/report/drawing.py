"""Figures inside a page: SVG whose colours follow the page's theme, and whose points say their values.

Matplotlib draws them in the house style (`analysis.plots.style`). Each colour of the palette then becomes a variable
of the page's style sheet, so that one drawing serves light and dark.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

from pumice.analysis.plots.style import COLOURS, GREY, INK, PALE, STYLE, house_style, log_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Width of a figure in inches: the text stays readable where it is shrunk to the width of a phone.
WIDTH_IN = 5.4

#: SVG counts 72 units to the inch.
UNITS_PER_INCH = 72.0

#: Variable of the style sheet for each colour that the house style draws with.
VARIABLES: dict[str, str] = {
    **{colour.lower(): f"var(--series-{place})" for place, colour in enumerate(COLOURS)},
    INK.lower(): "var(--ink)",
    GREY.lower(): "var(--grey)",
    PALE.lower(): "var(--pale)",
    str(STYLE["grid.color"]).lower(): "var(--rule)",
    "#ffffff": "var(--paper)",
}

#: Markers and dashes by series, so that colour is not all that tells them apart.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.2)), (0, (6, 2, 1, 2)))

_STYLE: dict[Any, Any] = {"font.size": 9.5, "text.parse_math": False, "axes.labelsize": 9.5, "legend.fontsize": 9.0}


@dataclass(frozen=True)
class Series:
    """One curve: its name, its points, for each point the interval that it is uncertain by, or None, and what its
    place on the axis is called, where the axis has no tick that says it."""

    name: str
    x: Sequence[float]
    y: Sequence[float | None]
    intervals: Sequence[tuple[float, float] | None] = ()
    places: Sequence[str] = ()


@dataclass(frozen=True)
class Axis:
    """An axis: quantity and unit, whether it counts in logarithms, and its ticks if they have names."""

    label: str
    log: bool = False
    ticks: Mapping[float, str] = field(default_factory=dict)


@dataclass
class Drawing:
    """A figure under way, and the places in it that say a value when they are pointed at."""

    figure: Figure
    _places: list[tuple[Axes, Any, Any, str]] = field(default_factory=list)
    _boxes: list[tuple[Any, str]] = field(default_factory=list)

    def say(self, axes: Axes, x: float, y: float, text: str) -> None:
        """Makes a point of the data say `text`."""
        self._places.append((axes, x, y, text))

    def say_box(self, artist: Any, text: str) -> None:
        """Makes a bar say `text`."""
        self._boxes.append((artist, text))

    def svg(self, name: str, prefix: str) -> str:
        """The figure as an element of a page.

        Args:
            name: what it shows, for readers who do not see it.
            prefix: begins every id in it; unique in the page.
        """
        buffer = io.StringIO()
        self.figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
        text = buffer.getvalue()
        text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
        text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
        found = re.match(r'<svg[^>]*viewBox="([^"]+)"[^>]*>', text)
        assert found is not None, "matplotlib writes a view box"
        body = _themed(_with_prefix(text[found.end() :], prefix)).replace("</svg>", "").strip()
        head = f'<svg viewBox="{found[1]}" role="img" aria-label="{escape(name)}">'
        return f"{head}{_compact(body)}{''.join(self._hot_spots())}</svg>"

    def _hot_spots(self) -> Iterator[str]:
        """Invisible shapes over points and bars, each with a title that browsers show."""
        scale = UNITS_PER_INCH / self.figure.dpi
        height = self.figure.get_figheight() * UNITS_PER_INCH
        for axes, x, y, text in self._places:
            across, up = axes.transData.transform((x, y)) * scale
            place = f'cx="{across:.1f}" cy="{height - up:.1f}" r="5"'
            yield f'<circle class="spot" {place}><title>{escape(text)}</title></circle>'
        for artist, text in self._boxes:
            box = artist.get_window_extent()
            yield (
                f'<rect class="spot" x="{box.x0 * scale:.1f}" y="{height - box.y1 * scale:.1f}"'
                f' width="{max(box.width * scale, 1):.1f}" height="{max(box.height * scale, 1):.1f}">'
                f"<title>{escape(text)}</title></rect>"
            )


@contextmanager
def drawing(height: float = 3.1) -> Iterator[Drawing]:
    """An empty figure in the house style; finish it and take its SVG inside the block."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with house_style(), mpl.rc_context(_STYLE):
        yield Drawing(Figure(figsize=(WIDTH_IN, height), layout="constrained"))


def curves(drawn: Drawing, axes: Axes, series: Sequence[Series], x: Axis, y: Axis) -> None:
    """Draws curves with a dot on each point, an error bar where a point has an interval, and a legend."""
    for place, one in enumerate(series):
        shown = [(left, up) for left, up in zip(one.x, one.y, strict=True) if up is not None and (up > 0 or not y.log)]
        if not shown:
            continue
        colour, dense = COLOURS[place % len(COLOURS)], len(shown) > 60
        axes.plot(
            [left for left, _ in shown], [up for _, up in shown], color=colour, label=one.name,
            linewidth=1.2 if dense else 1.7, linestyle=DASHES[place % len(DASHES)],
            marker=None if dense else MARKERS[place % len(MARKERS)], markersize=4.5,
        )  # fmt: skip
        for left, interval in zip(one.x, one.intervals, strict=False):
            if interval is not None:
                axes.vlines(left, *interval, color=colour, linewidth=1.0)
        called = {**dict(zip(one.x, one.places, strict=False)), **x.ticks}
        for left, up in shown:
            where = called.get(left, f"{left:,.6g}")
            drawn.say(axes, left, up, f"{one.name}{', ' if one.name else ''}{where}: {up:,.4g}")
    _scale(axes, x, y)
    if len(series) > 1 or (series and series[0].name):
        legend(axes)


def legend(axes: Axes, *, across: bool = False) -> None:
    """The names of the series above the axes; `across` the whole figure, where names of rows leave the axes narrow."""
    handles, labels = axes.get_legend_handles_labels()
    if not handles:
        return
    longest = max(len(label) for label in labels)
    columns = max(1, min(len(labels), 64 // (longest + 8)))
    style: dict[str, Any] = {"ncols": columns, "frameon": False, "handlelength": 1.8, "columnspacing": 1.2}
    if across:
        axes.figure.legend(handles, labels, loc="outside upper left", **style)
    else:
        axes.legend(handles, labels, loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.2, **style)


def bars(drawn: Drawing, axes: Axes, values: Mapping[str, float], y: Axis, *, colour: int = 0, unit: str = "") -> None:
    """Draws one bar a name."""
    found = axes.bar(range(len(values)), list(values.values()), 0.72, color=COLOURS[colour])
    for bar, (name, value) in zip(found, values.items(), strict=True):
        drawn.say_box(bar, f"{name}: {value:,.4g}{unit}")
    slanted = len(values) > 4 and max(map(len, values)) > 5
    axes.set_xticks(
        range(len(values)), list(values), rotation=35 if slanted else 0, ha="right" if slanted else "center"
    )
    axes.set_ylabel(y.label)
    _plain_numbers(axes.yaxis)


def stacked_rows(drawn: Drawing, axes: Axes, rows: Sequence[str], parts: Mapping[str, Sequence[float]]) -> None:
    """Draws a bar a row, from left to right, made of parts; `parts` has a value a row."""
    left = [0.0] * len(rows)
    for place, (name, values) in enumerate(parts.items()):
        # White lines between the parts, and hatching from the second round of colours on, tell them apart.
        found = axes.barh(
            range(len(rows)), list(values), 0.62, left=left, color=COLOURS[place % 7], label=name,
            edgecolor="#FFFFFF", linewidth=0.8, hatch="///" if place >= 7 else None,
        )  # fmt: skip
        for bar, row, value in zip(found, rows, values, strict=True):
            drawn.say_box(bar, f"{row}, {name}: {value:,.4g}")
        left = [end + value for end, value in zip(left, values, strict=True)]
    axes.set_yticks(range(len(rows)), list(rows))
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.grid(visible=True, axis="x")
    _plain_numbers(axes.xaxis)
    legend(axes, across=True)


def _scale(axes: Axes, x: Axis, y: Axis) -> None:
    from matplotlib.ticker import NullLocator

    axes.set_xlabel(x.label)
    axes.set_ylabel(y.label)
    axes.margins(x=0.04)
    if x.log:
        axes.set_xscale("log")
    if x.ticks:
        axes.set_xticks(list(x.ticks), list(x.ticks.values()))
        axes.xaxis.set_minor_locator(NullLocator())
    else:
        _plain_numbers(axes.xaxis)
    if y.log:
        axes.set_yscale("log")
        log_ticks(axes)
    else:
        # `auto=None`: axes that share this scale are drawn later, and may need more room above.
        axes.set_ylim(bottom=0, auto=None)
    _plain_numbers(axes.yaxis)


def _plain_numbers(axis: Any) -> None:
    from matplotlib.ticker import StrMethodFormatter

    axis.set_major_formatter(StrMethodFormatter("{x:,.10g}"))


def _with_prefix(text: str, prefix: str) -> str:
    """SVG text whose ids, and references to them, begin with `prefix`."""
    text = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", text)
    return re.sub(r'xlink:href="#([^"]+)"', rf'href="#{prefix}-\1"', text)


def _themed(text: str) -> str:
    return re.sub(r"#[0-9a-f]{6}\b", lambda found: VARIABLES.get(found[0], found[0]), text)


def _compact(text: str) -> str:
    """SVG text without the line ends and coordinates' last digits that only make it longer."""
    text = re.sub(r"\n\s*", " ", text)
    text = re.sub(r'<g id="[^"]*-(?:patch|line2d|text|matplotlib\.axis|xtick|ytick)_\d+">', "<g>", text)
    # Coordinates are in 72nds of an inch: two decimals are finer than any screen. What is written stays as it is.
    shorter = partial(re.sub, r"(\d+\.\d{2})\d+", r"\1")
    return re.sub(r"<[^>]*>", lambda tag: shorter(tag[0]), text)
