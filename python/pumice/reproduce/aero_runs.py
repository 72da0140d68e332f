"""Running the experiment of AERO: its figures over its blocks and its runs."""

from __future__ import annotations

import tomllib

from pumice.errors import SpecError
from pumice.reproduce import aero, aero_device, aero_pen, aero_sensitivity
from pumice.reproduce.experiment import ROOT, read_experiment
from pumice.reproduce.runs import Draw, Named, Reproduction, Request, reproduce

#: Figures over runs of a device: figure → function of the runs.
DEVICE_FIGURES = {**aero_device.FIGURES, **aero_sensitivity.FIGURES, **aero_pen.FIGURES}

#: Every figure there is.
FIGURES = [*aero.FIGURES, *DEVICE_FIGURES]


def reproduce_aero(request: Request) -> Reproduction:
    """Reproduces AERO's evaluation, as `runs.reproduce` does."""
    blocks = aero.Context(request.drawings, _blocks(request.mode))

    def drawing(named: Named) -> Draw:
        device = aero_device.Device(named, request.drawings)
        return lambda name: aero.FIGURES[name](blocks) if name in aero.FIGURES else DEVICE_FIGURES[name](device)

    return reproduce(request, read_experiment("aero", request.mode), FIGURES, drawing)


def _blocks(mode: str) -> int:
    """Blocks behind each distribution of single blocks, in a mode."""
    path = ROOT / "aero" / "experiment.toml"
    try:
        return int(tomllib.loads(path.read_text(encoding="utf-8"))["blocks"][mode])
    except (OSError, tomllib.TOMLDecodeError, KeyError) as error:
        raise SpecError(f"{path}: {error}") from None
