"""Running the experiment of the 2006 superblock FTL: its runs, its figures, its scoreboard."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pumice.reproduce import superblock_choices
from pumice.reproduce.context import Context, FigureOf
from pumice.reproduce.experiment import Runs, choose_figures, read_experiment
from pumice.reproduce.runs import Reproduction, Request
from pumice.reproduce.scoreboard import Finding, board
from pumice.reproduce.superblock import FIGURES
from pumice.reproduce.superblock_examples import figure_4, figure_6
from pumice.reproduce.superblock_modern import figure_modern
from pumice.runner import Settings, run_jobs

#: Figures that need no run: figure → function of the directory to draw in.
EXAMPLES: dict[str, Callable[[Path], dict[str, Finding]]] = {"4": figure_4, "6": figure_6}

#: Figures over runs: figure → function of the context.
OVER_RUNS: dict[str, FigureOf] = {**FIGURES, "modern": figure_modern, **superblock_choices.FIGURES}


def reproduce_superblock(request: Request) -> Reproduction:
    """Reproduces the evaluation of the superblock FTL; writes figures (PNG, SVG, CSV) and `scoreboard.json`.

    Raises:
        SpecError: a figure that is not made.
        Interrupted: Ctrl-C; finished runs are kept.
        OSError: a file cannot be written.
    """
    experiment = read_experiment("superblock", request.mode)
    made = [*EXAMPLES, *(name for name in OVER_RUNS if experiment.serving(name))]
    chosen = choose_figures(request.figures, made)
    named = experiment.jobs(chosen)
    settings = Settings(
        "reproduce superblock", request.workers, request.directory / "runs", request.resume, dask=request.dask
    )
    outcomes = run_jobs([job for _, job in named], settings)
    runs = Runs([(study, outcome) for (study, _), outcome in zip(named, outcomes, strict=True)])
    figures = request.directory / "figures"
    context = Context(runs, experiment.high_write, figures, request.mode == "full")
    findings: dict[str, Finding] = {}
    for name in chosen:
        findings |= EXAMPLES[name](figures) if name in EXAMPLES else OVER_RUNS[name](context)
    found = board("superblock", [row for row in experiment.expected if row.figure in chosen], findings)
    found.write(request.directory / "scoreboard.json")
    return Reproduction(found, outcomes)
