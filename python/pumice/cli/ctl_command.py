"""`pumice ctl`: questions to a device that is being served."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated

import typer

from pumice import _engine
from pumice.cli.terminal import emit_json
from pumice.errors import SimulationError, SpecError


class Question(StrEnum):
    """What can be asked."""

    STATUS = "status"
    RESULT = "result"
    CUT = "cut"
    MARK = "mark"
    STOP = "stop"


def ctl_command(
    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="What `pumice serve --control` was given.")],
    question: Annotated[Question, typer.Argument(metavar="QUESTION", help="status, result, cut, mark or stop.")],
    text: Annotated[str | None, typer.Argument(metavar="[TEXT]", help="Of a mark.", show_default=False)] = None,
) -> None:
    """Ask a served device for its status or result, to lose its power, or to end.

    The answer is JSON on stdout: of `status` how far the device is, of `result` the result document so far, of `cut`
    how long the device took to start anew. A mark is noted in the recording of the session (`--session`), for checks
    of `pumice crash`.
    """
    if (text is not None) != (question is Question.MARK):
        raise SpecError(f"{question.value}: a mark has a TEXT, and nothing else has")
    request = {"do": question.value} | ({"text": text} if text is not None else {})
    reply = json.loads(_engine.ask_served(address, json.dumps(request)))
    if not reply["ok"]:
        raise SimulationError(f"{address}: {reply['error']}")
    emit_json(json.dumps(reply["answer"]))
