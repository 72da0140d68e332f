"""`pumice plugins` and `pumice conform`: translation layers of the user's own."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer

from pumice import _engine
from pumice.cli import options as opt
from pumice.cli.tables import Column, Sheet
from pumice.cli.terminal import emit, emit_json, show
from pumice.errors import SimulationError
from pumice.plugins import plugin
from pumice.runs.keys import value_text
from pumice.text import count

_Sets = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Set a key of every device that is tried.")
]
_File = Annotated[Path, typer.Argument(metavar="FILE", help="Shared object that exports pumice_ftl.")]


def plugins_command(file: _File, *, as_json: opt.JsonOption = False) -> None:
    """Show what a shared object holds: its name and its keys."""
    found = plugin(file)
    if as_json:
        keys = [key.to_dict() for key in found.keys]
        emit_json(json.dumps({**asdict(found), "keys": keys}, indent=2))
        return
    retires = "retires blocks whose erase fails" if found.retires_blocks else "needs erases that do not fail"
    recovers = "recovers after power cuts" if found.recovers else "needs a device that never loses power"
    emit(f'ftl.kind = "plugin:{found.name}"; {retires}; {recovers}')
    emit(f"SHA-256 {found.sha256}")
    if found.keys:
        columns = [Column("key", "text"), Column("unit", "text"), Column("default", "text"), Column("meaning", "text")]
        show(Sheet(columns, [[key.path, key.unit, value_text(key.default), key.text] for key in found.keys]))


def conform_command(file: _File, sets: _Sets = None, *, as_json: opt.JsonOption = False) -> None:
    """Test a translation layer of your own; status 1 with the shortest requests that break it."""
    found = plugin(file)
    pairs = [opt.parse_set(text) for text in sets or []]
    verdicts: list[dict[str, Any]] = json.loads(_engine.conform(found.path, pairs))
    if as_json:
        emit_json(json.dumps(verdicts, indent=2))
    else:
        for verdict in verdicts:
            emit(_line(verdict))
    if all(verdict["holds"] is None for verdict in verdicts):
        raise SimulationError(f'plug-in "{found.name}": no check could be run')
    broken = [verdict for verdict in verdicts if verdict["holds"] is False]
    if broken:
        raise SimulationError(f'plug-in "{found.name}": {len(broken)} of {count(len(verdicts), "check")} failed')


def _line(verdict: dict[str, Any]) -> str:
    """A verdict as a line, and a failure with what shows it."""
    word = {True: "holds", False: "FAILS", None: "not run"}[verdict["holds"]]
    where = f" ({verdict['device']})" if verdict["device"] else ""
    line = f"{word:<8} {verdict['check']}{where}"
    if verdict["holds"] is None:
        return f"{line}: {verdict['text']}"
    if verdict["holds"]:
        return line
    sets = " ".join(f"--set {quote(f'{key}={value}')}" for key, value in verdict["sets"])
    lines = [line, f"         {verdict['text']}", f"         --preset {verdict['preset']} {sets}"]
    if verdict["length"]:
        shown = ", ".join(verdict["requests"])
        more = f", … ({verdict['length']} in all)" if verdict["length"] > len(verdict["requests"]) else ""
        lines.append(f"         shortest requests on the empty device: {shown}{more}")
    return "\n".join(lines)
