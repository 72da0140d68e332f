"""Running an experiment: its runs, its figures, its scoreboard, its report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pumice.reproduce.experiment import Runs, choose_figures, read_experiment
from pumice.reproduce.pen import EXAMPLES, FIGURES, Context
from pumice.reproduce.scoreboard import Board, Finding, board
from pumice.runner import Outcome, Settings, run_jobs


@dataclass(frozen=True)
class Reproduction:
    """What came of it: the scoreboard, and the outcomes of all runs."""

    board: Board
    outcomes: list[Outcome]


@dataclass(frozen=True)
class Request:
    """What to reproduce.

    Attributes:
        figures: figures to make, empty for all.
        mode: "quick" (a fraction of device and workloads) or "full".
        directory: where figures, scoreboard and runs go.
        workers: processes; None takes one a CPU.
        resume: reuse the runs that the directory holds.
        dask: address of a Dask scheduler whose workers simulate instead, or None.
    """

    figures: Sequence[str]
    mode: str
    directory: Path
    workers: int | None = None
    resume: bool = False
    dask: str | None = None


def reproduce_pen(request: Request) -> Reproduction:
    """Reproduces PEN's evaluation; writes figures (PNG, SVG, CSV) and `scoreboard.json`.

    Raises:
        SpecError: a figure that is not made.
        Interrupted: Ctrl-C; finished runs are kept.
        OSError: a file cannot be written.
    """
    chosen = choose_figures(request.figures, [*EXAMPLES, *FIGURES])
    experiment = read_experiment("pen", request.mode)
    named = experiment.jobs(chosen)
    settings = Settings("reproduce pen", request.workers, request.directory / "runs", request.resume, dask=request.dask)
    outcomes = run_jobs([job for _, job in named], settings)
    runs = Runs([(study, outcome) for (study, _), outcome in zip(named, outcomes, strict=True)])
    figures = request.directory / "figures"
    context = Context(runs, experiment.high_write, figures, request.mode == "full")
    findings: dict[str, Finding] = {}
    for name in chosen:
        findings |= EXAMPLES[name](figures) if name in EXAMPLES else FIGURES[name](context)
    found = board("pen", [row for row in experiment.expected if row.figure in chosen], findings)
    found.write(request.directory / "scoreboard.json")
    return Reproduction(found, outcomes)
