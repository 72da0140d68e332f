"""Files that are there completely or not at all, even if the disk fills up or the power goes."""

from __future__ import annotations

import contextlib
import csv
import io
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from pumice.errors import SpecError

if TYPE_CHECKING:
    import pyarrow as pa


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yields the name of a file to write, which replaces `path` when the block ends without an error.

    The file lies beside `path`, is flushed to the medium and renamed; on any error it is removed and
    `path` stays as it was.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".partial", dir=path.parent)
    try:
        yield Path(name)
        os.fsync(handle)
        os.chmod(name, 0o666 & ~_umask())  # mkstemp's files are private, results are not
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    finally:
        os.close(handle)


@contextlib.contextmanager
def atomic(path: Path) -> Iterator[BinaryIO]:
    """Yields an open file that replaces `path` as in `replacing`."""
    with replacing(path) as partial, open(partial, "wb") as file:
        yield file


def prepare(directory: Path | None) -> None:
    """Creates an output directory and tries to write to it, so that a long run does not fail at its end.

    Raises:
        SpecError: it is a file, or cannot be created or written to.
    """
    if directory is None:
        return
    if directory.is_file():
        raise SpecError(f"{directory}: is a file; a directory is needed")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise SpecError(f"{directory}: cannot be written to ({reason}); name a directory that can") from None


def prepare_file(path: Path) -> None:
    """As `prepare`, for the directory in which a file is to be written.

    Raises:
        SpecError: the file is a directory, or its directory cannot be written to.
    """
    if path.is_dir():
        raise SpecError(f"{path}: is a directory; a file is needed")
    prepare(path.parent)


def write_text(path: Path, text: str) -> None:
    """Writes UTF-8 text to `path`, all of it or nothing."""
    with atomic(path) as file:
        file.write(text.encode())


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Writes a CSV file with a head line, all of it or nothing; None becomes an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    write_text(path, text.getvalue())


def write_parquet(rows: pa.Table, path: Path) -> None:
    """Writes a table to `path` as Parquet, all of it or nothing."""
    import pyarrow.parquet as pq  # loaded here: Arrow starts slowly, and most files are text

    with atomic(path) as file:
        pq.write_table(rows, file)


def write_with(path: Path, save: Callable[[BinaryIO], None]) -> None:
    """Writes `path` by a function that takes an open binary file, all of it or nothing."""
    with atomic(path) as file:
        save(file)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
