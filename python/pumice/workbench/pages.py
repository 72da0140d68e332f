"""The pages of the workbench: the list of runs, one run, two and more side by side, and a slow request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlencode

from pumice.errors import SpecError
from pumice.outputs import FILES
from pumice.report.comparison_parts import comparison_parts
from pumice.report.drawing import drawing, legend
from pumice.report.page import page_text
from pumice.report.parts import Figure, Figures, Heading, Line, LinkedRow, LinkedTable, Numbers, Part
from pumice.report.run_parts import run_parts
from pumice.report.timeline_figure import KIND_COLOURS
from pumice.results.comparison import METRICS, Metric
from pumice.results.document import number, subject
from pumice.results.grid_summary import FIRST
from pumice.text import count, duration_us, printable, unit_of_us
from pumice.workbench import tail
from pumice.workbench.listed import ListedRun, Listing, as_variants
from pumice.workbench.tail import Delay, DieCommand, LoggedRequest

#: What a page of the workbench can be asked for: its path and its parameters.
Query = Mapping[str, Sequence[str]]

#: How the logs are asked for that a slow request is followed through.
_LOGS = "--set output.request_log=true --set output.command_log=true"


class Workbench:
    """The pages on a folder. They are made when they are asked for, and nothing is written.

    Raises:
        SpecError: the folder holds no results that can be read.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._listing = Listing(folder)
        runs, faults = self._listing.runs()
        if not runs:
            raise SpecError(
                f"{folder}: holds no results to show{f' ({faults[0]})' if faults else ''}; expected outputs of run,"
                " compare or sweep, made with --out"
            )

    def page(self, path: str, query: Query) -> str | None:
        """The page at a path; None if there is none.

        Raises:
            SpecError: what is asked for is not there, or cannot be read.
        """
        pages = {"/": self._list, "/run": self._run, "/compare": self._compare, "/tail": self._tail}
        pages["/request"] = self._request
        return pages[path](query) if path in pages else None

    def _list(self, _query: Query) -> str:
        runs, faults = self._listing.runs()
        shown = [metric for metric in METRICS if metric.path in FIRST]
        head = ["run", "what was run", *(metric.label for metric in shown), "tail"]
        rows = [
            LinkedRow(
                [one.name, subject(one.document), *(_value(one, metric) for metric in shown)],
                _address("/run", one),
                one.id,
                (("follow", _address("/tail", one)) if tail.has_logs(one.directory) else None),
            )
            for one in runs
        ]
        parts: list[Part] = [Line(fault, "warning") for fault in faults]
        parts.append(
            Line(f"{count(len(runs), 'run')}. Choose two or more, and compare them; seeds of one spec are joined.")
        )
        parts.append(LinkedTable(head, rows, "/compare", "Compare the chosen runs"))
        return page_text(f"Runs in {printable(self._folder.name)}", [str(self._folder)], parts)

    def _run(self, query: Query) -> str:
        (run,) = self._chosen(query, 1)
        parts = run_parts(run.name, [dict(run.document)], run.directory, "run")
        link = LinkedTable([], [LinkedRow(["Slow requests, and what delayed them"], _address("/tail", run))])
        about = link if tail.has_logs(run.directory) else Line(f"To follow slow requests, run it with {_LOGS}.")
        return self._shown([parts[0], about, *parts[1:]])

    def _compare(self, query: Query) -> str:
        variants = as_variants(self._chosen(query, 2))
        return self._shown(comparison_parts(f"{count(len(variants), 'variant')} side by side", variants, {}, "compare"))

    def _tail(self, query: Query) -> str:
        run, directory = self._logged(query)
        kind = query.get("kind", [""])[0] or None
        slow = tail.slowest(directory, kind)
        rows = [LinkedRow(_of_request(one), _address("/request", run, nth=one.nth)) for one in slow]
        choice = [LinkedRow([f"Only {name}s"], _address("/tail", run, kind=name)) for name in ("read", "write")]
        return self._shown([
            Heading(f"Slow requests of {run.name}"),
            Line(f"The slowest {count(len(slow), kind or 'request')}; each leads to what it waited for."),
            LinkedTable([], choice),
            LinkedTable(["request", "kind", "latency", "arrived, s", "offset, bytes", "bytes", "slower than"], rows),
        ])  # fmt: skip

    def _request(self, query: Query) -> str:
        run, directory = self._logged(query)
        text = query.get("nth", [""])[0]
        if not text.isdecimal():
            raise SpecError(f"nth = {printable(text)!r} is not a number of a request")
        found = tail.request(directory, int(text))
        delay = tail.delay(directory, run.document, found)
        parts: list[Part] = [Heading(f"Request {found.nth:,} of {run.name}"), Line(_told(found), "note")]
        parts += [Line(_why(found, delay), "note")]
        if delay.own is not None and delay.before:
            rows = [[one.name, one.cause, f"{one.commands:,}", duration_us(one.ns / 1e3)] for one in delay.waits]
            parts += [Heading("What its die did before", 3), Figures([_drawn(found, delay)])]
            parts += [Numbers(["command", "for", "number", "time"], rows, "Waits")]
            parts += _collections(delay)
            parts += [Heading("Command by command", 3), _commands(found, delay)]
        return self._shown(parts)

    def _shown(self, parts: Sequence[Part]) -> str:
        heading, *rest = parts
        assert isinstance(heading, Heading)
        return page_text(heading.text, [str(self._folder)], rest, home=True)

    def _chosen(self, query: Query, least: int) -> list[ListedRun]:
        """The runs that a query names.

        Raises:
            SpecError: too few, or one that is not there.
        """
        runs = {run.id: run for run in self._listing.runs()[0]}
        wanted = query.get("run", [])
        if len(wanted) < least:
            raise SpecError(f"choose at least {count(least, 'run')} of the list, found {len(wanted)}")
        for name in wanted:
            if name not in runs:
                raise SpecError(f"{printable(name)}: no such run in {self._folder}")
        return [runs[name] for name in wanted]

    def _logged(self, query: Query) -> tuple[ListedRun, Path]:
        (run,) = self._chosen(query, 1)
        if run.directory is None or not tail.has_logs(run.directory):
            names = f"{FILES['request_log']} and {FILES['command_log']}"
            raise SpecError(f"{run.name}: lacks the logs {names}; run it with {_LOGS}")
        return run, run.directory


