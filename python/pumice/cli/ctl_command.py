"""`pumice ctl`: questions to a device that is being served."""

from __future__ import annotations

import json
import socket
from enum import StrEnum
from typing import Annotated

import typer

from pumice.cli.terminal import emit_json
from pumice.errors import SimulationError, SpecError, reason

#: Seconds to wait for an answer. A device that is busy answers behind what it is at.
_PATIENCE_S = 60.0


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
    reply = _ask(address, {"do": question.value} | ({"text": text} if text is not None else {}))
    if not reply["ok"]:
        raise SimulationError(f"{address}: {reply['error']}")
    emit_json(json.dumps(reply["answer"]))


def _ask(address: str, question: dict[str, str]) -> dict[str, object]:
    """One question and its answer."""
    try:
        with _connected(address) as connection, connection.makefile("rw", encoding="utf-8") as lines:
            lines.write(f"{json.dumps(question)}\n")
            lines.flush()
            line = lines.readline()
    except OSError as error:
        raise SpecError(f"{address}: {reason(error)}; is a device served with --control {address}?") from None
    if not line:
        raise SimulationError(f"{address}: no answer; the device has ended")
    reply: dict[str, object] = json.loads(line)
    return reply


def _connected(address: str) -> socket.socket:
    """A connection to `unix:PATH` or `tcp:127.0.0.1:PORT`; a path alone is meant as the first."""
    kind, _, where = address.partition(":")
    if kind == "tcp":
        host, _, port = where.rpartition(":")
        if not port.isdecimal():
            raise SpecError(f"{address} is no address; allowed: unix:PATH or tcp:127.0.0.1:PORT")
        return socket.create_connection((host, int(port)), timeout=_PATIENCE_S)
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(_PATIENCE_S)
    try:
        connection.connect(where if kind == "unix" else address)
    except BaseException:
        connection.close()
        raise
    return connection
