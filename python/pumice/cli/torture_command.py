"""`pumice torture`: firmware on a chip whose power is cut at every operation."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from pumice import files
from pumice.cli import options as opt
from pumice.cli.tables import Column, Sheet
from pumice.cli.terminal import emit, emit_json, note, show
from pumice.errors import Interrupted, SimulationError, SpecError
from pumice.outputs import TORTURE_KIND, refuse_other_file
from pumice.runs.progress import CountProgress
from pumice.text import count, printable
from pumice.torture_lab import LEAVES, THEN, ChipChoices, Tortured, TortureReport, named_class, torture

#: Name of the document in the output directory.
DOCUMENT = "torture.json"

#: Kinds of failure that are listed on the terminal. The document has all of them.
_LISTED = 10

#: Page programs of a chip whose bytes are programmed one by one.
_BYTES = "bytes"


@opt.takes_options
def torture_command(
    firmware: Annotated[
        str, typer.Argument(metavar="FIRMWARE", help="Shared object (see pumice_firmware.h), or FILE.py:CLASS.")
    ],
    spec: Annotated[
        Path | None, typer.Argument(metavar="[SPEC.toml]", help="The chip; a preset if absent.", show_default=False)
    ] = None,
    *,
    options: opt.PlainOptions,
    steps: Annotated[
        int | None, typer.Option("--steps", metavar="N", min=1, help="Steps of the session; the firmware's if absent.")
    ] = None,
    after: Annotated[int, typer.Option("--after", metavar="N", min=0, help="Steps after a cut.")] = 4,
    leaves: Annotated[
        str, typer.Option("--leaves", metavar="A,B", help="What a cut leaves of the operation that it meets.")
    ] = ",".join(LEAVES),
    then: Annotated[str, typer.Option("--then", metavar="A,B", help="What follows a cut.")] = ",".join(THEN),
    draws: Annotated[
        int, typer.Option("--draws", metavar="N", min=1, help="Repetitions of cases with random parts.")
    ] = 1,
    fails: Annotated[
        int, typer.Option("--fails", metavar="N", min=0, help="Further sessions, each with one failing operation.")
    ] = 0,
    case: Annotated[str | None, typer.Option("--case", metavar="LINE", help="Try one case only, as printed.")] = None,
    page_programs: Annotated[
        str, typer.Option("--page-programs", metavar="N", help="Programs of a page between two erases, or `bytes`.")
    ] = "1",
    pair_distance: Annotated[
        int, typer.Option("--pair-distance", metavar="N", min=1, help="Distance between two pages of the same cells.")
    ] = 1,
    corrupt: Annotated[
        bool, typer.Option("--corrupt", help="Carry out illegal operations and corrupt, instead of refusing them.")
    ] = False,
    limit_s: Annotated[
        float, typer.Option("--limit", metavar="S", min=0.1, help="Seconds after which a case counts as hanging.")
    ] = 10.0,
    workers: opt.WorkersOption = None,
    out: opt.OutOption = None,
    resume: opt.ResumeOption = False,
    as_json: opt.JsonOption = False,
) -> None:
    """Cut the power at every operation of firmware, with every leftover; status 1 if it then fails or loses something.

    The session runs once; each case begins from the chip as it was before one of its operations. Each kind of failure
    is printed with the simplest case that shows it, as a line for --case.
    """
    opt.check_resume(out, resume=resume)
    if options.scale is not None:
        raise SpecError(f"--scale {options.scale:g}: a chip is not scaled; set the keys of [geometry]")
    if out is not None:
        refuse_other_file(out / DOCUMENT, TORTURE_KIND)
    given = options if spec is not None or options.preset is not None else _with_preset(options)
    chip = ChipChoices(_programs(page_programs), pair_distance, "corrupt" if corrupt else "refuse")
    plan = Tortured(steps, after, _names(leaves), _names(then), draws, fails, options.seed or 0)
    path, separator, name = firmware.rpartition(":")
    of: Any = named_class(Path(path), name) if separator and path.endswith(".py") else Path(firmware)
    with files.output_directory(out), CountProgress("cuts") as bar:
        report = torture(
            of,
            given.build(spec),
            plan=plan,
            chip=chip,
            case=case,
            workers=workers,
            limit_s=limit_s,
            earlier=_earlier(out) if resume and out is not None else None,
            progress=bar.update,
        )
    for kind in report.kinds:
        kind["repeat"] = _repeat(kind["first"]["case"])
    if out is not None:
        files.write_text(out / DOCUMENT, json.dumps(report.to_dict()) + "\n")
    if as_json:
        emit_json(json.dumps(report.to_dict()))
    else:
        _tell(report, alone=case is not None)
    _end(report)


def _with_preset(options: opt.PlainOptions) -> opt.PlainOptions:
    return replace(options, preset="tiny")


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _programs(text: str) -> Any:
    if text == _BYTES:
        return text
    if not text.isdecimal() or int(text) == 0:
        raise SpecError(f"--page-programs {printable(text)}: is not allowed; allowed: a number from 1 on, or {_BYTES}")
    return int(text)


def _earlier(out: Path) -> dict[str, Any] | None:
    """The document of an interrupted run, if there is one."""
    try:
        found: dict[str, Any] = json.loads((out / DOCUMENT).read_text("utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise SpecError(f"{out / DOCUMENT}: is damaged: {error}") from None
    return found


def _repeat(case: str) -> str:
    """The words of this command that try a case again."""
    return f"--case {shlex.quote(case)}"


def _tell(report: TortureReport, *, alone: bool) -> None:
    document = report.to_dict()
    if not alone:
        then = list(dict.fromkeys(row["then"] for row in document["table"]))
        leaves = list(dict.fromkeys(row["leaves"] for row in document["table"]))
        cells = {(row["leaves"], row["then"]): f"{row['failed']:,} / {row['cases']:,}" for row in document["table"]}
        columns = [Column("a cut leaves", "text"), *(Column(name) for name in then)]
        show(Sheet(columns, [[left, *(cells[left, name] for name in then)] for left in leaves]))
        operations = ", ".join(f"{session['operations']:,}" for session in document["sessions"][:6])
        emit(f"\nfailed / tried; sessions of {operations} operations, {count(document['steps'], 'step')}")
    for kind in report.kinds[:_LISTED]:
        first = kind["first"]
        where = f" (the {first['operation']}, in step {first['done']})" if first["operation"] else ""
        cases = "" if alone else f"{count(kind['cases'], 'case')}: "
        emit(f"\n{cases}{kind['phase']}: {printable(first['text'])}{where}\n  {kind['repeat']}")
    if len(report.kinds) > _LISTED:
        emit(f"… and {len(report.kinds) - _LISTED:,} further kinds; --out DIR writes all of them to {DOCUMENT}")


def _end(report: TortureReport) -> None:
    """Raises what the command ends with, if it does not end well."""
    document = report.to_dict()
    tried, wanted = document["cases"]["tried"], document["cases"]["wanted"]
    if document["interrupted"]:
        raise Interrupted(f"interrupted: {tried:,} of {count(wanted, 'case')} tried")
    if report.kinds:
        failed = sum(kind["cases"] for kind in report.kinds)
        raise SimulationError(f"{count(failed, 'case')} failed, in {count(len(report.kinds), 'way')}")
    note(f"nothing was found in {count(wanted, 'case')}")