def _address(path: str, run: ListedRun, **more: str | int) -> str:
    return f"{path}?{urlencode({'run': run.id, **more})}"


def _value(run: ListedRun, metric: Metric) -> str:
    value = number(run.document, metric.path)
    if value is None:
        return "–"
    return duration_us(value) if metric.unit == "µs" else f"{value:,.{metric.digits}f}"


def _of_request(found: LoggedRequest) -> list[str]:
    return [
        f"{found.nth:,}",
        found.kind,
        duration_us(found.latency_ns / 1e3),
        f"{found.arrival_ns / 1e9:,.6f}",
        f"{found.offset_bytes:,}",
        f"{found.bytes:,}",
        f"{100 * found.rank:.4g} %",
    ]


def _told(found: LoggedRequest) -> str:
    return (
        f"A {found.kind} of {found.bytes:,} bytes at offset {found.offset_bytes:,}, arrived at"
        f" {found.arrival_ns / 1e9:,.6f} s, done {duration_us(found.latency_ns / 1e3)} later; {100 * found.rank:.4g} %"
        f" of the {found.kind}s were at least as fast."
    )


def _why(found: LoggedRequest, delay: Delay) -> str:
    own = delay.own
    if own is None:
        return (
            "No command on the flash belongs to it between its arrival and its end: it was answered elsewhere, as by"
            " the write buffer, or touches no page that holds data."
        )
    waited = own.start_ns - found.arrival_ns
    told = [
        f"{duration_us(one.ns / 1e3)} for {_named(one.commands, one.name)} ({one.cause})" for one in delay.waits[:4]
    ]
    busy = f": {', '.join(told)}" if told else ""
    rest = f", and {duration_us(delay.idle_ns / 1e3)} in which the die was idle" if delay.idle_ns > 0 else ""
    return (
        f"Its last command, a {own.name} on die {delay.die} (block {own.blocks[0]}), took"
        f" {duration_us((own.end_ns - own.start_ns) / 1e3)}. It began {duration_us(waited / 1e3)} after the arrival"
        f"{busy}{rest}. Transfer and link took {duration_us(delay.after_ns / 1e3)} behind it."
    )


