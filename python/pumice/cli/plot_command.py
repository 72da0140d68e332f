"""`pumice plot`: a figure or table of one's own out of stored runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from pumice import files
from pumice.cli.terminal import emit, note
from pumice.errors import SpecError
from pumice.outputs import FIGURE_KIND, output_file
from pumice.results.chosen_figure import Choice, Place, label, named, places, stored_runs
from pumice.results.grid_summary import value_text
from pumice.results.table_text import ENDINGS as TABLES
from pumice.results.table_text import table_text
from pumice.text import count, unit_of_us

#: Endings of figures.
FIGURES = (".pdf", ".png", ".svg")

#: The most values of x that have a tick each.
TICKS_MAX = 8

#: An axis whose largest value is as many times its least is logarithmic unless told otherwise.
LOG_FROM = 100.0


def plot_command(
    source: Annotated[Path, typer.Argument(metavar="DIR", help="Output of run, compare or sweep.")],
    *,
    x: Annotated[str, typer.Option("--x", metavar="NAME", help="Key of the spec, or field of the result.")],
    y: Annotated[
        str, typer.Option("--y", metavar="NAME", help="Key or field with numbers; the mean over seeds is drawn.")
    ],
    colour: Annotated[str | None, typer.Option("--colour", metavar="NAME", help="A curve for each value.")] = None,
    panel: Annotated[
        str | None, typer.Option("--panel", metavar="NAME", help="A panel for each value of this.")
    ] = None,
    log: Annotated[
        Literal["auto", "none", "x", "y", "xy"],
        typer.Option("--log", help="Logarithmic axes; auto: where values span a factor of 100."),
    ] = "auto",
    title: Annotated[str | None, typer.Option("--title", metavar="TEXT", help="Title of the figure.")] = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help=f"Its ending decides: {', '.join([*FIGURES, *TABLES])}.")
    ] = Path("plot.svg"),
) -> None:
    """Draw stored runs: any key or field over any other, as a figure or a table."""
    if out.suffix not in (*FIGURES, *TABLES):
        raise SpecError(f"{out}: the ending decides what is written; allowed: {', '.join([*FIGURES, *TABLES])}")
    runs = stored_runs(source)
    choice = named(Choice(x, y, colour, panel), runs)
    found = places(runs, choice)
    with output_file(out, FIGURE_KIND if out.suffix in FIGURES else None):
        if out.suffix in TABLES:
            files.write_text(out, table_text(*table_of(found, choice), out.suffix))
        else:
            _draw(found, choice, log, (title or "", out))
    (note if files.is_stdout(out) else emit)(f"{count(len(found), 'point')} written to {out}")


def _draw(found: Sequence[Place], choice: Choice, log: str, target: tuple[str, Path]) -> None:
    from pumice.analysis.plots import Curve, Frame, Scale, line_panels  # loaded here: only figures need it

    title, path = target
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
        log_x=are_numbers and _is_log(xs, log, "x"),
        log_y=_is_log([place.mean for place in found], log, "y"),
        ticks=xs if texts or len(xs) <= TICKS_MAX else None,
        tick_names=texts,
    )
    line_panels(Frame(title, y_label, x_label=label(choice.x)), panels, path, scale)


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


def table_of(found: Sequence[Place], choice: Choice) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the points. Several runs of a point, which differ in their seed, have the least and the largest
    beside their mean."""
    repeated = any(len(place.values) > 1 for place in found)
    names = [choice.panel, choice.colour]
    head = [
        *(label(name) for name in (*names, choice.x, choice.y) if name is not None),
        *["least", "largest"] * repeated,
    ]
    rows = []
    for place in found:
        lead = [text for name, text in zip(names, (place.panel, place.colour), strict=True) if name is not None]
        spread = [f"{min(place.values):.6g}", f"{max(place.values):.6g}"] if repeated else []
        rows.append([*lead, value_text(place.x), f"{place.mean:.6g}", *spread])
    return head, rows
