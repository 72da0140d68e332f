"""`pumice ctl`: questions and orders to a device that is being served."""

from __future__ import annotations

import json
import math
from enum import StrEnum
from typing import Annotated, Any

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
    AGE = "age"
    SNAPSHOT = "snapshot"
    RESTORE = "restore"
    FORGET = "forget"
    MARK = "mark"
    STOP = "stop"


#: What stands behind a question, as usage says it.
_OPERANDS = {
    Question.FAULT: "BLOCK",
    Question.AGE: "pec=N, writes=X or both",
    Question.SNAPSHOT: "NAME",
    Question.RESTORE: "NAME",
    Question.FORGET: "NAME",
    Question.MARK: "TEXT",
}

#: Largest number that the engine takes.
_NUMBER_MAX = (1 << 32) - 1


def ctl_command(
    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="Address given to `pumice serve --control`.")],
    question: Annotated[
        Question, typer.Argument(metavar="QUESTION", help=f"One of {', '.join(Question)}.", show_default=False)
    ],
    operands: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[BLOCK|NAME|TEXT|pec=N writes=X]",
            help="Operand of fault, snapshot, mark or age.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Ask a served device for its status or result, or give it an order: to lose its power, to go back, to end.

    The answer is JSON on stdout. `status` tells how far the device is, `result` gives the result document so far,
    `cut` takes the power and tells how long the recovery took. `fault` lets the next erase of a block fail. `age`
    wears every block by `pec` P/E cycles and writes `writes` user capacities at random; the data stays. `snapshot`
    keeps the device as it is, `restore` goes back there (clients lose their connections), `forget` drops it. `mark` is
    noted in the recording of the session (`--session`), for checks of `pumice crash`.
    """
    reply = json.loads(_engine.ask_served(address, json.dumps(_request(question, operands or []))))
    if not reply["ok"]:
        raise SimulationError(f"{address}: {reply['error']}")
    emit_json(json.dumps(reply["answer"]))


def _request(question: Question, operands: list[str]) -> dict[str, Any]:
    """What is sent. Raises SpecError if the operands are not the question's."""
    wanted = _OPERANDS.get(question)
    if question is Question.AGE and operands:
        return {"do": question.value, **_ageing(operands)}
    if len(operands) != (wanted is not None):
        found = " ".join(operands) or "nothing"
        raise SpecError(f"{question.value}: found {found} behind it; allowed: {wanted or 'nothing'}")
    request: dict[str, Any] = {"do": question.value}
    if question is Question.FAULT:
        request["block"] = _number(operands[0], "fault: {} is not a block")
    elif question is Question.MARK:
        request["text"] = operands[0]
    elif wanted is not None:
        request["name"] = operands[0]
    return request


def _number(text: str, refusal: str) -> int:
    if not (text.isascii() and text.isdecimal()) or int(text) > _NUMBER_MAX:
        raise SpecError(f"{refusal.format(text)}; allowed: a number from 0 on")
    return int(text)


def _ageing(operands: list[str]) -> dict[str, int | float]:
    """What `pec=N writes=X` says, each once."""
    ageing: dict[str, int | float] = {}
    for operand in operands:
        name, _, text = operand.partition("=")
        if name not in ("pec", "writes") or name in ageing:
            raise SpecError(f"age: found {operand}; allowed: {_OPERANDS[Question.AGE]}, each once")
        if name == "pec":
            ageing["pec"] = _number(text, "age: pec={} is not a number of P/E cycles")
            continue
        try:
            ageing["writes"] = float(text)
        except ValueError:
            raise SpecError(f"age: writes={text} is not a number of user capacities; allowed: 0 to 10") from None
        if not math.isfinite(ageing["writes"]):
            raise SpecError(f"age: writes={text} is not a number of user capacities; allowed: 0 to 10")
    return ageing
