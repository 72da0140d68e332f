"""The errors of the package. The text of each is one line that can be shown to a user."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from pumice._engine import SimulationError, SpecError, TraceError

__all__ = ["Interrupted", "SimulationError", "SpecError", "StoreError", "TraceError", "nearest", "one_line"]


class Interrupted(Exception):
    """Work stopped by Ctrl-C; the text says what is kept."""


class StoreError(OSError):
    """A result that could not be written or read back."""


def one_line(error: BaseException) -> str:
    """The text of `error` without line breaks; its class name if it has no text."""
    text = " ".join(str(error).split())
    return text or type(error).__name__


def nearest(word: str, known: Iterable[str]) -> str:
    """` (nearest: …)` if a known name resembles `word`, else an empty text."""
    matches = get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f" (nearest: {matches[0]})" if matches else ""
