"""The runs below a folder, each with a name that leads back to it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pumice.errors import SpecError
from pumice.outputs import INDEXES, STORE
from pumice.results.chosen_figure import config_text, stored_runs
from pumice.results.comparison import Variant

#: Folders below the one that is shown, and levels of them, that are looked at.
FOLDERS_MAX, DEPTH_MAX = 10_000, 8


@dataclass(frozen=True)
class ListedRun:
    """A run with a result.

    Attributes:
        id: names it as long as the folder stays as it is: its directory, `:` and its place there.
        name: directory and label, as a reader tells runs apart.
        document: its result.
        directory: where its further files are; None for one run of several.
    """

    id: str
    name: str
    document: Mapping[str, Any]
    directory: Path | None


class Listing:
    """The runs below a folder. Files that have not changed are not read again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[Path, tuple[Any, list[ListedRun]]] = {}

    def runs(self) -> tuple[list[ListedRun], list[str]]:
        """All runs, directory by directory, and a line for each directory that cannot be read."""
        found: list[ListedRun] = []
        faults: list[str] = []
        for directory in self._directories():
            try:
                found += self._of(directory)
            except SpecError as error:
                faults.append(str(error))
        return found, faults

    def _directories(self) -> Iterator[Path]:
        """The directories that hold a set of output files, or a store without one."""
        depth = len(self._folder.parts)
        for nth, (name, below, names) in enumerate(os.walk(self._folder)):
            directory = Path(name)
            if nth >= FOLDERS_MAX:
                return
            below[:] = sorted(one for one in below if not one.startswith("."))
            if len(directory.parts) - depth >= DEPTH_MAX:
                below.clear()
            if any(index in names for index in INDEXES):
                below[:] = [one for one in below if one != STORE]
                yield directory
            elif directory.name != STORE and STORE in below:
                below.remove(STORE)
                yield directory

    def _of(self, directory: Path) -> list[ListedRun]:
        stamp = [(path.name, path.stat().st_mtime_ns) for path in sorted(directory.glob("*.json"))]
        if not stamp:
            stamp = [(path.name, path.stat().st_mtime_ns) for path in sorted((directory / STORE).glob("*.json"))]
        if directory not in self._known or self._known[directory][0] != stamp:
            self._known[directory] = stamp, self._read(directory)
        return self._known[directory][1]

    def _read(self, directory: Path) -> list[ListedRun]:
        place = directory.relative_to(self._folder).as_posix()
        named = directory.name if place == "." else place
        runs = stored_runs(directory)
        alone = len(runs) == 1 and not runs[0].varied
        return [
            ListedRun(
                f"{place}:{nth}",
                named if alone else f"{named}: {run.label}",
                run.document or {},
                directory if alone else None,
            )
            for nth, run in enumerate(runs)
        ]


def as_variants(chosen: list[ListedRun]) -> list[Variant]:
    """The chosen runs as variants of a comparison: those that differ in their seed alone are one."""
    groups: dict[str, list[ListedRun]] = {}
    for run in chosen:
        groups.setdefault(config_text(run.document), []).append(run)
    return [Variant(own[0].name, [dict(one.document) for one in own]) for own in groups.values()]
