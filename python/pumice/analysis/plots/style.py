"""The house style of every figure: colours, type, frame, and how a figure is written.

Each figure is written as PNG (160 dpi) and SVG beside each other. Colours are those of Okabe and
Ito, which stay apart for colour-blind readers; series are named where they are, not in a key.
The SVG of a line figure turns dark where its reader prefers dark.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pumice import files

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
GREY = "#8A8A8A"
PALE = "#C9C9C9"
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

#: Endings of the formats of figures, and what keeps the day out of a file: the same figure gives the same file.
ENDINGS = (".pdf", ".png", ".svg")
_UNDATED: dict[str, dict[str, None]] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}


#: Colours on a dark page: of paper, ink, frame, pale lines and grid, and of the series.
DARK = {
    "#FFFFFF": "#14171A", INK: "#E4E7EA", GREY: "#98A0A8", PALE: "#767E86", "#E4E4E4": "#33393F",
    **dict(zip(COLOURS, ("#56B4E9", "#F0A830", "#2FC79B", "#E29CC4", "#8FD0F5", "#FF8B4D", "#E8DC4A", "#FFFFFF"),
               strict=True)),
}  # fmt: skip


#: The least and the largest of what a bar or a point is the mean of.
Range = tuple[float, float]


@dataclass(frozen=True)
class Frame:
    """What surrounds a figure's data.

    Attributes:
        title: what the figure shows, in words.
        y_label: quantity and unit of the y axis.
        reference: y of a dashed line to compare with, and its label.
        mark: index of a group set apart by a rule, such as a mean; None for none.
        digits: digits after the point of the numbers on bars.
        x_label: quantity and unit of the x axis, where it is one; what holds for all groups, below bars.
        size: width and height in inches; None for what the data need.
    """

    title: str
    y_label: str
    reference: tuple[float, str] | None = None
    mark: int | None = None
    digits: int = 2
    x_label: str | None = None
    size: tuple[float, float] | None = None


@contextmanager
def house_style() -> Iterator[None]:
    """The house style for as long as a figure is drawn and written."""
    # Loaded only where something is drawn: it takes longer to load than most commands to run.
    import matplotlib as mpl

    with mpl.rc_context(STYLE):
        yield


def blank_figure(width: float, height: float) -> Figure:
    """A figure of a size in inches whose parts make room for each other."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def thousands(axis: Any) -> None:
    """Tick labels as plain numbers, with commas between thousands."""
    from matplotlib.ticker import StrMethodFormatter

    axis.set_major_formatter(StrMethodFormatter("{x:,g}"))


def log_ticks(axes: Axes) -> None:
    """Ticks of a logarithmic y axis: at 1, 2 and 5 of each decade, or over many decades at 1."""
    from matplotlib.ticker import LogLocator, NullFormatter

    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 500 * low else (1.0,)))
    axes.yaxis.set_minor_formatter(NullFormatter())


def number(value: float, digits: int) -> str:
    """A value as it stands on a bar or point. A count (an `int`) has no digits after the point."""
    if abs(value) >= 10_000:
        return f"{value / 1000:,.1f}k"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.{digits}f}"


def reference_line(axes: Axes, frame: Frame, *, inside: bool = False) -> None:
    """Draws the line that a frame compares with, if it has one; its label stands at its right end,
    or `inside` the axes above its left end, where the right side is taken."""
    if frame.reference is None or not math.isfinite(frame.reference[0]):
        return
    level, label = frame.reference
    axes.axhline(level, color=INK, linewidth=0.9, linestyle=(0, (4, 3)))
    axes.annotate(
        label, (0.0 if inside else 1.0, level), xycoords=("axes fraction", "data"), xytext=(3, 2 if inside else 0),
        textcoords="offset points", va="bottom" if inside else "center", fontsize=7.5, color=INK,
        annotation_clip=False,
    )  # fmt: skip


def save(figure: Figure, path: Path, *, follows_theme: bool = False) -> list[Path]:
    """Writes `path`.png and `path`.svg, or `path` alone if it has an ending of `ENDINGS`.

    An SVG that `follows_theme` takes the colours of `DARK` on a dark page; letters on filled areas would then be hard
    to read, so only figures without such letters do.
    """
    both = [path.with_name(f"{path.name}{ending}") for ending in (".png", ".svg")]
    wanted = [path] if path.suffix in ENDINGS else both
    for file in wanted:
        drawn = io.BytesIO()
        figure.savefig(drawn, format=file.suffix[1:], metadata=_UNDATED.get(file.suffix))
        content = drawn.getvalue()
        if follows_theme and file.suffix == ".svg":
            content = with_dark_colours(content.decode("utf-8")).encode("utf-8")
        with files.atomic(file) as out:
            out.write(content)
    return wanted


def with_dark_colours(svg: str) -> str:
    """An SVG of the house style with a style sheet that gives it dark colours where its reader prefers dark."""
    rules = "".join(
        f'[style*="{what}: {light.lower()}"]{{{what}: {dark.lower()} !important}}'
        for light, dark in DARK.items()
        for what in ("fill", "stroke")
    )
    return svg.replace("</style>", f"@media (prefers-color-scheme: dark) {{{rules}}}</style>", 1)
