"""The parts of a report that show a sweep: a table by the varied keys, and lines over them."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from pumice.report.drawing import Axis, Series, curves, drawing, legend
from pumice.report.parts import Code, Download, Downloads, Figure, Figures, Heading, Line, Numbers, Part
from pumice.report.run_parts import configuration, how_made, sentence, spec_files
from pumice.results.comparison import METRICS, Metric, scale_of, value_label
from pumice.results.document import warnings_of_all
from pumice.results.grid_summary import FIRST_METRICS, OF_DEVICE, Point, Run, keys, points, table, value_text
from pumice.results.notes import notes_of_all, notes_of_seeds
from pumice.runs.grid import short_names
from pumice.runs.run_list import SweepFile
from pumice.text import count, printable

#: More lines in one axes, and more small axes in one figure, than this are not drawn.
LINES_MAX, PANELS_MAX = 7, 12

#: An axis whose largest value is as many times its least is logarithmic.
LOG_FROM = 100.0

#: Of more combinations than this, only the first ones' specs are put into the page; the sweep file has them all.
SPECS_MAX = 8


def sweep_parts(
    name: str,
    runs: Sequence[Run],
    about: Mapping[str, Any],
    prefix: str,
    *,
    file: SweepFile | None = None,
    metrics: Sequence[Metric] = METRICS,
) -> list[Part]:
    """The parts that show the runs of a sweep.

    Args:
        name: heading.
        runs: at least one of them with a document.
        about: how it was made (`pumice.made`); empty if nobody knows.
        prefix: begins names and ids of what is made here; unique in the page.
        file: the sweep file; None if the runs are of none.
        metrics: what table and figures show; all the table's, and the first few in figures, unless they were chosen.
    """
    found = points(runs)
    done = [point for point in found if point.documents]
    first = done[0].documents
    parts: list[Part] = [Heading(printable(name)), *_ends(done), Line(_what(runs, found))]
    parts += [Line(f"The first of them: {sentence(first)}")]
    named = [(run.label, run.document) for run in runs if run.document is not None]
    parts += [Line(warning, "warning") for warning in warnings_of_all(named)]
    seeds = notes_of_seeds((point.name(), point.documents) for point in done)
    parts += [Line(line, "note") for line in [*notes_of_all(named), *seeds]]
    parts += [Line(f"{run.label} failed: {run.error}", "warning") for run in runs if run.error is not None]
    head, rows = table(done, OF_DEVICE if metrics is METRICS else metrics)
    parts += [
        Heading("Every combination", 3),
        Line(_how_to_read(done)),
        Numbers(head, rows, "Every combination", sortable=True),
    ]
    parts.append(Downloads(Download.table(f"{prefix}-sweep.csv", "this table", head, rows)))
    wanted = FIRST_METRICS if metrics is METRICS else metrics
    drawn = [figure for metric in wanted if (figure := line_figure(done, metric, f"{prefix}-{metric.path}"))]
    if drawn:
        parts += [Heading("Figures", 3), Figures(drawn)]
    elif len(done) > 1:
        parts.append(Line(f"More lines or panels than can be read ({LINES_MAX} and {PANELS_MAX}): no figures."))
    return [*parts, *_reproduce(done, about, prefix, file)]


def _reproduce(done: Sequence[Point], about: Mapping[str, Any], prefix: str, file: SweepFile | None) -> list[Part]:
    """How to get the same numbers again: the command, and the files that it reads."""
    parts = how_made(about, [one for point in done for one in point.documents])
    if file is not None:
        parts.append(Code("With the sweep file below:", f"pumice sweep {shlex.quote(file.name)}"))
        parts.append(Downloads(Download.of(file.name, "the sweep file", file.text, "application/toml")))
    specs = [
        (f"every key of the combination {point.name()}, as a spec", point.documents[0]) for point in done[:SPECS_MAX]
    ]
    return [*parts, spec_files(specs, prefix), configuration(done[0].documents[0])]


def _ends(done: Sequence[Point]) -> list[Line]:
    """What came out: between which combinations the first metric that differs lies."""
    for metric in FIRST_METRICS:
        known = [
            (value.mean, _named(point, keys(done))) for point in done if (value := point.value(metric)) is not None
        ]
        if len({mean for mean, _ in known}) > 1:
            (least, where), (most, other) = min(known), max(known)
            scale = scale_of(metric, [least, most])
            text = f"{metric.label[0].upper()}{metric.label[1:]}: from {scale.text(least)} {scale.unit} with {where}"
            return [Line(f"{text} to {scale.text(most)} {scale.unit} with {other}.", "result")]
    return []


def _what(runs: Sequence[Run], found: Sequence[Point]) -> str:
    varied = ", ".join(keys(found)) or "nothing"
    failed = sum(run.document is None for run in runs)
    without = f", of which {failed:,} failed" if failed else ""
    return f"{count(len(runs), 'run')} of {count(len(found), 'combination')}{without}. What varies: {varied}."


def _how_to_read(done: Sequence[Point]) -> str:
    seeds = max(len(point.documents) for point in done)
    if seeds > 1:
        return f"Means over {seeds} seeds; ± is the 95 % confidence interval of the mean."
    return "One run each, so nothing says how much of a difference is chance."


def line_figure(done: Sequence[Point], metric: Metric, prefix: str) -> Figure | None:
    """A metric over the varied keys: along the axis the key with the most values (numbers before names), a line for
    each value of the next key, and small axes for the combinations of the rest. None if it does not vary, or if there
    are too many lines or axes to be read."""
    values = [point.value(metric) for point in done]
    if len({None if value is None else value.mean for value in values}) < 2:
        return None
    across, line, rest = _roles(done)
    panels: dict[str, list[Point]] = {}
    for point in done:
        panels.setdefault(_named(point, rest), []).append(point)
    lines = {value_text(point.varied.get(line)) for point in done} if line else {""}
    if len(panels) > PANELS_MAX or len(lines) > LINES_MAX:
        return None
    return Figure(
        _draw(panels, metric, (across, line), prefix),
        f"{metric.label[0].upper()}{metric.label[1:]} over {across}",
        _reading(done, line, rest),
        _numbers(done, metric),
    )


def _named(point: Point, named: Sequence[str]) -> str:
    """What some keys are in a combination, in short."""
    short = short_names(named)
    return " / ".join(value_label(short[key], value_text(point.varied.get(key))) for key in named)


def _reading(done: Sequence[Point], line: str | None, rest: Sequence[str]) -> str:
    text = "Each point is a combination." if max(len(point.documents) for point in done) < 2 else (
        "Each point is the mean over the seeds of a combination; the line through it is the 95 % confidence interval:"
        " what another choice of seeds would move the mean by. Two points differ for sure where their intervals lie"
        " apart. Where they overlap, they may still differ, because the runs of both have the same seeds:"
        " `pumice compare --repeat` compares seed by seed."
    )  # fmt: skip
    text += f" One line for each value of {line}." if line else ""
    return text + (f" One small figure for each value of {' and '.join(rest)}, all with the same axis." if rest else "")


def _roles(done: Sequence[Point]) -> tuple[str, str | None, list[str]]:
    """The key along the axis, the key whose values are lines, and the others."""
    named = keys(done)

    def rank(key: str) -> tuple[bool, int]:
        return _is_number(done, key), len({value_text(point.varied.get(key)) for point in done})

    across = max(named, key=rank)
    others = sorted((key for key in named if key != across), key=lambda key: rank(key)[1])
    # The key with the most values that can still be told apart in one figure makes the lines.
    fitting = [key for key in others if rank(key)[1] <= LINES_MAX]
    line = fitting[-1] if fitting else None
    return across, line, [key for key in named if key not in (across, line)]


def _is_number(done: Sequence[Point], key: str) -> bool:
    values = [point.varied.get(key) for point in done]
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _draw(panels: Mapping[str, Sequence[Point]], metric: Metric, how: tuple[str, str | None], prefix: str) -> str:
    columns = 1 if len(panels) == 1 else 2
    rows = math.ceil(len(panels) / columns)
    means = [value.mean for own in panels.values() for point in own if (value := point.value(metric)) is not None]
    scale, log = scale_of(metric, means), min(means) > 0 and max(means) >= LOG_FROM * min(means)
    with drawing(3.1 if len(panels) == 1 else 0.6 + 2.1 * rows) as drawn:
        grid = drawn.figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        everyone = [point for own in panels.values() for point in own]
        for axes, (title, own) in zip(grid.ravel(), panels.items(), strict=False):
            x, series = _series(everyone, own, (metric, scale.factor), how)
            label = f"{metric.label}, {scale.unit}" if scale.unit else metric.label
            curves(drawn, axes, series, x, Axis(label, log=log))
            if title:
                axes.set_title(title, fontsize=8.5, fontweight="normal", pad=4)
            if len(panels) > 1 and (own_legend := axes.get_legend()) is not None:
                own_legend.remove()
        if len(panels) > 1 and len(grid[0, 0].get_legend_handles_labels()[1]) > 1:
            legend(grid[0, 0], across=True)
        for axes in grid.ravel()[len(panels) :]:
            axes.set_axis_off()
        for axes in grid.ravel():
            axes.label_outer()
        return drawn.svg(f"{metric.label} over {how[0]}", prefix)


def _series(
    everyone: Sequence[Point], own: Sequence[Point], of: tuple[Metric, float], how: tuple[str, str | None]
) -> tuple[Axis, list[Series]]:
    """The axis along a figure, and the lines of one panel: a metric, divided by a factor."""
    (metric, factor), (across, line) = of, how
    names = list(dict.fromkeys(value_text(point.varied.get(across)) for point in everyone))
    places: dict[str, float] = {name: float(place) for place, name in enumerate(names)}
    log = False
    if _is_number(everyone, across):
        places = {value_text(point.varied[across]): float(point.varied[across]) for point in everyone}
        low, high = min(places.values()), max(places.values())
        log = low > 0 and high / low >= 20
    groups: dict[str, list[Point]] = {}
    for point in own:
        groups.setdefault(value_text(point.varied.get(line)) if line else "", []).append(point)
    series = []
    for name, members in groups.items():
        ordered = sorted(members, key=lambda point: places[value_text(point.varied.get(across))])
        found = [point.value(metric) for point in ordered]
        intervals = [
            ((value.mean - value.half_width) / factor, (value.mean + value.half_width) / factor)
            if value is not None and value.half_width is not None
            else None
            for value in found
        ]
        at = [places[value_text(point.varied.get(across))] for point in ordered]
        label = value_label(line.rpartition(".")[2], name) if line else ""
        series.append(Series(label, at, [None if value is None else value.mean / factor for value in found], intervals))
    return Axis(across, log=log, ticks={place: name for name, place in places.items()}), series


def _numbers(done: Sequence[Point], metric: Metric) -> Numbers:
    named = keys(done)
    rows = []
    for point in done:
        value = point.value(metric)
        if value is not None:
            spread = "" if value.half_width is None else f"{value.half_width:,.4g}"
            rows.append(
                [*(value_text(point.varied.get(key)) for key in named), f"{value.mean:,.6g}", spread, str(value.count)]
            )
    return Numbers([*named, metric.label, "± 95 %", "runs"], rows, metric.label)
