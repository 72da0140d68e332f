"""Recovery time against the size of the device, by method."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from pumice.analysis import plots
from pumice.analysis.plots import Frame
from pumice.results.document import number
from pumice.runs.jobs import Outcome
from pumice_papers.figures import Drawing, Findings, figure

METHOD = "ftl.recovery"
METHODS = ("scan", "summary", "checkpoint")

#: Commands that a start gives: words → path in the document.
COMMANDS = {
    "spare areas read": "power.spare_reads",
    "pages read": "power.page_reads",
    "pages programmed": "power.recovery_programs",
    "blocks erased": "power.recovery_erases",
}

GIB = float(1 << 30)


def raw_gib(outcome: Outcome) -> float:
    """Raw capacity of a run's device."""
    raw = number(outcome.document, "device.raw_bytes")
    return 0.0 if raw is None else raw / GIB


def seconds(outcome: Outcome) -> float | None:
    """Recovery time of a run."""
    mean = number(outcome.document, "power.recovery_us.mean")
    return None if mean is None else mean / 1e6


def of_method(outcomes: Sequence[Outcome], method: str) -> list[Outcome]:
    """The runs with a method, the smallest device first."""
    return sorted((one for one in outcomes if one.job.varied.get(METHOD) == method), key=raw_gib)


def _figure(drawing: Drawing, outcomes: Sequence[Outcome]) -> Findings:
    rows: list[list[Any]] = []
    curves = []
    for method in METHODS:
        runs = of_method(outcomes, method)
        curves.append(plots.Curve(method, [raw_gib(run) for run in runs], [seconds(run) for run in runs]))
        rows += [
            [method, raw_gib(run), seconds(run), *(number(run.document, path) for path in COMMANDS.values())]
            for run in runs
        ]
    drawing.write_csv(["method", "raw GiB", "recovery, s", *COMMANDS], rows)
    plots.lines(drawing.frame, curves, drawing.file(), plots.Scale(log_x=True, log_y=True, from_zero=False))
    largest = max((row[1] for row in rows if row[0] == METHODS[0]), default=0.0)
    counts = {row[0]: row[3:] for row in rows if row[1] == largest}
    bars = plots.Bars(list(COMMANDS), {method: counts.get(method, [None] * len(COMMANDS)) for method in METHODS})
    frame = dataclasses.replace(
        drawing.frame, title=f"Commands of a recovery, {largest:,.0f} GiB", y_label="pages or blocks", x_label=None
    )
    plots.grouped_bars(dataclasses.replace(frame, digits=0), bars, drawing.file("-commands"))
    return {}


@figure(
    frame=Frame("Recovery time against size", "time until the host is served, s", x_label="raw capacity, GiB"),
    studies=("one-die", "dies"),
)
def figure_recovery_time(drawing: Drawing) -> Findings:
    """Recovery time and commands by method and size."""
    return _figure(drawing, [*drawing.runs.outcomes("one-die"), *drawing.runs.outcomes("dies")])


@figure(
    frame=Frame("Recovery time up to 4 TiB", "time until the host is served, s", x_label="raw capacity, GiB"),
    studies=("one-die", "dies", "largest"),
)
def figure_largest(drawing: Drawing) -> Findings:
    """The same with the device of 4 TiB."""
    names = ("one-die", "dies", "largest")
    return _figure(drawing, [outcome for name in names for outcome in drawing.runs.outcomes(name)])
