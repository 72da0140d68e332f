"""How fast a run comes on, from the share that is done at some of its moments.

What comes once says nothing of the rest: what comes before the first moment, such as filling the device, and a step
from one moment to the next that is far slower than the others, in which the device may have recovered after a power
cut. Of steps that are slower by less, each counts: a run that begins to collect goes on as slowly.
"""

from __future__ import annotations

#: Steps of a run from which its pace can be told.
_STEPS_MIN = 3

#: The slowest step is left out if it is this many times as slow as the one in the middle.
_ONCE_FROM = 8.0


class Pace:
    """The pace of a run."""

    def __init__(self) -> None:
        self._last: tuple[float, float] | None = None
        self._steps: list[tuple[float, float]] = []

    def note(self, elapsed_s: float, share: float) -> None:
        """Takes down that so much is done after so many seconds."""
        if self._last is not None and share <= self._last[1]:
            return
        if self._last is not None:
            self._steps.append((elapsed_s - self._last[0], share - self._last[1]))
        self._last = elapsed_s, share

    def whole_s(self) -> float | None:
        """Seconds of the whole run; None if too little is known."""
        if self._last is None or len(self._steps) < _STEPS_MIN:
            return None
        steps = sorted(self._steps, key=_slowness)
        if _slowness(steps[-1]) > _ONCE_FROM * _slowness(steps[len(steps) // 2]):
            steps.pop()
        elapsed_s, share = self._last
        return elapsed_s + (1 - share) * sum(step[0] for step in steps) / sum(step[1] for step in steps)


def _slowness(step: tuple[float, float]) -> float:
    """Seconds of a step for each part of the run."""
    seconds, share = step
    return seconds / share
