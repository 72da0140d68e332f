"""`pumice crash`: the power of a device is cut at many instants of one session."""

from __future__ import annotations

import json
import shlex
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from pumice import files
from pumice.cli import options as opt
from pumice.cli.tables import Column, Sheet
from pumice.cli.terminal import emit, emit_json, note, show
from pumice.crash_lab import KINDS, CrashReport, crash, record_session, session_spec
from pumice.errors import Interrupted, SimulationError, SpecError
from pumice.outputs import CRASH_KIND, SESSION_KIND, refuse_other_file
from pumice.runs.progress import CountProgress
from pumice.runs.run import with_options
from pumice.runs.spec import Spec
from pumice.text import count

#: Name of the document in the output directory.
DOCUMENT = "crash.json"

#: Broken cuts that are listed on the terminal. The document has all of them.
_LISTED = 10

#: What the rows of the table are called.
_NAMES = {
    "rolled_back": "an older version came back",
    "lost": "promised data is gone",
    "shorn": "a part of a promised write is there",
    "foreign": "data of another place is there",
    "corrupt": "bits are wrong, unnoticed",
    "unreadable": "a read fails",
}


class Places(StrEnum):
    """Where the power is cut."""

    RANDOM = "random"
    PROMISES = "promises"
    DENSE = "dense"


