"""Running the experiment of SFWS: its figures over its runs."""

from __future__ import annotations

from pumice.papers.experiment import read_experiment
from pumice.papers.reproduction import Draw, Named, Reproduction, Request, reproduce
from pumice.papers.sfws.figure_5 import EXAMPLES, FIGURES, Context


def reproduce_sfws(request: Request) -> Reproduction:
    """Reproduces the evaluation of SFWS, as `runs.reproduce` does."""

    def drawing(named: Named) -> Draw:
        context = Context(named, request.drawings, request.mode == "full")
        return lambda name: EXAMPLES[name](request.drawings) if name in EXAMPLES else FIGURES[name](context)

    return reproduce(request, read_experiment("sfws", request.mode), [*EXAMPLES, *FIGURES], drawing)
