"""Reproducing an experiment: its runs, its figures, its scoreboard."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pumice.outputs import FIGURES, SCOREBOARD, STORE, one_set, refuse_foreign
from pumice.runs.batch import Settings, keeping, run_jobs
from pumice.runs.jobs import Job, Outcome
from pumice_papers.experiment import Experiment, read_experiment
from pumice_papers.figures import PAPERS, Drawing, Figure, Findings, RunPlan, choose, figures_of
from pumice_papers.finished_runs import FinishedRuns
from pumice_papers.listing import Listing
from pumice_papers.scoreboard import Board, Expected, Finding, board


@dataclass(frozen=True)
class Request:
    """What to reproduce.

    Attributes:
        figures: figures to make, empty for all.
        mode: "quick" (a fraction of device and workloads) or "full".
        directory: where figures, scoreboard and runs go.
        settings: how the runs are simulated; their title and store are those of the paper.
        traces: folder of recorded traces, for PEN's listing `traces` and the matrix; None leaves them out.
        repeat: seeds of every run; None leaves what the experiment says.
        judged_only: leave out figures that compare nothing with the paper, and their runs.
    """

    figures: Sequence[str]
    mode: str
    directory: Path
    settings: Settings
    traces: Path | None = None
    repeat: int | None = None
    judged_only: bool = False


@dataclass(frozen=True)
class Reproduction:
    """The scoreboard, the outcomes of all runs, and the listing, if a figure made one."""

    board: Board
    outcomes: list[Outcome]
    listing: Listing | None = None


def figures_made(experiment: Experiment) -> dict[str, Figure]:
    """The figures of an experiment that its mode makes: those whose studies it runs."""
    return {id: one for id, one in figures_of(experiment.name).items() if all(map(experiment.has, one.sweeps))}


def reproduce(paper: str, request: Request) -> Reproduction:
    """Reproduces one of `EXPERIMENTS`. Writes figures (PNG, SVG, CSV) and `scoreboard.json`.

    Raises:
        SpecError: a figure that is not made, a file of the experiment that cannot be used, or a file of somebody
            else's in the place of an output.
        Interrupted: Ctrl-C; finished runs are kept.
        OSError: a file cannot be written.
    """
    experiment = read_experiment(paper, request.mode, request.repeat)
    chosen = choose(request.figures, figures_made(experiment))
    if request.judged_only:
        chosen = [one for one in chosen if one.rows or one.planned]
    refuse_foreign(request.directory)
    plans = _plans(request, experiment, chosen)
    named = _run(request, experiment, chosen, plans)
    findings: Findings = {}
    listing: Listing | None = None
    outcomes = [outcome for _, outcome in named]
    kept = dataclasses.replace(request.settings, store=request.directory / STORE)
    with keeping(outcomes, kept), one_set(request.directory, SCOREBOARD) as staged:
        for one in chosen:
            drawing = Drawing(one, experiment, FinishedRuns(named), staged / FIGURES, plans)
            findings |= _without_values(drawing)
            found = drawing.draw()
            if isinstance(found, Listing):
                listing = found
                listing.write(staged)
            else:
                findings |= found
        found_board = board(paper, _rows(request, experiment, chosen), findings)
        found_board.write(staged / SCOREBOARD)
    return Reproduction(found_board, outcomes, listing)


def reproduce_all(request: Request, tell: Callable[[str, Reproduction], None]) -> Board:
    """Reproduces the papers in turn, each in a directory of its name, and joins their scoreboards. Figures without
    rows are left out.

    The joined `scoreboard.json` is written whatever happens: rows of papers that an interruption or an
    error left out are "not-run" in it.

    Args:
        request: what holds for every paper; figures cannot be chosen.
        tell: called with the name and the reproduction of a paper as soon as it is finished.

    Returns:
        The joined scoreboard.

    Raises:
        Interrupted: Ctrl-C; finished papers and finished runs of the one under way are kept.
        SpecError, OSError: as `reproduce`.
    """
    finished: dict[str, Board] = {}
    try:
        for name in PAPERS:
            own = dataclasses.replace(request, directory=request.directory / name, judged_only=True)
            done = reproduce(name, own)
            finished[name] = done.board
            tell(name, done)
    finally:
        joined = _joined(request.mode, finished)
        with one_set(request.directory, SCOREBOARD) as staged:
            joined.write(staged / SCOREBOARD)
    return joined


def _plans(request: Request, experiment: Experiment, chosen: Sequence[Figure]) -> dict[str, RunPlan]:
    """The plans of studies that functions plan; those that need a folder of traces are left out without one."""
    made = {
        study.name: study.plan(experiment, request.traces, request.directory) for one in chosen for study in one.planned
    }
    return {name: plan for name, plan in made.items() if plan is not None}


def _run(
    request: Request, experiment: Experiment, chosen: Sequence[Figure], plans: Mapping[str, RunPlan]
) -> list[tuple[str, Outcome]]:
    """Runs what the figures read; every outcome with its study."""
    studies = list(dict.fromkeys(study for one in chosen for study in one.sweeps))
    jobs: list[tuple[str, Job]] = experiment.jobs(studies)
    jobs += [(name, job) for name, plan in plans.items() for job in plan.jobs]
    title, store = f"reproduce {experiment.name}", request.directory / STORE
    settings = dataclasses.replace(request.settings, title=title, store=store)
    outcomes = run_jobs([job for _, job in jobs], settings)
    return [(study, outcome) for (study, _), outcome in zip(jobs, outcomes, strict=True)]


def _without_values(drawing: Drawing) -> Findings:
    """If a run of the figure failed: its rows without a value, and why. Rows that only the full mode has are
    left as they are."""
    error = drawing.runs.error(drawing.figure.sweeps)
    if error is None:
        return {}
    needs_full = {row.id for row in drawing.experiment.expected if row.needs == "full"}
    rows = [row for row in drawing.figure.rows if row not in needs_full]
    return {row: Finding(None, note=f"runs failed; {error}") for row in rows}


def _rows(request: Request, experiment: Experiment, chosen: Sequence[Figure]) -> list[Expected]:
    """The published rows to judge: all of them, or those of the figures that were asked for."""
    served = {row for one in chosen for row in one.rows}
    return [row for row in experiment.expected if not request.figures or row.id in served]


def _joined(mode: str, finished: Mapping[str, Board]) -> Board:
    """The rows of all papers; of one that is not finished, every row without a value."""
    boards = [finished.get(name) or board(name, read_experiment(name, mode).expected, {}) for name in PAPERS]
    return Board("all", [row for found in boards for row in found.rows])
