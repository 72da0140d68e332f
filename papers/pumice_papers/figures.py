"""Figures of the papers: what one declares, what it is drawn from, and the registry of all of them.

A figure is one function with its declaration above it:

    @figure(
        frame=Frame("Figure 12b: IOPS at queue depth 1", "ratio of IOPS"),
        studies=("closed-loop",),
        rows=("fig12b_iops_nftl",),
    )
    def figure_12b(drawing: Drawing) -> Findings: ...

The function may stand in any module of the paper's package. `pumice reproduce`, the scoreboard and the
tests go through `figures_of`, so a figure that is declared cannot be forgotten.
"""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from pumice import files
from pumice.analysis.plots import Frame
from pumice.errors import SpecError, nearest
from pumice.results.document import number
from pumice.runs.jobs import Job
from pumice_papers.experiment import Experiment
from pumice_papers.finished_runs import FinishedRuns
from pumice_papers.listing import Listing
from pumice_papers.scoreboard import Finding

#: The papers, in the order in which `pumice reproduce all` takes them.
PAPERS = ("pen", "superblock", "sfws", "aero")

#: The studies that are of no paper. The matrix and power cuts compare nothing; placement and drives compare with
#: measurements of real drives.
STUDIES = ("matrix", "power", "placement", "drives")

#: All that can be reproduced.
EXPERIMENTS = (*PAPERS, *STUDIES)

#: What a figure found for rows of the scoreboard, by row.
Findings = dict[str, Finding]


class RunPlan(Protocol):
    """Runs that a figure plans itself."""

    @property
    def jobs(self) -> Sequence[Job]:
        """The runs, in order."""


@dataclass(frozen=True)
class PlannedStudy:
    """A study whose runs do not come from a sweep file.

    Attributes:
        name: name of the study.
        plan: makes the plan from the experiment, the folder of recorded traces (None if there is none)
            and the output directory. It returns None if it cannot plan without the folder; the
            figure is then left out.
    """

    name: str
    plan: Callable[[Experiment, Path | None, Path], RunPlan | None]


@dataclass(frozen=True)
class Drawing:
    """What a figure is drawn from, and where.

    Attributes:
        figure: the figure's declaration.
        experiment: the experiment, in one mode.
        runs: all finished runs of the reproduction.
        directory: where the figure's files go.
        plans: plans of the studies that are planned by functions, by name.
    """

    figure: Figure
    experiment: Experiment
    runs: FinishedRuns
    directory: Path
    plans: Mapping[str, Any]

    @property
    def frame(self) -> Frame:
        """Title and axes, as declared."""
        return self.figure.frame

    @property
    def high_write(self) -> Sequence[str]:
        """The workloads that write much, by the experiment."""
        return self.experiment.high_write

    @property
    def full_scale(self) -> bool:
        """Whether the whole study was run."""
        return self.experiment.mode == "full"

    @property
    def by_seed(self) -> list[Drawing]:
        """The drawing with the runs of one seed, for each seed that all studies of the figure were run with."""
        return [dataclasses.replace(self, runs=self.runs.of_seed(seed)) for seed in self.runs.seeds(self.figure.sweeps)]

    def draw(self) -> Findings | Listing:
        """Draws the figure. It is left out if a study of its has no run to draw, or could not be planned, or if a run
        failed and it needs all."""
        one, runs = self.figure, self.runs
        if any(study.name not in self.plans for study in one.planned):
            return {}
        if not all(runs.any_done(study) for study in one.sweeps) or (one.needs_all and runs.error(one.sweeps)):
            return {}
        found = one.draw(self)
        if not isinstance(found, Listing):
            undeclared = found.keys() - set(one.rows)
            assert not undeclared, f"{one.paper}, figure {one.id}: rows that it does not declare: {sorted(undeclared)}"
        return found

    def file(self, ending: str = "") -> Path:
        """Path of a file of the figure, without `.png`, `.svg` or `.csv`."""
        return self.directory / f"{self.figure.stem}{ending}"

    def write_csv(self, columns: Sequence[str], rows: Sequence[Sequence[Any]], ending: str = "") -> None:
        """Writes a CSV file of the figure, all of it or nothing; None becomes an empty cell."""
        files.write_csv(self.directory / f"{self.figure.stem}{ending}.csv", columns, rows)

    def values(self, study: str, varied: Mapping[str, Any], path: str) -> dict[str, float | None]:
        """The field at `path` of the runs of a study in which the given keys have the given values, by
        workload; None where a run failed or has no such number."""
        return {name: number(document, path) for name, document in self.runs.find(study, varied).items()}


