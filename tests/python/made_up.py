"""Runs that nobody simulated, figures drawn from them, and a look at the files."""

from __future__ import annotations

import csv
import dataclasses
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pumice.runs.jobs import Job, Outcome
from pumice_papers.experiment import read_experiment
from pumice_papers.figures import Drawing, Findings, figures_of
from pumice_papers.finished_runs import FinishedRuns

#: A study and what a run varies → its document; None for a run that fails.
Make = Callable[[str, dict[str, Any]], dict[str, Any] | None]

#: Outcomes, each with its study.
Named = list[tuple[str, Outcome]]


def outcome(study: str, job: Job, document: dict[str, Any] | None) -> tuple[str, Outcome]:
    """A run of a study that ended with a document, or failed."""
    return study, Outcome(job, document, None if document else "the chip refused")


def outcomes(paper: str, mode: str, figures: Iterable[str], make: Make) -> Named:
    """All runs that some figures read in a mode, made up."""
    known = figures_of(paper)
    studies = dict.fromkeys(study for id in figures for study in known[id].sweeps)
    jobs = read_experiment(paper, mode).jobs(list(studies))
    return [outcome(study, job, make(study, dict(job.varied))) for study, job in jobs]


def drawer(paper: str, mode: str, named: Named, directory: Path, **content: Any) -> Callable[[str], Findings]:
    """A function that draws a figure, by its id, from some outcomes into a directory; `content` takes the
    place of entries of `experiment.toml`."""
    experiment = read_experiment(paper, mode)
    experiment = dataclasses.replace(experiment, content={**experiment.content, **content})

    def draw(id: str) -> Findings:
        one = figures_of(paper)[id]
        found = Drawing(one, experiment, FinishedRuns(named), directory, {}).draw()
        assert isinstance(found, dict)
        return found

    return draw


def drawn(directory: Path, name: str, *pictures: str) -> list[list[str]]:
    """The rows of a figure's CSV, after a look at its pictures."""
    for picture in pictures or (name,):
        assert (directory / f"{picture}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (directory / f"{picture}.svg").read_text()
    with (directory / f"{name}.csv").open() as file:
        return list(csv.reader(file))
