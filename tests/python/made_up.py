"""Runs of a paper's experiment that nobody simulated, and a look at the figures drawn from them."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pumice.papers.experiment import Experiment
from pumice.runs.batch import Job, Outcome

#: A study and what a run varies → its document; None for a run that fails.
Make = Callable[[str, dict[str, Any]], dict[str, Any] | None]


def outcomes(experiment: Experiment, figures: Iterable[str], make: Make) -> list[tuple[str, Outcome]]:
    """All runs that an experiment plans for some figures, made up."""
    named: list[tuple[str, Outcome]] = []
    for study, job in experiment.jobs(list(figures)):
        found = make(study, dict(job.varied))
        named.append((study, Outcome(Job(job.label, job.spec, job.varied), found, None if found else "refused")))
    return named


def drawn(directory: Path, name: str, *pictures: str) -> list[list[str]]:
    """The rows of a figure's CSV, after a look at its pictures."""
    for picture in pictures or (name,):
        assert (directory / f"{picture}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (directory / f"{picture}.svg").read_text()
    with (directory / f"{name}.csv").open() as file:
        return list(csv.reader(file))
