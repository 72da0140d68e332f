"""Files that are there completely or not at all, even if the disk fills up, the power goes, or a signal ends the run.

A file is written under a hidden name beside its own and renamed when it is complete. What is no regular file (a pipe,
a device, an open file of the process such as /dev/fd/3) is written through, as nothing can take its place. The path
`-` is standard output.
"""

from __future__ import annotations

import contextlib
import csv
import errno
import io
import os
import re
import secrets
import shutil
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from pumice.errors import ReaderGone, SpecError, StoreError, reason

if TYPE_CHECKING:
    import pyarrow as pa

try:
    import fcntl
except ImportError:  # Windows; what a killed process left is then not removed
    fcntl = None  # type: ignore[assignment]

#: Standard output, where a file is to be written.
STDOUT = Path("-")

#: Beginning and end of the names under which files are written until they are complete.
_HIDDEN, _PARTIAL = ".", ".pumice.partial"

#: Names of the files that a process has open. They mean something else in every process, and are read or written
#: on from where they are.
_DESCRIPTOR = re.compile(r"/dev/(stdin|stdout|stderr|fd/\d+)|/proc/(self|thread-self|\d+)/(task/\d+/)?fd/\d+")

#: Errors of a medium that takes no more: it is full, the user's share of it is, the file is too long, or it fails.
_TAKES_NO_MORE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}

#: Longest chain of links that is followed.
_LINKS_MAX = 40


def named_directory(path: str | os.PathLike[str] | None, name: str) -> Path | None:
    """The directory that a program names, or None.

    Raises:
        SpecError: the name is empty, which would mean the current directory; `name` begins the text.
    """
    if path is None:
        return None
    if not os.fspath(path):
        raise SpecError(f"{name}: is empty; name a directory")
    return Path(path)


def is_descriptor(path: str | os.PathLike[str]) -> bool:
    """Whether a path names an open file of the process, as /dev/stdin does, directly or through links."""
    place = os.path.abspath(path)
    for _ in range(_LINKS_MAX):
        if _DESCRIPTOR.fullmatch(place):
            return True
        if not os.path.islink(place):
            return False
        place = os.path.normpath(os.path.join(os.path.dirname(place), os.readlink(place)))
    return False


def is_stdout(path: Path) -> bool:
    """Whether what is written to `path` comes out of standard output."""
    return path == STDOUT or str(path) in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")


def is_written_through(path: Path) -> bool:
    """Whether a path names something that no file can take the place of."""
    if path == STDOUT or is_descriptor(path):
        return True
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def read_bounded(path: Path, limit: int) -> bytes:
    """Content of a file of at most `limit` bytes.

    Raises:
        SpecError: it cannot be read, or is longer.
    """
    try:
        with open(path, "rb") as file:
            content = file.read(limit + 1)
    except OSError as error:
        raise SpecError(f"{path}: {reason(error)}") from None
    if len(content) > limit:
        raise SpecError(f"{path}: is longer than {limit:,} bytes; allowed: at most that")
    return content


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yields the name of a file to write, which replaces `path` when the block ends without an error.

    The file lies beside `path`, is flushed to the medium and renamed; on any error it is removed and
    `path` stays as it was. If `path` is a link, the file that it leads to is replaced and the link stays.
    """
    real = _real(path)
    with new_directories(real.parent), _hidden_file(real) as (handle, partial):
        yield partial
        os.fsync(handle)
        os.replace(partial, real)


class Sequential(Protocol):
    """What a file that is written from beginning to end can do."""

    def write(self, content: bytes | memoryview, /) -> int:
        """Writes all of `content`."""


class _Through:
    """Writes at once and keeps nothing back: nothing is left to write when the process is told to end."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw

    def write(self, content: bytes | memoryview, /) -> int:
        rest = memoryview(content)
        while rest:
            rest = rest[self._raw.write(rest) :]
        return len(content)


@contextlib.contextmanager
def streamed(path: Path) -> Iterator[Sequential]:
    """Yields an open file to write from beginning to end, which replaces `path` as in `replacing`, or writes into
    `path` at once if nothing can take its place.

    Raises:
        OSError: it cannot be written; the text or `filename` names `path`.
        ReaderGone: nobody reads standard output any more.
    """
    with _naming(path):
        if is_stdout(path):
            sys.stdout.flush()
            yield _Through(getattr(sys.stdout.buffer, "raw", sys.stdout.buffer))
        elif is_written_through(path):
            with open(path, "wb", buffering=0) as raw:
                yield _Through(raw)
        else:
            with replacing(path) as partial, open(partial, "wb") as file:
                yield file