#: Draws a figure. A figure of numbers returns them as a listing; others return their findings.
Draw = Callable[[Drawing], Findings | Listing]


@dataclass(frozen=True)
class Figure:
    """A figure's declaration and its function.

    Attributes:
        paper: the experiment that it belongs to, one of `EXPERIMENTS`.
        id: its number in the paper, or a name.
        frame: its title and axes. A figure of several pictures changes what differs between them.
        studies: the studies that it reads: names of sweep files in `experiments/PAPER`, or studies that
            are planned by a function. A figure without studies needs no run.
        rows: the rows of the scoreboard for which it has findings.
        draw: the function.
        needs_all: whether it is left out if a run that it reads failed. Others draw what there is.
    """

    paper: str
    id: str
    frame: Frame
    studies: tuple[str | PlannedStudy, ...]
    rows: tuple[str, ...]
    draw: Draw
    needs_all: bool = False

    @property
    def stem(self) -> str:
        """Beginning of the names of its files: `fig12a`, or the id if that is not a number."""
        return f"fig{self.id}" if self.id[0].isdigit() else self.id

    @cached_property
    def sweeps(self) -> tuple[str, ...]:
        """The studies that are sweep files."""
        return tuple(study for study in self.studies if isinstance(study, str))

    @cached_property
    def planned(self) -> tuple[PlannedStudy, ...]:
        """The studies that are planned by functions."""
        return tuple(study for study in self.studies if isinstance(study, PlannedStudy))


_REGISTRY: dict[tuple[str, str], Figure] = {}


def figure(
    *,
    frame: Frame,
    studies: Sequence[str | PlannedStudy] = (),
    rows: Sequence[str] = (),
    needs_all: bool = False,
) -> Callable[[Draw], Draw]:
    """Declares a function as a figure of the paper in whose package it stands, with the id that its name ends in:
    `figure_cache_placed` is `cache-placed`. See `Figure` for the arguments.

    Raises:
        ValueError: the paper has another figure of that id.
    """

    def declare(draw: Draw) -> Draw:
        paper, id = draw.__module__.split(".")[-2], draw.__name__.removeprefix("figure_").replace("_", "-")
        if (paper, id) in _REGISTRY:
            raise ValueError(f"{paper} has two figures {id!r}")
        _REGISTRY[paper, id] = Figure(paper, id, frame, tuple(studies), tuple(rows), draw, needs_all)
        return draw

    return declare


def figures_of(paper: str) -> dict[str, Figure]:
    """Every figure declared in the package of a paper, by id, in the order of their numbers."""
    place = "pumice_papers.studies" if paper in STUDIES else "pumice_papers"
    package = importlib.import_module(f"{place}.{paper}")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    own = [declared for declared in _REGISTRY.values() if declared.paper == paper]
    return {declared.id: declared for declared in sorted(own, key=_order)}


def _order(declared: Figure) -> tuple[float, str]:
    number_ = re.match(r"\d+", declared.id)
    return (float(number_[0]) if number_ else float("inf"), declared.id)


def choose(wanted: Sequence[str], known: Mapping[str, Figure]) -> list[Figure]:
    """The figures to make: all if none is wanted. `12` stands for 12a, 12b and so on.

    Raises:
        SpecError: a figure is wanted that there is not.
    """
    chosen: set[str] = set()
    for id in wanted:
        matching = [name for name in known if name == id or name.rstrip("abcdefgh") == id]
        if not matching:
            raise SpecError(f"figure {id!r} is not made{nearest(id, known)}; allowed: {', '.join(known)}")
        chosen.update(matching)
    return [declared for name, declared in known.items() if name in chosen or not wanted]
