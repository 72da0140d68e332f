"""Writing to the terminal: results to stdout, all else to stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table

from pumice.results.document import warnings_of
from pumice.runs.batch import Outcome

#: Width of tables that go to a file or a pipe, where nothing may be cut off.
UNLIMITED = 10_000


class ReaderGone(Exception):
    """The other end of stdout was closed, as `head` does. This is no error, but typer would make it one."""


class RunsFailed(Exception):
    """Some runs of a study failed; the text names how many and the first cause."""


def emit(text: str) -> None:
    """Writes text and a line end to stdout.

    Raises:
        ReaderGone: the other end of stdout was closed.
        OSError: it cannot be written; `filename` says where.
    """
    try:
        sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        raise ReaderGone from None
    except OSError as error:
        raise OSError(error.errno, error.strerror, "standard output") from None


def note(text: str) -> None:
    """Writes one line to stderr."""
    sys.stderr.write(f"pumice: {text}\n")


def show(*parts: RenderableType) -> None:
    """Renders tables and texts to stdout, in colour on a terminal only."""
    # Rendered first and written in one go: a closed pipe is then met in one place.
    console = Console(width=None if sys.stdout.isatty() else UNLIMITED, highlight=False, markup=False)
    with console.capture() as captured:
        for part in parts:
            console.print(part)
    emit("\n".join(line.rstrip() for line in captured.get().splitlines()))


def plain_table(columns: Sequence[str], left: int = 1) -> Table:
    """A table without frames; the first `left` columns are aligned left, the others right."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for place, column in enumerate(columns):
        table.add_column(column, justify="left" if place < left else "right", no_wrap=place < left)
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
        raise RunsFailed(f"{len(failed)} of {len(outcomes)} runs failed; the first, {first.job.label}: {first.error}")