@opt.takes_options
def crash_command(
    spec: opt.SpecArgument = None,
    *,
    options: opt.SpecOptions,
    session: Annotated[
        Path | None,
        typer.Option("--session", metavar="FILE", help="Recorded session; with --script it is written, else read."),
    ] = None,
    script: Annotated[
        str | None, typer.Option("--script", metavar="COMMAND", help="Program to run on the device ($PUMICE_URI).")
    ] = None,
    check: Annotated[
        str | None,
        typer.Option(
            "--check", metavar="COMMAND", help="Run on images of the device ($PUMICE_IMAGE); fails if broken."
        ),
    ] = None,
    checks: Annotated[
        int, typer.Option("--checks", metavar="N", min=0, help="Number of cuts whose image is checked.")
    ] = 20,
    cuts: Annotated[int, typer.Option("--cuts", metavar="N", min=1, help="Number of cuts to try.")] = 1000,
    at: Annotated[Places, typer.Option("--at", help="Where to cut: at random, after promises, after any event.")] = (
        Places.RANDOM
    ),
    cut_at_ns: Annotated[
        list[int] | None,
        typer.Option("--cut-at-ns", metavar="NS", min=0, help="Cut at this instant only; repeatable."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", metavar="N", min=1, help="Threads; one a CPU if absent.")
    ] = None,
    out: opt.OutOption = None,
    as_json: opt.JsonOption = False,
) -> None:
    """Cut the power at many instants of a session; status 1 if a host would miss what it was promised.

    The session is that of a program (--script), one that was recorded before (--session), or the spec's workload.
    """
    chosen = _spec(spec, options, session, script)
    if out is not None:
        refuse_other_file(out / DOCUMENT, CRASH_KIND)
    if script is not None and session is not None:
        refuse_other_file(session, SESSION_KIND)
        record_session(chosen, script, session)
    with files.output_directory(out), CountProgress("cuts") as bar:
        report = crash(
            chosen,
            session=session,
            cuts=cuts,
            at=at.value,
            instants=cut_at_ns,
            check=check,
            checks=checks if cut_at_ns is None else len(cut_at_ns),
            workers=workers,
            progress=bar.update,
        )
    for broken in report.broken:
        broken["repeat"] = _repeat(spec, options, session, check if "check" in broken else None, broken["at_ns"])
    if out is not None:
        files.write_text(out / DOCUMENT, json.dumps(report.to_dict()) + "\n")
    if as_json:
        emit_json(json.dumps(report.to_dict()))
    else:
        _tell(report)
    _end(report)


def _spec(path: Path | None, options: opt.SpecOptions, session: Path | None, script: str | None) -> Spec:
    """The device: that of the options, or the one that the session was recorded on."""
    if script is not None and session is None:
        raise SpecError(
            "--script needs --session FILE, which keeps what the program did, so that each cut can be repeated"
        )
    if session is not None and (options.workload, options.trace, options.fio_job) != (None, None, None):
        raise SpecError("a session has its own requests; leave --workload, --trace and --fio-job out")
    if session is None or script is not None or path is not None or options.preset is not None:
        return options.build(path)
    recorded = session_spec(session, options.plugin or []).with_sets(
        [opt.parse_set(text) for text in options.sets or []], "--set"
    )
    return with_options(recorded, scale=options.scale, seed=options.seed, dashes="--")


def _repeat(path: Path | None, options: opt.SpecOptions, session: Path | None, check: str | None, at_ns: int) -> str:
    """The command that tries one cut again."""
    given: list[tuple[str, Any]] = [
        ("--preset", options.preset),
        *(("--set", text) for text in options.sets or []),
        ("--workload", options.workload),
        ("--fio-job", options.fio_job),
        ("--trace", options.trace),
        ("--format", options.trace_format),
        ("--columns", options.columns),
        *(("--plugin", plugin) for plugin in options.plugin or []),
        ("--scale", options.scale),
        ("--seed", options.seed),
        ("--session", session),
        ("--check", check),
        ("--cut-at-ns", at_ns),
    ]
    words = ["pumice", "crash", *([str(path)] if path is not None else [])]
    words += [word for option, value in given if value is not None for word in (option, str(value))]
    return shlex.join(words)


def _tell(report: CrashReport) -> None:
    document = report.to_dict()
    cuts, wrong = document["cuts"], document["wrong"]
    rows = [
        ["power cuts", f"{cuts['tried']:,}", ""],
        ["… while a program, copy or erase was under way", f"{cuts['met_something']:,}", ""],
        *([_NAMES[kind], f"{wrong[kind]['cuts']:,}", f"{wrong[kind]['pages']:,}"] for kind in KINDS),
        ["an earlier promise is gone, a later one kept", f"{cuts['out_of_order']:,}", ""],
        ["the device did not start again", f"{cuts['dead']:,}", ""],
    ]
    if document["check"] is not None:
        checks = document["checks"]
        rows.append(["images checked", f"{checks['done']:,}", ""])
        rows.append(["… and found broken", f"{checks['failed']:,}", ""])
    show(Sheet([Column("", "text"), Column("cuts"), Column("pages")], rows))
    times = document["recovery_us"]
    if times is not None:
        emit(f"\nrecovery took {times['mean'] / 1000:,.3f} ms on average, {times['max'] / 1000:,.3f} ms at most")
    for broken in report.broken[:_LISTED]:
        emit(f"{_reason(broken)}\n  {broken['repeat']}")
    if len(report.broken) > _LISTED:
        emit(f"… and {len(report.broken) - _LISTED:,} further ones; --out DIR writes all of them to {DOCUMENT}")


def _reason(broken: dict[str, Any]) -> str:
    """What is wrong after a cut, in a line."""
    when = f"after {count(broken['requests'], 'request')}"
    if broken["failure"] is not None:
        return f"{when}: {broken['failure']}"
    first = broken["first"]
    if first is None:
        return f"{when}: the check failed: {broken['check']['said']}"
    where = f"{when}: at byte {first['offset_bytes']:,}: {_NAMES[first['kind'].replace('-', '_')]}"
    return f"{where}; promised by request {first['promised_request']}" if first["promised_request"] else where


def _end(report: CrashReport) -> None:
    """Raises what the command ends with, if it does not end well."""
    document = report.to_dict()
    tried = document["cuts"]["tried"]
    if document["interrupted"]:
        raise Interrupted(f"interrupted: {tried} of {count(document['cuts']['wanted'], 'cut')} tried")
    if report.broken:
        raise SimulationError(f"{len(report.broken)} of {count(tried, 'cut')} broke a promise or failed the check")
    note(f"every promise was kept in {count(tried, 'cut')}")
