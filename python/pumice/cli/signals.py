"""Signals that ask the command to end: it puts away what it has begun, as after Ctrl-C."""

from __future__ import annotations

import signal
from types import FrameType

from pumice.errors import Terminated


def end_tidily() -> None:
    """Makes SIGTERM and SIGHUP (a lost terminal) raise `Terminated`. Signals that are ignored stay so: `nohup` ignores
    SIGHUP."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _terminate)


def _terminate(number: int, _frame: FrameType | None) -> None:
    signal.signal(number, signal.SIG_IGN)  # a second one must not interrupt the putting away
    raise Terminated(number)