@contextlib.contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Makes errors of writing name `path`, under whatever name it is written."""
    try:
        yield
    except BrokenPipeError:
        if is_stdout(path):
            raise ReaderGone from None
        raise StoreError(f"{path}: nobody reads it any more") from None
    except OSError as error:
        if error.errno is None:
            raise
        name = "standard output" if is_stdout(path) else str(path)
        raise OSError(error.errno, error.strerror, name) from None


@contextlib.contextmanager
def atomic(path: Path) -> Iterator[BinaryIO]:
    """As `streamed`, for writers that go back in the file: what is written through is gathered first."""
    if is_written_through(path):
        content = io.BytesIO()
        yield content
        with streamed(path) as out:
            out.write(content.getbuffer())
        return
    with _naming(path), replacing(path) as partial, open(partial, "wb") as file:
        yield file


@contextlib.contextmanager
def staging(directory: Path) -> Iterator[Path]:
    """Yields a hidden directory inside `directory`, for files that are to come into view together (see `install`).
    It is removed when the block ends, with all that is left in it. So is `directory`, if it was created, the block
    fails and nothing is in it."""
    with new_directories(directory), _locked(directory, "", _create_directory) as (_, staged):
        try:
            yield staged
        finally:
            shutil.rmtree(staged, ignore_errors=True)


def install(staged: Path, path: Path) -> None:
    """Moves a complete file to `path`; what can only be written through gets its content.

    Raises:
        OSError: it cannot be moved or written.
    """
    real = _real(path)
    if is_written_through(path) or real.parent != path.parent:
        with open(staged, "rb") as file, streamed(path) as out:
            shutil.copyfileobj(file, out)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(staged, "rb+") as file:
        os.fsync(file.fileno())
    os.replace(staged, real)


def withdraw(path: Path) -> None:
    """Removes a regular file that this tool wrote, if it is there; a link stays, what it leads to goes."""
    with contextlib.suppress(OSError):
        real = _real(path)
        if stat.S_ISREG(real.lstat().st_mode) and not is_descriptor(path):
            real.unlink()


@contextlib.contextmanager
def new_directories(directory: Path) -> Iterator[None]:
    """Creates a directory and those above it; after an error, those that were created and are empty are removed."""
    made = [place for place in (directory, *directory.parents) if not place.exists()]
    try:
        directory.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for place in made:
            with contextlib.suppress(OSError):
                place.rmdir()
        raise


#: Directories that this thread of execution holds.
_held: ContextVar[frozenset[Path]] = ContextVar("held", default=frozenset())


@contextlib.contextmanager
def alone_in(directory: Path) -> Iterator[None]:
    """Holds a directory until the block ends, so that two runs never mix their files in it. Blocks may be nested. A
    process that is killed holds nothing any more.

    Raises:
        SpecError: another run holds it.
    """
    place = directory.resolve()
    if fcntl is None or place in _held.get():
        yield
        return
    with _opened(lambda name: os.open(name, os.O_RDONLY), place) as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SpecError(f"{directory}: another run is writing into it; wait for it, or name another") from None
        except OSError:  # a file system without locks
            pass
        token = _held.set(_held.get() | {place})
        try:
            yield
        finally:
            _held.reset(token)


@contextlib.contextmanager
def _naming_full(path: Path) -> Iterator[None]:
    """Makes errors of a medium that takes no more name `path`, where whoever wrote did not know a name."""
    try:
        yield
    except OSError as error:
        if error.errno not in _TAKES_NO_MORE or error.filename is not None:
            raise
        raise OSError(error.errno, os.strerror(error.errno), str(path)) from None


@contextlib.contextmanager
def output_directory(directory: Path | None) -> Iterator[None]:
    """Creates an output directory and tries to write to it, so that a long run does not fail at its end. What a killed
    process left unfinished in it is removed. If the block fails and leaves it empty, it is not left behind. Until the
    block ends, no other run may write into it.

    Raises:
        SpecError: it is a file, cannot be created or written to, or another run is writing.
    """
    if directory is None:
        yield
        return
    with _writable(directory), alone_in(directory):
        yield


@contextlib.contextmanager
def _writable(directory: Path) -> Iterator[None]:
    """A directory that was created if need be, and can be written to; see `output_directory`."""
    if directory == STDOUT:
        raise SpecError("-: standard output takes one file; a directory is needed")
    with contextlib.ExitStack() as stack:
        stack.enter_context(_naming_full(directory))
        try:
            if directory.exists() and not directory.is_dir():
                raise SpecError(f"{directory}: is a file; a directory is needed")
            stack.enter_context(new_directories(directory))
            with _hidden_file(directory / "trial") as (_, trial):
                trial.unlink()
        except SpecError:
            raise
        except (OSError, ValueError) as error:  # a ValueError: no name
            why = reason(error) if isinstance(error, OSError) else str(error)
            raise SpecError(f"{directory}: cannot be written to ({why}); name a directory that can") from None
        remove_abandoned(directory)
        yield


@contextlib.contextmanager
def output_file(path: Path) -> Iterator[None]:
    """As `output_directory`, for the directory in which a file is to be written.

    Raises:
        SpecError: the file is a directory, or cannot be written.
    """
    if path != STDOUT and path.is_dir():
        raise SpecError(f"{path}: is a directory; a file is needed")
    if is_written_through(path):
        if path != STDOUT and not os.access(path, os.W_OK):
            raise SpecError(f"{path}: cannot be written to (permission denied); name a file that can")
        yield
        return
    with _writable(_real(path).parent):
        yield


def remove_abandoned(directory: Path) -> None:
    """Removes what killed processes of this tool left unfinished in a directory. Files that a living process is
    writing stay."""
    if fcntl is None:
        return
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if not (entry.name.startswith(_HIDDEN) and entry.name.endswith(_PARTIAL)) or entry.is_symlink():
                continue
            with contextlib.suppress(OSError):
                handle = os.open(entry.path, os.O_RDONLY | os.O_NONBLOCK)
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    if entry.is_dir(follow_symlinks=False):
                        shutil.rmtree(entry.path, ignore_errors=True)
                    else:
                        os.unlink(entry.path)
                finally:
                    os.close(handle)


def write_text(path: Path, text: str) -> None:
    """Writes UTF-8 text to `path`, all of it or nothing. Bytes that are not text are shown as their numbers."""
    with atomic(path) as file:
        file.write(text.encode("utf-8", "pumice.plain"))


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table as CSV with a head line; None becomes an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Writes `csv_text`, all of it or nothing."""
    write_text(path, csv_text(columns, rows))


