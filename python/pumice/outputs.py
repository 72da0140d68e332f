"""What this tool writes into an output directory. The files of one run are one set.

A directory holds one result, one comparison, one scoreboard or one list of runs: the file that says which is its
index. A new set takes the place of the one before it, whatever that was. Files with other names are left alone, and so
is the folder `runs` of stored results, whose names say what they are results of (see `runs.store`).
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
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

#: Every name that a set can have, figures aside.
NAMES = (*INDEXES, *FILES.values(), COMPARISON_TABLE, RUNS_TABLE, LISTING, REPORT, FIGURE_LIST, made.MADE)

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
        SpecError: a directory is where a file of the set would be.
        OSError: a file cannot be put in its place.
    """
    for name in NAMES:
        if (directory / name).is_dir():
            raise SpecError(f"{directory / name}: is a directory where this tool writes a file; name another directory")
    with files.staging(directory) as staged:
        yield staged
        drawn = sorted(path.name for path in (staged / FIGURES).glob("*"))
        if drawn:
            files.write_text(staged / FIGURE_LIST, json.dumps(drawn) + "\n")
        made.write(staged)
        _replace(directory, staged, index)


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


def _replace(directory: Path, staged: Path, index: str) -> None:
    """Puts the files of a new set in place of those of the old one. There is an index only while what lies beside it
    belongs to it."""
    new = [path.relative_to(staged) for path in sorted(staged.rglob("*")) if path.is_file()]
    for path in [*(directory / name for name in NAMES), *figures_of_set(directory)]:
        files.withdraw(path)
    try:
        for name in [*(name for name in new if name != Path(index)), Path(index)]:
            files.install(staged / name, directory / name)
    except BaseException:
        for name in new:
            files.withdraw(directory / name)
        raise
    with contextlib.suppress(OSError):  # not there, or in use
        (directory / FIGURES).rmdir()
