"""How fast a run comes on, from the share that is done at some of its moments.

What comes once says nothing of the rest: what comes before the first moment, such as filling the device, and a step
from one moment to the next that is far slower than the others, in which the device may have recovered after a power
cut. Of steps that are slower by less, each counts: a run that begins to collect goes on as slowly. Ageing the device
is counted apart: other runs may need the same device, and take it as it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

#: Pages of ageing between two reports of the engine.
PAGES_A_REPORT = 1 << 17

#: Steps of a run from which its pace can be told.
_STEPS_MIN = 3

#: The slowest step is left out if it is this many times as slow as the one in the middle.
_ONCE_FROM = 8.0


class Pace:
    """The pace of a run."""

    def __init__(self) -> None:
        self._last: tuple[float, float] | None = None
        self._steps: list[tuple[float, float]] = []
        #: Seconds until the device was aged, as far as is known.
        self.ageing_s = 0.0

    def note(self, elapsed_s: float, share: float, requests: int = 1) -> None:
        """Takes down that so much is done after so many seconds. Before its first request a run ages its device."""
        if requests == 0:
            self.ageing_s = elapsed_s
            return
        if self._last is not None and share <= self._last[1]:
            return
        if self._last is not None:
            self._steps.append((elapsed_s - self._last[0], share - self._last[1]))
        self._last = elapsed_s, share

    def whole_s(self) -> float | None:
        """Seconds of the whole run without ageing; None if too little is known."""
        if self._last is None or len(self._steps) < _STEPS_MIN:
            return None
        steps = sorted(self._steps, key=_slowness)
        if _slowness(steps[-1]) > _ONCE_FROM * _slowness(steps[len(steps) // 2]):
            steps.pop()
        elapsed_s, share = self._last
        return elapsed_s - self.ageing_s + (1 - share) * sum(step[0] for step in steps) / sum(step[1] for step in steps)


def _slowness(step: tuple[float, float]) -> float:
    """Seconds of a step for each part of the run."""
    seconds, share = step
    return seconds / share


def ageing_reports(resolved: Mapping[str, Any]) -> float | None:
    """About how many reports the ageing of a resolved spec takes; None if it is not aged, or by requests, whose number
    nobody knows before."""
    config = resolved["config"]
    shape, initial = config["geometry"], config["initial"]
    if not initial["age_writes"] or initial["aged_by"] != "pages":
        return None
    parts = ("channels", "chips_per_channel", "dies_per_chip", "planes_per_die", "blocks_per_plane", "pages_per_block")
    pages = math.prod(shape[part] for part in parts) * resolved["scale"] * (1 - config["ftl"]["over_provisioning"])
    return float(pages * initial["age_writes"] / PAGES_A_REPORT)
