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
    FAULT = "fault"
    MARK = "mark"
    STOP = "stop"


def ctl_command(
    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="What `pumice serve --control` was given.")],
    question: Annotated[Question, typer.Argument(metavar="QUESTION", help="status, result, cut, fault, mark or stop.")],
    text: Annotated[
        str | None, typer.Argument(metavar="[TEXT|BLOCK]", help="Of a mark; of a fault.", show_default=False)
    ] = None,
) -> None:
    """Ask a served device for its status or result, to lose its power, or to end.

    The answer is JSON on stdout: of `status` how far the device is, of `result` the result document so far, of `cut`
    how long the device took to start anew. A fault lets the next erase of a block fail. A mark is noted in the
    recording of the session (`--session`), for checks of `pumice crash`.
    """
    request: dict[str, str | int] = {"do": question.value}
    if question is Question.MARK and text is not None:
        request["text"] = text
    elif question is Question.FAULT and text is not None:
        if not text.isdecimal() or int(text) >= 1 << 32:
            raise SpecError(f"fault: {text} is no block; allowed: a number from 0 on")
        request["block"] = int(text)
    elif text is not None or question in (Question.MARK, Question.FAULT):
        raise SpecError(f"{question.value}: a mark has a TEXT, a fault has a BLOCK, and nothing else has either")
    reply = json.loads(_engine.ask_served(address, json.dumps(request)))
    if not reply["ok"]:
        raise SimulationError(f"{address}: {reply['error']}")
    emit_json(json.dumps(reply["answer"]))
