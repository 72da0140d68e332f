"""The errors of the package. The text of each is one line that can be shown to a user."""

from __future__ import annotations

import functools
import inspect
import signal
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import ParamSpec, TypeVar

from pumice._engine import SimulationError, SpecError, TraceError

__all__ = [
    "Interrupted",
    "ReaderGone",
    "SimulationError",
    "SpecError",
    "StoreError",
    "Terminated",
    "TraceError",
    "how_ended",
    "in_python_words",
    "nearest",
    "one_line",
    "reason",
]

P = ParamSpec("P")
T = TypeVar("T")

#: Longest name that is compared with the known ones. Comparing costs time with its square.
_NAME_LENGTH = 100


class Interrupted(KeyboardInterrupt):
    """Work stopped by Ctrl-C, by another signal that asks for an end, or by a `progress` function that returned False;
    the text says what is kept. Like every Ctrl-C it passes `except Exception`.

    Attributes:
        signal_number: the signal.
    """

    def __init__(self, text: str, signal_number: int = signal.SIGINT) -> None:
        super().__init__(text)
        self.signal_number = signal_number


class Terminated(BaseException):
    """A signal asked the process to end. Like a Ctrl-C it passes everything that only handles errors, so that
    whatever was begun is put away.

    Attributes:
        signal_number: the signal.
    """

    def __init__(self, signal_number: int) -> None:
        super().__init__(signal.Signals(signal_number).name)
        self.signal_number = signal_number


class StoreError(OSError):
    """A result that could not be written or read back."""


class ReaderGone(Exception):
    """The other end of stdout was closed, as `head` does. This is no error, but typer would make it one."""


#: Words of the command line in messages of the engine, and what a program calls the same.
_IN_PYTHON = (
    ("let --fit-device find a device", "let fit_device=True find a device"), ("--fit-device", "fit_device=True"),
    (" (--columns)", " (columns=)"), ("`pumice workloads` lists all", "pumice.workloads() lists them"),
    ("`pumice presets` lists them", "pumice.presets() lists them"), ("--trace FILE", "trace=FILE"),
    ("--scale makes", "scale= makes"), ("--plugin FILE", "plugins=[FILE]"), ("--set ", ""),
)  # fmt: skip


#: Arguments that users expect, and what there is in their place.
_IN_PLACE_OF = {"preset": "the spec is pumice.preset(NAME)", "fio_job": "Spec.with_fio_job(JOB) sets it"}


def in_python_words(function: Callable[P, T]) -> Callable[P, T]:
    """`function`, whose errors name its arguments where the engine's text names options of the command line, and what
    is meant by an argument that it does not have."""
    known = inspect.signature(function).parameters

    @functools.wraps(function)
    def called(*arguments: P.args, **named: P.kwargs) -> T:
        for name in named.keys() - known.keys():
            meant = _IN_PLACE_OF.get(name, "Spec.with_(SECTION={KEY: VALUE}) sets keys of the spec")
            raise TypeError(f"{function.__name__}() has no argument '{name}'{nearest(name, known) or f'; {meant}'}")
        try:
            return function(*arguments, **named)
        except (SpecError, TraceError) as error:
            text = functools.reduce(lambda told, pair: told.replace(*pair), _IN_PYTHON, str(error))
            if text == str(error):
                raise
            raise type(error)(text) from None

    return called


def one_line(error: BaseException) -> str:
    """The text of `error` without line breaks; its class name if it has no text."""
    text = " ".join(str(error).split())
    return text or type(error).__name__


def how_ended(code: int) -> str:
    """How a process ended: its status, or below 0 the number of the signal that killed it."""
    if code >= 0:
        return f"ended with status {code}"
    named = [number.name for number in signal.Signals if number == -code]
    return f"was killed by signal {-code}" + (f" ({named[0]})" if named else "")


def reason(error: OSError) -> str:
    """Why a file cannot be used, in lower case, to stand behind its name."""
    return (error.strerror or one_line(error)).lower()


def nearest(word: str, known: Iterable[str]) -> str:
    """` (nearest: …)` if a known name resembles `word`, else an empty text."""
    matches = get_close_matches(word[:_NAME_LENGTH], list(known), n=1, cutoff=0.65)
    return f" (nearest: {matches[0]})" if matches else ""