def _named(many: int, name: str) -> str:
    return f"{many:,} × {name}"


def _collections(delay: Delay) -> list[Part]:
    """What each run of garbage collection before the request's own command did."""
    if not delay.collections:
        return []
    rows = []
    for own in delay.collections:
        erased = [block for one in own if "erase" in one.name for block in one.blocks]
        emptied = sorted({block for one in own for block in one.source_blocks})
        many = {name: sum(one.name == name for one in own) for name in dict.fromkeys(one.name for one in own)}
        rows.append([
            f"{own[0].start_ns / 1e9:,.6f}",
            duration_us((own[-1].end_ns - own[0].start_ns) / 1e3),
            ", ".join(_named(number, name) for name, number in many.items()),
            ", ".join(map(str, emptied)) or "–",
            ", ".join(map(str, erased)) or "–",
        ])  # fmt: skip
    head = ["began, s", "took", "commands", "copied from blocks", "erased blocks"]
    caption = "Commands of garbage collection that follow each other without a gap: a merge, or several in a row."
    return [Heading("Garbage collection", 3), Numbers(head, rows, "Garbage collection", caption, text=True)]


def _commands(found: LoggedRequest, delay: Delay) -> Numbers:
    assert delay.own is not None
    shown = [*delay.before[-tail.COMMANDS_MAX + 1 :], delay.own]
    rows = [
        [
            f"{(one.start_ns - found.arrival_ns) / 1e3:,.1f}", f"{(one.end_ns - one.start_ns) / 1e3:,.1f}", one.name,
            "this request" if one is delay.own else one.cause, ", ".join(map(str, one.blocks)),
        ]
        for one in shown
    ]  # fmt: skip
    left = len(delay.before) + 1 - len(shown)
    caption = f"The last {len(shown)} of {len(shown) + left:,}." if left else ""
    return Numbers(
        ["start after the arrival, µs", "took, µs", "command", "for", "blocks"],
        rows,
        "Commands",
        caption,
        sortable=True,
    )


def _drawn(found: LoggedRequest, delay: Delay) -> Figure:
    """The die's time from the request's arrival to its end, a row a cause."""
    assert delay.own is not None
    shown: list[tuple[str, DieCommand]] = [(one.cause, one) for one in delay.before[-2000:]]
    shown.append(("this request", delay.own))
    names = list(dict.fromkeys(name for name, _ in shown))
    kinds = list(dict.fromkeys(one.name for _, one in shown))
    unit, us = unit_of_us(found.latency_ns / 1e3)
    factor = 1e3 * us
    with drawing(1.6 + 0.32 * len(names)) as drawn:
        axes = drawn.figure.add_subplot()
        for kind in kinds:
            own = [(names.index(name), one) for name, one in shown if one.name == kind]
            left = [(max(one.start_ns, found.arrival_ns) - found.arrival_ns) / factor for _, one in own]
            right = [(one.end_ns - found.arrival_ns) / factor for _, one in own]
            widths = [end - begin for begin, end in zip(left, right, strict=True)]
            axes.barh([row for row, _ in own], widths, 0.7, left=left, color=KIND_COLOURS[kind], label=kind)
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()
        axes.grid(visible=False)
        axes.set_xlim(0, found.latency_ns / factor)
        axes.set_xlabel(f"time after the arrival, {unit}")
        legend(axes)
        svg = drawn.svg(f"What die {delay.die} did while request {found.nth} was under way", "request")
    return Figure(svg, f"Die {delay.die} while the request was under way", "A row for each cause of commands.")
