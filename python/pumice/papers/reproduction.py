"""Running an experiment: its runs, its figures, its scoreboard. What the drivers of all papers share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pumice.papers.experiment import Experiment, choose_figures
from pumice.papers.listing import Table
from pumice.papers.scoreboard import Board, Expected, Finding, board
from pumice.runs.batch import Job, Outcome, Settings, run_jobs

#: Outcomes of an experiment, each with the study that it belongs to.
Named = list[tuple[str, Outcome]]

#: Draws a figure by name and returns what the scoreboard compares.
Draw = Callable[[str], dict[str, Finding]]


@dataclass(frozen=True)
class Reproduction:
    """What came of it: the scoreboard, the outcomes of all runs, and the table beside the figures, if
    there is one."""

    board: Board
    outcomes: list[Outcome]
    table: Table | None = None


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
        traces: folder of recorded traces, for PEN's table `traces` and the matrix; None leaves them out.
        announce: told how long a long study will take before it begins.
    """

    figures: Sequence[str]
    mode: str
    directory: Path
    workers: int | None = None
    resume: bool = False
    dask: str | None = None
    traces: Path | None = None
    announce: Callable[[str], None] | None = None

    @property
    def drawings(self) -> Path:
        """Where figures and their CSV files go."""
        return self.directory / "figures"


def reproduce(
    request: Request, experiment: Experiment, made: Sequence[str], drawing: Callable[[Named], Draw]
) -> Reproduction:
    """Reproduces an evaluation; writes figures (PNG, SVG, CSV) and `scoreboard.json`.

    Args:
        request: what is wanted of it.
        experiment: its studies and what is expected of them.
        made: every figure that can be made, in order.
        drawing: given the outcomes, what draws a figure.

    Raises:
        SpecError: a figure that is not made.
        Interrupted: Ctrl-C; finished runs are kept.
        OSError: a file cannot be written.
    """
    chosen = choose_figures(request.figures, made)
    named = run_studies(request, experiment.name, experiment.jobs(chosen))
    rows = [row for row in experiment.expected if row.figure in chosen]
    found = judge(request, experiment.name, rows, draw_all(chosen, drawing(named)))
    return Reproduction(found, [outcome for _, outcome in named])


def run_studies(request: Request, paper: str, jobs: Sequence[tuple[str, Job]]) -> Named:
    """Runs jobs, each given with its study; raises as `run_jobs` does."""
    store = request.directory / "runs"
    settings = Settings(
        f"reproduce {paper}", request.workers, store, request.resume, dask=request.dask, announce=request.announce
    )
    outcomes = run_jobs([job for _, job in jobs], settings)
    return [(study, outcome) for (study, _), outcome in zip(jobs, outcomes, strict=True)]


def draw_all(chosen: Sequence[str], draw: Draw) -> dict[str, Finding]:
    """Draws figures one after another; returns all that the scoreboard compares."""
    findings: dict[str, Finding] = {}
    for name in chosen:
        findings |= draw(name)
    return findings


def judge(request: Request, paper: str, rows: Sequence[Expected], findings: dict[str, Finding]) -> Board:
    """The scoreboard of some rows, also written as `scoreboard.json`."""
    found = board(paper, rows, findings)
    found.write(request.directory / "scoreboard.json")
    return found
