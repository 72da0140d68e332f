"""Writing to the terminal: results to stdout, all else to stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table

from pumice.errors import ReaderGone
from pumice.results.document import warnings_of
from pumice.runs.batch import Outcome
from pumice.text import count, json_text, message, printable

#: Width of tables that go to a file or a pipe, where nothing may be cut off.
UNLIMITED = 10_000


#: Lines of a table where the output's encoding has no line characters.
_ASCII_LINES = box.Box("    \n    \n -- \n    \n    \n    \n    \n    \n", ascii=True)


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


def show(*parts: RenderableType) -> None:
    """Renders tables and texts to stdout, in colour on a terminal only."""
    # Rendered first and written in one go: a closed pipe is then met in one place.
    console = Console(width=None if sys.stdout.isatty() else UNLIMITED, highlight=False, markup=False)
    with console.capture() as captured:
        for part in parts:
            console.print(printable(part) if isinstance(part, str) else part)
    _write("\n".join(line.rstrip() for line in captured.get().splitlines()))


class _PlainTable(Table):
    """A table whose cells a terminal cannot obey."""

    def add_row(self, *cells: RenderableType | None, **options: Any) -> None:
        """Adds a row; see `rich.table.Table`."""
        super().add_row(*(printable(cell) if isinstance(cell, str) else cell for cell in cells), **options)


def plain_table(columns: Sequence[str], left: int = 1) -> Table:
    """A table without frames; the first `left` columns are aligned left, the others right."""
    ascii_only = not (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    table = _PlainTable(box=_ASCII_LINES if ascii_only else box.SIMPLE_HEAD, pad_edge=False)
    for place, column in enumerate(columns):
        table.add_column(printable(column), justify="left" if place < left else "right", no_wrap=place < left)
    return table


def warn_all(documents: Iterable[Mapping[str, Any] | None]) -> None:
    """Writes the warnings of some result documents to stderr, each once; None stands for a run that failed."""
    for warning in warnings_of(documents):
        note(f"warning: {warning}")


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
