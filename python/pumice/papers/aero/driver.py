"""Running the experiment of AERO: its figures over its blocks and its runs."""

from __future__ import annotations

import tomllib

from pumice.errors import SpecError
from pumice.papers.aero import load, pen_aero, read_tails, sensitivity, single_blocks, suspension_rules
from pumice.papers.experiment import ROOT, read_experiment
from pumice.papers.reproduction import Draw, Named, Reproduction, Request, reproduce

#: Figures over runs of a device: figure → function of the runs.
DEVICE_FIGURES = {
    **read_tails.FIGURES,
    **sensitivity.FIGURES,
    **suspension_rules.FIGURES,
    **load.FIGURES,
    **pen_aero.FIGURES,
}

#: Every figure there is.
FIGURES = [*single_blocks.FIGURES, *DEVICE_FIGURES]


def reproduce_aero(request: Request) -> Reproduction:
    """Reproduces AERO's evaluation, as `runs.reproduce` does."""
    blocks = single_blocks.Context(request.drawings, _blocks(request.mode))

    def drawing(named: Named) -> Draw:
        device = read_tails.Device(named, request.drawings)
        alone = single_blocks.FIGURES
        return lambda name: alone[name](blocks) if name in alone else DEVICE_FIGURES[name](device)

    return reproduce(request, read_experiment("aero", request.mode), FIGURES, drawing)


def _blocks(mode: str) -> int:
    """Blocks behind each distribution of single blocks, in a mode."""
    path = ROOT / "aero" / "experiment.toml"
    try:
        return int(tomllib.loads(path.read_text(encoding="utf-8"))["blocks"][mode])
    except (OSError, tomllib.TOMLDecodeError, KeyError) as error:
        raise SpecError(f"{path}: {error}") from None
