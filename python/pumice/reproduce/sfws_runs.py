"""Running the experiment of SFWS: its runs, its figures, its scoreboard."""

from __future__ import annotations

from pumice.reproduce.experiment import choose_figures, read_experiment
from pumice.reproduce.runs import Reproduction, Request
from pumice.reproduce.scoreboard import Finding, board
from pumice.reproduce.sfws import EXAMPLES, FIGURES, Context
from pumice.runner import Settings, run_jobs


def reproduce_sfws(request: Request) -> Reproduction:
    """Reproduces the evaluation of SFWS; writes figures (PNG, SVG, CSV) and `scoreboard.json`.

    Raises:
        SpecError: a figure that is not made.
        Interrupted: Ctrl-C; finished runs are kept.
        OSError: a file cannot be written.
    """
    chosen = choose_figures(request.figures, [*EXAMPLES, *FIGURES])
    experiment = read_experiment("sfws", request.mode)
    named = experiment.jobs(chosen)
    settings = Settings("reproduce sfws", request.workers, request.directory / "runs", request.resume, dask=request.dask)
    outcomes = run_jobs([job for _, job in named], settings)
    runs = [(study, outcome) for (study, _), outcome in zip(named, outcomes, strict=True)]
    figures = request.directory / "figures"
    context = Context(runs, figures, request.mode == "full")
    findings: dict[str, Finding] = {}
    for name in chosen:
        findings |= EXAMPLES[name](figures) if name in EXAMPLES else FIGURES[name](context)
    found = board("sfws", [row for row in experiment.expected if row.figure in chosen], findings)
    found.write(request.directory / "scoreboard.json")
    return Reproduction(found, outcomes)
