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

#: What a report of this tool begins with.
_REPORT_MARK, _REPORT_HEAD_BYTES = b'<meta name="generator" content="pumice ', 4096

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
    with files.staging(directory) as staged:
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


def refuse_foreign_report(path: Path) -> None:
    """Refuses to write a report over a file that is none. An empty file holds nothing to lose.

    Raises:
        SpecError: there is such a file.
    """
    if path.is_file() and path.stat().st_size and not _is_report(path):
        raise SpecError(
            f"{path}: is there and is no report of this tool, so it is not overwritten; move it away, or name another"
            " file: --out FILE"
        )


def _files_of_set(directory: Path) -> list[str]:
    """The files of the set in a directory, and the report on it, `made.json` last; none if there is no set."""
    drawn = [path.relative_to(directory).as_posix() for path in figures_of_set(directory)]
    listed = made.files_of(directory, [*NAMES, *drawn])
    if listed is None:
        return []
    # A list that somebody edited must not lead to other folders.
    own = [name for name in listed if name in drawn or Path(name).name == name != made.MADE]
    return [*own, *([REPORT] if _is_report(directory / REPORT) else []), made.MADE]


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


def _is_report(path: Path) -> bool:
    """Whether a file is a report of this tool."""
    try:
        with path.open("rb") as file:
            return _REPORT_MARK in file.read(_REPORT_HEAD_BYTES)
    except OSError:
        return False
