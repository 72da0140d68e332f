"""`pumice verify`: a command log against the rules of the chip."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from pumice.cli import options as opt
from pumice.cli.terminal import emit, emit_json
from pumice.errors import SimulationError
from pumice.text import count


def verify_command(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="Command log of output.command_log.")],
    *,
    as_json: opt.JsonOption = False,
) -> None:
    """Replay a command log against the chip's rules; status 1 if one is broken."""
    from pumice.results.command_log import verify_log  # loaded here: it needs numpy and Arrow, which start slowly

    verdict = verify_log(log)
    broken = verdict["broken"]
    if as_json:
        emit_json(json.dumps(verdict))
    elif broken is None:
        corrupt = verdict["corrupt_pages"]
        note = f"; {count(corrupt, 'logical page')} returned corrupt data" if corrupt else ""
        clock = "no die was busy when it took one" if verdict["header"]["timed"] else "they carry no times"
        commands = count(verdict["commands"], "command")
        emit(f"{log}: {commands} {'breaks' if verdict['commands'] == 1 else 'break'} no rule, {clock}{note}")
    if broken is not None:
        raise SimulationError(
            f"{log}: record {broken['record']}, at {broken['start_ns']} ns: {broken['text']}"
            f" ({count(verdict['commands'], 'command')} replayed)"
        )
