"""Running the experiment of the 2006 superblock FTL: its figures over its runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pumice.papers.context import Context, FigureOf
from pumice.papers.experiment import Runs, read_experiment
from pumice.papers.reproduction import Draw, Named, Reproduction, Request, reproduce
from pumice.papers.scoreboard import Finding
from pumice.papers.superblock import free_choices
from pumice.papers.superblock.figures_4_6 import figure_4, figure_6
from pumice.papers.superblock.figures_9_14 import FIGURES
from pumice.papers.superblock.modern import figure_modern

#: Figures that need no run: figure → function of the directory to draw in.
EXAMPLES: dict[str, Callable[[Path], dict[str, Finding]]] = {"4": figure_4, "6": figure_6}

#: Figures over runs: figure → function of the context.
OVER_RUNS: dict[str, FigureOf] = {**FIGURES, "modern": figure_modern, **free_choices.FIGURES}


def reproduce_superblock(request: Request) -> Reproduction:
    """Reproduces the evaluation of the superblock FTL, as `runs.reproduce` does."""
    experiment = read_experiment("superblock", request.mode)
    made = [*EXAMPLES, *(name for name in OVER_RUNS if experiment.serving(name))]

    def drawing(named: Named) -> Draw:
        context = Context(Runs(named), experiment.high_write, request.drawings, request.mode == "full")
        return lambda name: EXAMPLES[name](request.drawings) if name in EXAMPLES else OVER_RUNS[name](context)

    return reproduce(request, experiment, made, drawing)
