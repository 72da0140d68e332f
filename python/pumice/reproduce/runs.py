"""Running an experiment: its runs, its figures, its scoreboard, its report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pumice.reproduce.context import Context
from pumice.reproduce.experiment import Experiment, Runs, choose_figures, read_experiment
from pumice.reproduce.pen import EXAMPLES, FIGURES
from pumice.reproduce.scoreboard import Board, Expected, Finding, board
from pumice.reproduce.traces import TRACES, Row, recorded_traces, trace_jobs, trace_table
from pumice.runner import Outcome, Settings, run_jobs

#: The study whose runs stand beside those of most others.
SHARED = "open-loop"


@dataclass(frozen=True)
class Reproduction:
    """What came of it: the scoreboard, the outcomes of all runs, and the rows of the table of
    recorded traces (None if it was not made)."""

    board: Board
    outcomes: list[Outcome]
    traces: list[Row] | None = None


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
        traces: folder of recorded traces for the table `traces`; None leaves that out.
    """

    figures: Sequence[str]
    mode: str
    directory: Path
    workers: int | None = None
    resume: bool = False
    dask: str | None = None
    traces: Path | None = None


def reproduce_pen(request: Request) -> Reproduction:
    """Reproduces PEN's evaluation; writes figures (PNG, SVG, CSV) and `scoreboard.json`.

    Raises:
        SpecError: a figure that is not made, or a folder without traces.
        Interrupted: Ctrl-C; finished runs are kept.
        OSError: a file cannot be written.
    """
    experiment = read_experiment("pen", request.mode)
    made = [*EXAMPLES, *(name for name in FIGURES if experiment.serving(name)), TRACES]
    chosen = choose_figures(request.figures, made)
    recorded = recorded_traces(request.traces) if request.traces is not None and TRACES in chosen else []
    named = [*experiment.jobs(chosen), *((TRACES, job) for job in trace_jobs(recorded))]
    settings = Settings("reproduce pen", request.workers, request.directory / "runs", request.resume, dask=request.dask)
    outcomes = run_jobs([job for _, job in named], settings)
    by_study = [(study, outcome) for (study, _), outcome in zip(named, outcomes, strict=True)]
    runs = Runs([(study, outcome) for study, outcome in by_study if study != TRACES])
    found = _scoreboard(request, experiment, runs, [name for name in chosen if name != TRACES])
    if not recorded:
        return Reproduction(found, outcomes)
    of_traces = [outcome for study, outcome in by_study if study == TRACES]
    return Reproduction(found, outcomes, trace_table(recorded, of_traces, request.directory / "figures"))


def _scoreboard(request: Request, experiment: Experiment, runs: Runs, chosen: Sequence[str]) -> Board:
    """Draws the figures and writes `scoreboard.json`."""
    figures = request.directory / "figures"
    context = Context(runs, experiment.high_write, figures, request.mode == "full")
    findings: dict[str, Finding] = {}
    for name in chosen:
        findings |= EXAMPLES[name](figures) if name in EXAMPLES else _figure(name, context, experiment)
    rows = [row for row in experiment.expected if row.figure in chosen or not request.figures]
    found = board("pen", rows, {**_refused(rows, runs, experiment), **findings})
    found.write(request.directory / "scoreboard.json")
    return found


def _figure(name: str, context: Context, experiment: Experiment) -> dict[str, Finding]:
    """Draws a figure, unless not a single one of the runs that only it and its like need is there."""
    own = [study for study in experiment.serving(name) if study != SHARED] or [SHARED]
    return FIGURES[name](context) if context.runs.any_done(own) else {}


def _refused(rows: Sequence[Expected], runs: Runs, experiment: Experiment) -> dict[str, Finding]:
    """For rows whose runs failed: no value, and why."""
    errors = {row.id: runs.error(experiment.serving(row.figure)) for row in rows if row.needs != "full"}
    return {name: Finding(None, note=f"runs failed; {error}") for name, error in errors.items() if error is not None}
