"""Numbers of a run that the figures of several papers show."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pumice.results.document import number

#: A result document; None stands for a run that failed.
Document = Mapping[str, Any] | None

#: A number of a run; None if the run failed or has no such number.
Quantity = Callable[[Document], float | None]

#: Fields of the result document that several figures show.
WRITE_LATENCY, READ_LATENCY = "host.write.latency_us.mean", "host.read.latency_us.mean"
WAF, AEP, VEP = "write_amplification", "wear.aep", "wear.vep"


def quantity(path: str, divisor: float = 1.0) -> Quantity:
    """The field at a dotted path, divided by `divisor`."""

    def of(document: Document) -> float | None:
        found = number(document, path)
        return None if found is None else found / divisor

    return of


def erases_per_block(document: Document) -> float | None:
    """Erase operations for each block of the device, whatever each of them erased: P/E cycles a block, if a
    partial erase wore its whole block."""
    found = [number(document, f"flash.erases.{unit}") for unit in ("block", "partial", "sub_block")]
    blocks = number(document, "device.blocks")
    return sum(count for count in found if count is not None) / blocks if blocks else None


def quotient(over: float | None, under: float | None) -> float | None:
    """`over` / `under`; None if one of them is missing or `under` is 0."""
    return over / under if over is not None and under else None
