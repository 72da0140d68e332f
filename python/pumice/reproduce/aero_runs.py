"""Running the experiment of AERO: its runs, its figures, its scoreboard."""

from __future__ import annotations

import tomllib

from pumice.errors import SpecError
from pumice.reproduce import aero, aero_device, aero_pen, aero_sensitivity
from pumice.reproduce.experiment import ROOT, choose_figures, read_experiment
from pumice.reproduce.runs import Reproduction, Request
from pumice.reproduce.scoreboard import Finding, board
from pumice.runner import Settings, run_jobs

#: Figures over runs of a device: figure → function of the runs.
DEVICE_FIGURES = {**aero_device.FIGURES, **aero_sensitivity.FIGURES, **aero_pen.FIGURES}

#: Every figure there is.
FIGURES = [*aero.FIGURES, *DEVICE_FIGURES]


def reproduce_aero(request: Request) -> Reproduction:
    """Reproduces AERO's evaluation; writes figures (PNG, SVG, CSV) and `scoreboard.json`.

    Raises:
        SpecError: a figure that is not made.
        Interrupted: Ctrl-C; finished runs are kept.
        OSError: a file cannot be written.
    """
    chosen = choose_figures(request.figures, FIGURES)
    experiment = read_experiment("aero", request.mode)
    named = experiment.jobs(chosen)
    settings = Settings(
        "reproduce aero", request.workers, request.directory / "runs", request.resume, dask=request.dask
    )
    outcomes = run_jobs([job for _, job in named], settings)
    figures = request.directory / "figures"
    blocks = aero.Context(figures, _blocks(request.mode))
    runs = [(study, outcome) for (study, _), outcome in zip(named, outcomes, strict=True)]
    device = aero_device.Device(runs, figures)
    findings: dict[str, Finding] = {}
    for name in chosen:
        findings |= aero.FIGURES[name](blocks) if name in aero.FIGURES else DEVICE_FIGURES[name](device)
    found = board("aero", [row for row in experiment.expected if row.figure in chosen], findings)
    found.write(request.directory / "scoreboard.json")
    return Reproduction(found, outcomes)


def _blocks(mode: str) -> int:
    """Blocks behind each distribution of single blocks, in a mode."""
    path = ROOT / "aero" / "experiment.toml"
    try:
        return int(tomllib.loads(path.read_text(encoding="utf-8"))["blocks"][mode])
    except (OSError, tomllib.TOMLDecodeError, KeyError) as error:
        raise SpecError(f"{path}: {error}") from None
