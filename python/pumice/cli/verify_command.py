"""`pumice verify`: a command log against the rules of the chip."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from pumice.cli import options as opt
from pumice.cli.terminal import emit
from pumice.errors import SimulationError


def verify_command(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="Command log, as output.command_log writes it.")],
    *,
    as_json: opt.JsonOption = False,
) -> None:
    """Replay a command log into the chip's rules; status 1 if one is broken."""
    from pumice.results.command_log import verify_log  # loaded here: it needs numpy and Arrow, which start slowly

    verdict = verify_log(log)
    broken = verdict["broken"]
    if as_json:
        emit(json.dumps(verdict))
    elif broken is None:
        corrupt = verdict["corrupt_pages"]
        note = f"; {corrupt:,} logical pages returned corrupt data" if corrupt else ""
        clock = "no die was busy when it took one" if verdict["header"]["timed"] else "they carry no times"
        emit(f"{log}: {verdict['commands']:,} commands break no rule, {clock}{note}")
    if broken is not None:
        raise SimulationError(
            f"{log}: record {broken['record']}, at {broken['start_ns']} ns: {broken['text']}"
            f" ({verdict['commands']:,} commands replayed)"
        )
