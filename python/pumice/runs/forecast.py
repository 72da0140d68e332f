"""How long the runs of a batch take on this machine: from a sample before they begin, and from those that ended.

The time of a run that has not begun is that of its sample. A run that was not sampled takes as long as the mean of
those that were and share most of its varied values. What an experiment says of its runs counts where nothing was
sampled. All are multiplied by the ratio of measured to predicted times of the runs that ended.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

#: Most runs that are sampled, and the share of the runs that wait. A run that ends within its time is no sample but
#: done, so that only long runs are begun twice.
SAMPLES_MAX, SAMPLES_SHARE = 12, 3

#: Seconds that a sampled run is given, and all of them together.
SLICE_S, BUDGET_S = 0.7, 8.0

#: Share of a run and seconds from which its own progress says how long it takes.
_OWN_SHARE, _OWN_S = 0.05, 2.0


def sample_of(keys: Sequence[str]) -> list[str]:
    """The runs to sample: some of the runs that wait, spread evenly over them."""
    many = min(SAMPLES_MAX, len(keys) // SAMPLES_SHARE)
    return [keys[place * len(keys) // many] for place in range(many)]


@dataclass(frozen=True)
class Underway:
    """A run that goes on: seconds since it began, and the share that is done."""

    elapsed_s: float
    share: float

    def seconds(self) -> float | None:
        """What the run takes in all, by its own progress; None if it has come too short a way to tell."""
        if self.share < _OWN_SHARE or self.elapsed_s < _OWN_S:
            return None
        return self.elapsed_s / self.share


@dataclass
class Forecast:
    """Seconds of each run of a batch.

    Attributes:
        varied: the varied values of each run, by key.
        expected: seconds that an experiment expects of its runs on one core, by key.
        workers: number of runs that are simulated at a time.
    """

    varied: Mapping[str, Mapping[str, Any]]
    expected: Mapping[str, float | None]
    workers: int
    _sampled: dict[str, float] = field(default_factory=dict)
    _measured: dict[str, float] = field(default_factory=dict)

    def sampled(self, key: str, seconds: float) -> None:
        """Takes down what a run will take by its sample."""
        self._sampled[key] = seconds

    def ended(self, key: str, seconds: float) -> None:
        """Takes down what a run took."""
        self._measured[key] = seconds

    def samples(self) -> int:
        """Number of runs of which something was measured."""
        return len(self._sampled.keys() | self._measured.keys())

    def left_s(self, waiting: Iterable[str], underway: Mapping[str, Underway]) -> float | None:
        """Seconds until all runs have ended; None if nothing is known."""
        factor = self._factor()
        rest: list[float] = []
        for key in waiting:
            predicted = self._predicted(key)
            if predicted is None:
                return None
            rest.append(predicted * factor)
        for key, run in underway.items():
            seconds = run.seconds()
            if seconds is None:
                predicted = self._predicted(key)
                if predicted is None:
                    return None
                seconds = max(predicted * factor, run.elapsed_s)
            rest.append(seconds * (1 - run.share))
        # A single long run at the end keeps one worker busy, however many there are.
        return max(sum(rest) / self.workers, *rest) if rest else 0.0

    def _predicted(self, key: str) -> float | None:
        """Seconds of a run that has not ended, before it is known how good the predictions are."""
        if key in self._sampled:
            return self._sampled[key]
        if not self._sampled and self.expected[key] is not None:
            return self.expected[key]
        known = {**self._measured, **self._sampled}
        if not known:
            return None
        alike = {other: self._alike(key, other) for other in known}
        most = max(alike.values())
        return statistics.fmean(known[other] for other, equal in alike.items() if equal == most)

    def _alike(self, key: str, other: str) -> int:
        """How many varied values two runs share."""
        own, others = self.varied[key], self.varied[other]
        return sum(name in others and others[name] == value for name, value in own.items())

    def _factor(self) -> float:
        """Measured / predicted time of the runs that ended and had been predicted."""
        pairs = [
            (seconds, self._sampled.get(key, None if self._sampled else self.expected[key]))
            for key, seconds in self._measured.items()
        ]
        predicted = sum(found for _, found in pairs if found is not None)
        measured = sum(seconds for seconds, found in pairs if found is not None)
        return measured / predicted if predicted > 0 and measured > 0 else 1.0