def write_parquet(rows: pa.Table, path: Path) -> None:
    """Writes a table to `path` as Parquet, all of it or nothing."""
    import pyarrow.parquet as pq  # loaded here: Arrow starts slowly, and most files are text

    with atomic(path) as file:
        pq.write_table(rows, file)


def _real(path: Path) -> Path:
    """Where the file of a path is; of a link, where it leads."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


@contextlib.contextmanager
def _hidden_file(path: Path) -> Iterator[tuple[int, Path]]:
    """A new file beside `path`, open and locked; removed if the block fails."""
    with _locked(path.parent, f"{_short(path.name)}.", _create_file) as (handle, partial):
        yield handle, partial


def _create_file(name: Path) -> int:
    """Creates a file and opens it."""
    return os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)


def _create_directory(name: Path) -> int:
    """Creates a directory, nobody else's to write to, and opens it."""
    while True:
        os.mkdir(name, 0o700)
        with contextlib.suppress(FileNotFoundError):  # somebody took it for abandoned before it was open
            return os.open(name, os.O_RDONLY)


@contextlib.contextmanager
def _locked(directory: Path, beginning: str, create: Callable[[Path], int]) -> Iterator[tuple[int, Path]]:
    """Creates a file or directory under a hidden name and holds a lock on it, by which others see that its process
    lives. It is removed if the block fails, or if a signal ends the command before the block begins: its name is
    chosen before it is created, so that there is no instant at which it exists and nobody knows what to remove. The
    name is 64 random bits: nobody else's is met."""
    while True:
        name = directory / f"{_HIDDEN}{beginning}{secrets.token_hex(8)}{_PARTIAL}"
        try:
            with _opened(create, name) as handle:
                if fcntl is not None:
                    with contextlib.suppress(OSError):  # file systems without locks
                        fcntl.flock(handle, fcntl.LOCK_EX)
                # Between creation and lock somebody may have taken it for abandoned.
                if os.path.exists(name):
                    yield handle, name
                    return
        except BaseException:
            _remove(name)
            raise


@contextlib.contextmanager
def _opened(create: Callable[[Path], int], name: Path) -> Iterator[int]:
    """A new file or directory, open."""
    handle = create(name)
    try:
        yield handle
    finally:
        os.close(handle)


def _remove(name: Path) -> None:
    """Removes a file or a directory with all that is in it, as far as it can be removed."""
    if os.path.isdir(name):
        shutil.rmtree(name, ignore_errors=True)
        return
    with contextlib.suppress(OSError):
        os.unlink(name)


def _short(name: str) -> str:
    """The beginning of a name, short enough for the hidden name to be one that file systems take."""
    return os.fsdecode(os.fsencode(name)[:128])
