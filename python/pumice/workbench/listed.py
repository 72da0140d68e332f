"""The runs below a folder, each with a name that leads back to it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pumice.errors import SpecError
from pumice.outputs import INDEXES, STORE
from pumice.report.comparison_parts import differences
from pumice.results.chosen_figure import config_text, stored_runs
from pumice.results.comparison import Variant
from pumice.results.document import lookup
from pumice.results.grid_summary import Run
from pumice.runs.grid import short_names

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
                named if alone else f"{named}: {label}",
                run.document or {},
                directory if alone else None,
            )
            for nth, (run, label) in enumerate(zip(runs, _labels(runs), strict=True))
        ]


def _labels(runs: Sequence[Run]) -> list[str]:
    """What the runs are called: what differs in them, where a store holds them under digests alone."""
    if not all(re.fullmatch(r"[0-9a-f]{32}", run.label) for run in runs):
        return [run.label for run in runs]
    rows = differences([Variant(run.label, [dict(run.document or {})]) for run in runs]).rows
    names = short_names([key for key, *_ in rows])
    told = [[f"{names[key]} = {value}" for value in values] for key, *values in rows]
    seeds = [f"seed {lookup(run.document or {}, 'config.seed')}" for run in runs]
    parts = [of_key for of_key in [*told, seeds] if len(set(of_key)) > 1]
    return [", ".join(of_run) for of_run in zip(*parts, strict=True)] or [run.label for run in runs]


def as_variants(chosen: list[ListedRun]) -> list[Variant]:
    """The chosen runs as variants of a comparison: those that differ in their seed alone are one."""
    groups: dict[str, list[ListedRun]] = {}
    for run in chosen:
        groups.setdefault(config_text(run.document), []).append(run)
    return [Variant(_name_of_all(own), [dict(one.document) for one in own]) for own in groups.values()]


def _name_of_all(seeds: Sequence[ListedRun]) -> str:
    return seeds[0].name if len(seeds) == 1 else re.sub(r", seed \d+$", "", seeds[0].name)
