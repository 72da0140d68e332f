"""`pumice ctl`: questions to a device that is being served."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated

import typer

from pumice import _engine
from pumice.cli.terminal import emit_json
from pumice.errors import SimulationError


class Question(StrEnum):
    """What can be asked."""

    STATUS = "status"
    RESULT = "result"
    CUT = "cut"
    STOP = "stop"


def ctl_command(
    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="What `pumice serve --control` was given.")],
    question: Annotated[Question, typer.Argument(metavar="QUESTION", help="status, result, cut or stop.")],
) -> None:
    """Ask a served device for its status or result, to lose its power, or to end.

    The answer is JSON on stdout: of `status` how far the device is, of `result` the result document so far, of `cut`
    how long the device took to start anew.
    """
    reply = json.loads(_engine.ask_served(address, json.dumps({"do": question.value})))
    if not reply["ok"]:
        raise SimulationError(f"{address}: {reply['error']}")
    emit_json(json.dumps(reply["answer"]))
