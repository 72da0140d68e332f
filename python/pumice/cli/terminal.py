"""Writing to the terminal: results to stdout, all else to stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pumice.errors import ReaderGone
from pumice.results.document import warnings_of
from pumice.results.notes import notes_of, notes_of_seeds
from pumice.text import count, json_text, message, printable

if TYPE_CHECKING:
    from pumice.cli.tables import Sheet
    from pumice.runs.jobs import Outcome


class RunsFailed(Exception):
    """Some runs of a study failed; the text names how many and the first cause."""


def emit(text: str) -> None:
    """Writes text and a line end to stdout. What a terminal could obey is shown as its number.

    Raises:
        ReaderGone: the other end of stdout was closed.
        OSError: it cannot be written; `filename` says where.
    """
    _write(printable(text))


def emit_json(text: str) -> None:
    """Writes JSON text and a line end to stdout, whatever its encoding; raises as `emit`."""
    _write(json_text(text, sys.stdout.encoding))


def _write(text: str) -> None:
    try:
        sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        raise ReaderGone from None
    except OSError as error:
        raise OSError(error.errno, error.strerror, "standard output") from None


def note(text: str) -> None:
    """Writes one line to stderr."""
    sys.stderr.write(f"pumice: {message(text)}\n")


def show(sheet: Sheet, title: str = "") -> None:
    """Writes a table to stdout, below a title if there is one, as wide as the terminal lets it be."""
    from pumice.cli.tables import lines_of, terminal_width  # loaded here: most commands show no table

    lines = lines_of(sheet, terminal_width())
    emit("\n".join([title, "", *lines] if title else lines))


def warn_all(documents: Iterable[Mapping[str, Any] | None]) -> None:
    """Writes the warnings of some result documents to stderr, each once; None stands for a run that failed."""
    for warning in warnings_of(documents):
        note(f"warning: {warning}")


def tell_notes(documents: Sequence[Mapping[str, Any]]) -> None:
    """Writes below the results of one spec, one a seed, what should be known about them, one line each."""
    lines = [*notes_of(documents[0]), *notes_of_seeds([("", documents)])]
    if lines:
        emit("\n".join(["", *(f"note: {line}" for line in lines)]))


def tell_failures(outcomes: Sequence[Outcome]) -> None:
    """Raises if any run failed; called when the results of the others have been shown.

    Raises:
        RunsFailed: with the number of failures and the first one's cause.
    """
    failed = [outcome for outcome in outcomes if outcome.document is None]
    if failed:
        first = failed[0]
        runs = count(len(outcomes), "run")
        raise RunsFailed(f"{len(failed)} of {runs} failed; the first, {first.job.label}: {first.error}")
