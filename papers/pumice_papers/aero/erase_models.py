"""The engine's erase models, asked without a device: what AERO's figures of single blocks share."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pumice import _engine
from pumice.analysis import plots
from pumice_papers.figures import Drawing

PULSE_MS = 0.5
PULSES_PER_LOOP = 7
PECS = tuple(range(0, 5001, 500))
SCHEMES = ("ispe", "i-ispe", "dpes", "aero-cons", "aero")

#: Blocks of section 5 are cycled with full pulses in every loop (5.1), whatever erases them in the end.
FULL_PULSES = {"mode": "mechanism", "cycled": "ispe"}

RANGES = ("γ", "δ", "2δ", "3δ", "4δ", "5δ", "6δ", "7δ")


def ask(what: str, **options: Any) -> Any:
    """Asks the erase models; options as in the engine's `EraseQuery`.

    Raises:
        SpecError: an option or its value is not allowed.
    """
    return json.loads(_engine.erase_model(json.dumps({"what": what, **options})))


def block_count(drawing: Drawing) -> int:
    """Blocks behind each distribution of single blocks, in the drawing's mode."""
    return int(drawing.experiment.content["blocks"][drawing.experiment.mode])


def erased(drawing: Drawing, scheme: str, pecs: Sequence[int], **options: Any) -> list[dict[str, Any]]:
    """Blocks by the pulses and loops that a scheme applies, at each number of P/E cycles."""
    return list(ask("distribution", scheme=scheme, pec=list(pecs), blocks=block_count(drawing), **options))


def needed(drawing: Drawing, pecs: Sequence[int], **options: Any) -> list[dict[str, Any]]:
    """Blocks that were cycled with full pulses by the pulses that they need, at each number of P/E cycles."""
    return erased(drawing, "aero-cons", pecs, **FULL_PULSES, **options)


def curves_of(x: Sequence[float], curves: Mapping[str, Sequence[float]]) -> list[plots.Curve]:
    """Plain lines by name, all over the same x."""
    return [plots.Curve(name, x, values, "plain") for name, values in curves.items()]


def fail_bits(drawing: Drawing) -> dict[str, Any]:
    """Fail bits after each pulse of the last loop, counted over such blocks at every number of `PECS`."""
    found: dict[str, Any] = ask(
        "fail-bits", pec=list(PECS), blocks=block_count(drawing), scheme="aero-cons", **FULL_PULSES
    )
    return found
