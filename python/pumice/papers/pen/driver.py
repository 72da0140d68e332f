"""Running the experiment of PEN: its runs, its figures, its scoreboard, its table of recorded traces."""

from __future__ import annotations

from collections.abc import Sequence

from pumice.papers.context import Context
from pumice.papers.experiment import Experiment, Runs, choose_figures, read_experiment
from pumice.papers.pen.figures_12_13 import EXAMPLES, FIGURES
from pumice.papers.pen.recorded_traces import TRACES, recorded_traces, trace_jobs, trace_table
from pumice.papers.reproduction import Draw, Reproduction, Request, draw_all, judge, run_studies
from pumice.papers.scoreboard import Board, Expected, Finding

#: The study whose runs stand beside those of most others.
SHARED = "open-loop"


def reproduce_pen(request: Request) -> Reproduction:
    """Reproduces PEN's evaluation as `runs.reproduce` does; besides the figures it makes the table of
    recorded traces, if the request names a folder of them.

    Raises:
        SpecError: a figure that is not made, or a folder without traces.
    """
    experiment = read_experiment("pen", request.mode)
    made = [*EXAMPLES, *(name for name in FIGURES if experiment.serving(name)), TRACES]
    chosen = choose_figures(request.figures, made)
    recorded = recorded_traces(request.traces) if request.traces is not None and TRACES in chosen else []
    jobs = [*experiment.jobs(chosen), *((TRACES, job) for job in trace_jobs(recorded))]
    named = run_studies(request, "pen", jobs)
    runs = Runs([(study, outcome) for study, outcome in named if study != TRACES])
    found = _scoreboard(request, experiment, runs, [name for name in chosen if name != TRACES])
    outcomes = [outcome for _, outcome in named]
    if not recorded:
        return Reproduction(found, outcomes)
    of_traces = [outcome for study, outcome in named if study == TRACES]
    table = trace_table(recorded, of_traces, request.drawings)
    table.write(request.directory)
    return Reproduction(found, outcomes, table)


def _scoreboard(request: Request, experiment: Experiment, runs: Runs, chosen: Sequence[str]) -> Board:
    """Draws the figures and judges them; a row of a figure that is not made stands too, unless some
    figures were asked for."""
    context = Context(runs, experiment.high_write, request.drawings, request.mode == "full")
    findings = draw_all(chosen, _draw(context, experiment))
    rows = [row for row in experiment.expected if row.figure in chosen or not request.figures]
    return judge(request, "pen", rows, {**_refused(rows, runs, experiment), **findings})


def _draw(context: Context, experiment: Experiment) -> Draw:
    """Draws a figure, unless not a single one of the runs that only it and its like need is there."""

    def draw(name: str) -> dict[str, Finding]:
        if name in EXAMPLES:
            return EXAMPLES[name](context.directory)
        own = [study for study in experiment.serving(name) if study != SHARED] or [SHARED]
        return FIGURES[name](context) if context.runs.any_done(own) else {}

    return draw


def _refused(rows: Sequence[Expected], runs: Runs, experiment: Experiment) -> dict[str, Finding]:
    """For rows whose runs failed: no value, and why."""
    errors = {row.id: runs.error(experiment.serving(row.figure)) for row in rows if row.needs != "full"}
    return {name: Finding(None, note=f"runs failed; {error}") for name, error in errors.items() if error is not None}
