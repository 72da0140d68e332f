"""`pumice plot`: a figure or table of one's own out of stored runs."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pumice import files
from pumice.cli.terminal import emit, note
from pumice.errors import SpecError
from pumice.outputs import FIGURE_KIND, output_file
from pumice.results.chosen_figure import Choice, Place, label, named, places, stored_runs
from pumice.results.grid_summary import value_text
from pumice.results.table_text import ENDINGS as TABLES
from pumice.results.table_text import table_text
from pumice.text import count, printable, unit_of_us

if TYPE_CHECKING:
    from pumice.analysis.plots import Curve, Limits, Scale

#: Endings of figures.
FIGURES = (".pdf", ".png", ".svg")

#: The least and the largest side of a figure, in inches.
INCHES = (1, 50)

#: The most values of x that have a tick each.
TICKS_MAX = 8

#: An axis whose largest value is as many times its least is logarithmic unless told otherwise.
LOG_FROM = 100.0


def plot_command(
    source: Annotated[Path, typer.Argument(metavar="DIR", help="Output of run, compare or sweep.")],
    *,
    x: Annotated[str, typer.Option("--x", metavar="NAME", help="Key of the spec, or field of the result.")],
    y: Annotated[
        list[str],
        typer.Option(
            "--y", metavar="NAME", help="Key or field with numbers, the mean over seeds; of several each has a panel."
        ),
    ],
    colour: Annotated[
        str | None, typer.Option("--colour", "--color", metavar="NAME", help="A curve for each value.")
    ] = None,
    panel: Annotated[
        str | None, typer.Option("--panel", metavar="NAME", help="A panel for each value of this.")
    ] = None,
    log: Annotated[
        Literal["auto", "none", "x", "y", "xy"],
        typer.Option("--log", help="Logarithmic axes; auto: where values span a factor of 100."),
    ] = "auto",
    xlim: Annotated[
        str | None, typer.Option("--xlim", metavar="LOW:HIGH", help="Ends of the x axis; `0:` sets one.")
    ] = None,
    ylim: Annotated[
        str | None, typer.Option("--ylim", metavar="LOW:HIGH", help="Ends of the y axis, in its unit.")
    ] = None,
    size: Annotated[
        str | None, typer.Option("--size", metavar="WxH", help="Width and height in inches, such as 3.3x2.5.")
    ] = None,
    title: Annotated[str | None, typer.Option("--title", metavar="TEXT", help="Title of the figure.")] = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help=f"Its ending decides: {', '.join([*FIGURES, *TABLES])}.")
    ] = Path("plot.svg"),
) -> None:
    """Draw stored runs: any key or field over any other, as a figure or a table."""
    if out.suffix not in (*FIGURES, *TABLES):
        raise SpecError(f"{out}: the ending decides what is written; allowed: {', '.join([*FIGURES, *TABLES])}")
    asked = Asked(title or "", _inches(size), log, _limits("--xlim", xlim), _limits("--ylim", ylim))
    names = [name.strip() for given in y for name in given.split(",")]
    if panel is not None and len(names) > 1:
        raise SpecError(f"--panel {printable(panel)} and {len(names)} of --y both make panels; allowed: one of them")
    runs = stored_runs(source)
    choices = list(dict.fromkeys(named(Choice(x, name, colour, panel), runs) for name in names))
    found = [(choice, places(runs, choice)) for choice in choices]
    with output_file(out, FIGURE_KIND if out.suffix in FIGURES else None):
        if out.suffix in TABLES:
            files.write_text(out, table_text(*table_of(found), out.suffix))
        else:
            _draw(found, asked, out)
    points = sum(len(places) for _, places in found)
    (note if files.is_stdout(out) else emit)(f"{count(points, 'point')} written to {out}")


@dataclass(frozen=True)
class Asked:
    """What is asked of a figure: title, size in inches, which axes are logarithmic, and where each begins and ends."""

    title: str
    size: tuple[float, float] | None
    log: str
    x_limits: Limits
    y_limits: Limits


def _draw(found: Sequence[tuple[Choice, Sequence[Place]]], asked: Asked, path: Path) -> None:
    """Draws the places of each choice: of one its panels, of several each as a panel."""
    from pumice.analysis.plots import Frame, line_panels  # loaded here: only figures need it

    (choice, _), *others = found
    drawn = [_panels(*one, asked) for one in found]
    y_label, panels, scale = drawn[0]
    frame = Frame(asked.title, "" if others else y_label, x_label=label(choice.x), size=asked.size)
    if others:
        own = {y_label: panels[""] for y_label, panels, _ in drawn}
        line_panels(frame, own, path, [scale for _, _, scale in drawn])
    else:
        line_panels(frame, panels, path, scale)


def _panels(choice: Choice, found: Sequence[Place], asked: Asked) -> tuple[str, dict[str, list[Curve]], Scale]:
    """Label of the y axis, curves by panel, and scale of the places of a choice."""
    from pumice.analysis.plots import Curve, Scale

    are_numbers = all(isinstance(place.x, int | float) for place in found)
    texts = [] if are_numbers else list(dict.fromkeys(value_text(place.x) for place in found))
    y_label, factor = _scaled(label(choice.y), max(place.mean for place in found))
    panels: dict[str, list[Curve]] = {}
    for panel, colour in dict.fromkeys((place.panel, place.colour) for place in found):
        own = [place for place in found if (place.panel, place.colour) == (panel, colour)]
        at = [float(place.x) if are_numbers else float(texts.index(value_text(place.x))) for place in own]
        ranges = [(min(place.values) / factor, max(place.values) / factor) for place in own]
        means = [place.mean / factor for place in own]
        name = f"{choice.panel.rpartition('.')[2]} = {panel}" if choice.panel else ""
        curve = Curve(colour, at, means, kind="line" if are_numbers else "points", ranges=ranges)
        panels.setdefault(name, []).append(curve)
    xs = sorted({x for curves in panels.values() for curve in curves for x in curve.x})
    scale = Scale(
        log_x=are_numbers and _is_log([*xs, *_given(asked.x_limits)], asked.log, "x"),
        log_y=_is_log([*(place.mean for place in found), *_given(asked.y_limits)], asked.log, "y"),
        ticks=xs if texts or len(xs) <= TICKS_MAX else None,
        tick_names=texts,
        x_limits=asked.x_limits,
        y_limits=asked.y_limits,
    )
    return y_label, panels, scale


def _limits(option: str, text: str | None) -> Limits:
    """The two ends of an axis; one that is left out follows the data."""
    low, colon, high = (text or ":").partition(":")
    try:
        ends = (float(low) if low else None, float(high) if high else None)
    except ValueError:
        colon = ""
        ends = (None, None)
    given = _given(ends)
    if not colon or not all(map(math.isfinite, given)) or (len(given) == 2 and given[0] >= given[1]):
        raise SpecError(f"{option} {printable(text or '')} is not allowed; allowed: LOW:HIGH, LOW: or :HIGH")
    return ends


def _given(limits: Limits) -> list[float]:
    return [end for end in limits if end is not None]


def _inches(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    found = re.fullmatch(r"(\d*\.?\d+)x(\d*\.?\d+)", text)
    size = (float(found[1]), float(found[2])) if found else (0.0, 0.0)
    if not all(INCHES[0] <= side <= INCHES[1] for side in size):
        raise SpecError(
            f"--size {printable(text)} is not allowed; allowed: WxH in inches, each from {INCHES[0]} to {INCHES[1]}"
        )
    return size


def _scaled(named: str, largest: float) -> tuple[str, float]:
    """A label with a unit of time that suits its largest value, and what the values are divided by."""
    if not named.endswith(", µs"):
        return named, 1.0
    unit, factor = unit_of_us(largest)
    return f"{named.removesuffix('µs')}{unit}", factor


def _is_log(values: Sequence[float], log: str, axis: str) -> bool:
    if log != "auto":
        if axis in log and log != "none" and min(values) <= 0:
            raise SpecError(
                f"--log {log}: a logarithmic {axis} axis needs values above 0; the least is {min(values):g}"
            )
        return axis in log and log != "none"
    return min(values) > 0 and max(values) >= LOG_FROM * min(values)


def table_of(found: Sequence[tuple[Choice, Sequence[Place]]]) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the points, a column a choice, which differ in y alone. Several runs of a point, which differ in
    their seed, have the least and the largest beside their mean."""
    repeated = any(len(place.values) > 1 for _, places in found for place in places)
    first, _ = found[0]
    names = [first.panel, first.colour]
    head = [label(name) for name in (*names, first.x) if name is not None]
    for choice, _ in found:
        head += [label(choice.y), *["least", "largest"] * repeated]
    columns = [{(place.panel, place.colour, place.x): place.values for place in places} for _, places in found]
    rows = []
    for panel, colour, x in dict.fromkeys(at for column in columns for at in column):
        lead = [text for name, text in zip(names, (panel, colour), strict=True) if name is not None]
        cells = [cell for column in columns for cell in _cells(column.get((panel, colour, x)), repeated=repeated)]
        rows.append([*lead, value_text(x), *cells])
    return head, rows


def _cells(values: Sequence[float] | None, *, repeated: bool) -> list[str]:
    """The mean of some values, and their least and largest; empty without any."""
    if values is None:
        return [""] * (3 if repeated else 1)
    spread = [f"{min(values):.6g}", f"{max(values):.6g}"] if repeated else []
    return [f"{sum(values) / len(values):.6g}", *spread]
