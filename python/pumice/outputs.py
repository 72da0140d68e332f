"""What this tool writes into an output directory. The files of one run are one set.

A directory holds one result, one comparison, one scoreboard or one list of runs: the file that says which is its
index. A new set takes the place of the one before it, whatever that was. `made.json` lists the files of a set: these
alone are removed. A file of somebody else's that has a name of a set's is refused before anything is run. Files with
other names are left alone, and so is the folder `runs` of stored results, whose names say what they are results of
(see `runs.store`).
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pumice import files, made
from pumice.errors import SpecError

#: Indexes: a run's document, a comparison, a reproduction's scoreboard, the runs of a sweep or of repeated runs.
RESULT, COMPARISON, SCOREBOARD, RUNS = "result.json", "comparison.json", "scoreboard.json", "runs.json"
INDEXES = (RESULT, COMPARISON, SCOREBOARD, RUNS)

#: Name of the file that each key of `[output]` asks for.
FILES = {
    "request_log": "request_log.parquet",
    "command_log": "command_log.bin.zst",
    "histograms": "latency.hlog",
    "wear_map": "wear_map.npy",
    "timeline": "timeline.json",
}

#: A comparison's table, a table of runs, a reproduction's listing, a report.
COMPARISON_TABLE, RUNS_TABLE, LISTING, REPORT = "comparison.csv", "runs.parquet", "table.json", "report.html"

#: The folder of figures, and the list of those in it that belong to the set.
FIGURES, FIGURE_LIST = "figures", "figures.json"

#: The folder of stored results.
STORE = "runs"

#: Every name that a set can have, figures and the table of a sweep aside.
NAMES = (*INDEXES, *FILES.values(), COMPARISON_TABLE, RUNS_TABLE, LISTING, FIGURE_LIST, made.MADE)


@dataclass(frozen=True)
class FileKind:
    """A kind of file that this tool writes under a name that the user gives.

    Attributes:
        name: as messages name it.
        mark: bytes that each file of the kind has near its beginning or its end, and no other file.
    """

    name: str
    mark: bytes

    def holds(self, path: Path) -> bool:
        """Whether a file is of this kind."""
        try:
            with path.open("rb") as file:
                head = file.read(_END_BYTES)
                file.seek(max(path.stat().st_size - _END_BYTES, 0))
                return self.mark in head or self.mark in file.read()
        except OSError:
            return False


#: How much of a file's beginning and end is looked at for its mark. A PDF says at its end what wrote it.
_END_BYTES = 1 << 14

#: The kinds that have a mark. Traces and specs have none: nothing tells ours from those of the user.
REPORT_KIND = FileKind("report", b'<meta name="generator" content="pumice ')
SNAPSHOT_KIND = FileKind("snapshot", b"pumice.snapshot/")
SESSION_KIND = FileKind("recording of a session", b"pumice.recording/")
CRASH_KIND = FileKind("report on cuts", b'"format": "pumice.crash/')
TORTURE_KIND = FileKind("report of a torture", b'"format": "pumice.torture/')
FIGURE_KIND = FileKind("figure", b"Matplotlib")

#: Endings of the files of a figure.
_FIGURE_ENDINGS = (".png", ".svg", ".csv")


@contextlib.contextmanager
def one_set(directory: Path, index: str) -> Iterator[Path]:
    """Yields an empty directory to write the files of a set into, its index among them. When the block ends, they
    take the place of the set that is in `directory`; if the block fails, that set stays as it was.

    Args:
        directory: the output directory; created if it is not there.
        index: name of the set's index, one of `INDEXES`.

    Raises:
        SpecError: where a file of the set would be is a directory, or a file that is of no earlier set.
        OSError: a file cannot be put in its place.
    """
    refuse_foreign(directory)
    with files.staging(directory) as staged, files.alone_in(directory):
        yield staged
        drawn = sorted(path.name for path in (staged / FIGURES).glob("*"))
        if drawn:
            files.write_text(staged / FIGURE_LIST, json.dumps(drawn) + "\n")
        new = [path.relative_to(staged).as_posix() for path in sorted(staged.rglob("*")) if path.is_file()]
        refuse_foreign(directory, new)
        made.write(staged, new)
        _replace(directory, staged, [*(name for name in new if name != index), index])


@contextlib.contextmanager
def output_directory(directory: Path | None, *further: str) -> Iterator[None]:
    """As `files.output_directory`, for a directory that gets a set: before anything is run, files of somebody else's
    are refused that have the name of a set's file, or one of `further`.

    Raises:
        SpecError: there is one; or as `files.output_directory`.
    """
    if directory is not None:
        refuse_foreign(directory, further)
    with files.output_directory(directory):
        yield


@contextlib.contextmanager
def output_file(path: Path, kind: FileKind | None = None) -> Iterator[None]:
    """As `files.output_file`, for a name that the user gives: what is there is not overwritten, unless it is of the
    same kind.

    Raises:
        SpecError: there is such a file; or as `files.output_file`.
    """
    refuse_other_file(path, kind)
    with files.output_file(path):
        yield


def refuse_foreign(directory: Path, further: Iterable[str] = ()) -> None:
    """Refuses what is in the way of a set: a directory of the name of a file, or a file that `made.json` does not prove
    to be of an earlier set.

    Raises:
        SpecError: there is one; the text names it.
    """
    own = set(_files_of_set(directory))
    for name in (*NAMES, *further):
        path = directory / name
        if path.is_dir():
            raise SpecError(f"{path}: is a directory where this tool writes a file; name another directory")
        if path.is_file() and name not in own:
            raise SpecError(
                f"{path}: is not known to be of an earlier output ({made.MADE} beside it would list it), and this tool"
                " writes a file of that name; move it away, or name another directory"
            )


def refuse_other_file(path: Path, kind: FileKind | None) -> None:
    """Refuses to write over a file that may be somebody's: one that does not show that it is an earlier output of the
    same kind. An empty file holds nothing to lose, and what is written through is not a file to take the place of.

    Raises:
        SpecError: there is such a file.
    """
    if not path.is_file() or files.is_written_through(path) or not path.stat().st_size:
        return
    if kind is None or not kind.holds(path):
        what = f"is there and is not a {kind.name} of this tool" if kind is not None else "is there"
        raise SpecError(f"{path}: {what}, so it is not overwritten; move it away, or name another file")


def _files_of_set(directory: Path) -> list[str]:
    """The files of the set in a directory, and the report on it, `made.json` last; none if there is no set."""
    drawn = [path.relative_to(directory).as_posix() for path in figures_of_set(directory)]
    listed = made.files_of(directory, [*NAMES, *drawn])
    if listed is None:
        return []
    # A list that somebody edited must not lead to other folders.
    own = [name for name in listed if name in drawn or Path(name).name == name != made.MADE]
    return [*own, *([REPORT] if REPORT_KIND.holds(directory / REPORT) else []), made.MADE]


def figures_of_set(directory: Path) -> list[Path]:
    """The figures that belong to the set in a directory: those that are listed and are there."""
    try:
        listed = json.loads((directory / FIGURE_LIST).read_bytes())
    except (OSError, ValueError, RecursionError):
        return []
    names = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
    # A list that somebody edited must not lead to other folders or files.
    own = [name for name in names if Path(name).name == name and name.endswith(_FIGURE_ENDINGS)]
    return [path for name in own if (path := directory / FIGURES / name).is_file()]


def _replace(directory: Path, staged: Path, new: Sequence[str]) -> None:
    """Puts the files of a new set, its index last, in place of those of the old one. There is an index only while what
    lies beside it belongs to it. `made.json` comes first and goes last: it lists what this tool may remove."""
    for name in _files_of_set(directory)[:-1]:
        files.withdraw(directory / name)
    try:
        for name in [made.MADE, *new]:
            files.install(staged / name, directory / name)
    except BaseException:
        for name in [*new, made.MADE]:
            files.withdraw(directory / name)
        raise
    with contextlib.suppress(OSError):  # not there, or in use
        (directory / FIGURES).rmdir()
