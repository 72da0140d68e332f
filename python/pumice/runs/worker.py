"""A process that simulates one request after another for the runner."""

from __future__ import annotations

import importlib
import os
import signal
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from types import ModuleType
from typing import Literal

from pumice.errors import SpecError, TraceError, one_line
from pumice.runs.pending import Kind

#: What a worker sends: its kind, and a share done, a result document or an error's text.
Message = tuple[Kind | Literal["progress"], float | str]

#: Seconds between two progress messages.
REPORT_S = 0.2


def serve(connection: Connection, engine_name: str) -> None:
    """Answers requests from `connection` until the other end is closed."""
    # Ctrl-C reaches the whole process group; only the runner decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    engine = importlib.import_module(engine_name)
    runner = os.getppid()
    while True:
        try:
            request = connection.recv()
            connection.send(attempt(engine, request, _reporter(connection, runner)))
        except (EOFError, OSError):
            return


def attempt(engine: ModuleType, request: str, progress: Callable[[int, float | None, float], bool]) -> tuple[Kind, str]:
    """Simulates a request: its document, or what went wrong in one line.

    Raises:
        EOFError, BrokenPipeError: `progress` has nobody left to report to.
        KeyboardInterrupt: `progress` returned False.
    """
    try:
        return "done", engine.run(request, progress)
    except (SpecError, TraceError) as error:
        return "usage", one_line(error)
    except (EOFError, BrokenPipeError):
        raise
    except Exception as error:  # one run's failure must not end the study
        return "failed", one_line(error)


def _reporter(connection: Connection, runner: int) -> Callable[[int, float | None, float], bool]:
    reported = time.monotonic()

    def progress(_requests: int, share: float | None, _simulated_s: float) -> bool:
        nonlocal reported
        if time.monotonic() - reported >= REPORT_S:
            reported = time.monotonic()
            connection.send(("progress", share or 0.0))
        return os.getppid() == runner  # an orphan stops

    return progress
