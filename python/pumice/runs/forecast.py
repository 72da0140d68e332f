"""How long the runs of a batch take on this machine: from a sample before they begin, and from those that ended.

The time of a run that has not begun is that of its sample. A run that was not sampled takes as long as the mean of
those that were and share most of its varied values. What an experiment says of its runs counts where nothing was
sampled. What was foreseen is multiplied by the ratio of measured to foreseen times of the runs that ended.

Ageing is counted apart: runs that need the same device share it, and each worker ages it once.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

#: Most runs that are sampled, and the share of the runs that wait. A run that ends within its time is no sample but
#: done, so that only long runs are begun twice.
SAMPLES_MAX, SAMPLES_SHARE = 12, 3

#: Seconds that a sampled run is given, and all of them together.
SLICE_S, BUDGET_S = 0.7, 8.0

#: Most runs that a run is compared with, and most of the runs that wait which are looked at: a forecast is made while
#: runs go on, and may not take their time.
_COMPARED_MAX, _LOOKED_AT_MAX = 64, 1000

#: Share of a run and seconds from which its own progress says how long it takes.
_OWN_SHARE, _OWN_S = 0.05, 2.0


def sample_of(keys: Sequence[str]) -> list[str]:
    """The runs to sample: some of the runs that wait, spread over them. Each is one further behind the beginning of its
    part than the one before, so that not all have the same value of the key that varies fastest."""
    many = min(SAMPLES_MAX, len(keys) // SAMPLES_SHARE)
    return [keys[place * len(keys) // many + place % (len(keys) // many)] for place in range(many)]


@dataclass(frozen=True)
class Underway:
    """A run that goes on: seconds since it began, the share that is done, and the seconds in which its device was
    aged."""

    elapsed_s: float
    share: float
    ageing_s: float = 0.0

    @property
    def own_s(self) -> float:
        """Seconds behind the ageing."""
        return max(self.elapsed_s - self.ageing_s, 0.0)

    def seconds(self) -> float | None:
        """What the run takes without ageing, by its own progress; None if it has come too short a way to tell."""
        if self.share < _OWN_SHARE or self.own_s < _OWN_S:
            return None
        return self.own_s / self.share


@dataclass
class Forecast:
    """Seconds of each run of a batch.

    Attributes:
        varied: the varied values of each run, by key.
        expected: seconds that an experiment expects of its runs on one core, by key.
        workers: number of runs that are simulated at a time.
        aged: the aged device that each run needs, by key; None if it shares none.
    """

    varied: Mapping[str, Mapping[str, Any]]
    expected: Mapping[str, float | None]
    workers: int
    aged: Mapping[str, str | None] = field(default_factory=dict)
    #: Seconds that ageing a device took, and how often it was aged so far.
    _ageing: dict[str, float] = field(default_factory=dict)
    _times_aged: Counter[str] = field(default_factory=Counter)
    _sampled: dict[str, float] = field(default_factory=dict)
    _measured: dict[str, float] = field(default_factory=dict)

    def sampled(self, key: str, seconds: float, ageing_s: float = 0.0) -> None:
        """Takes down what a run will take by its sample. A device that was aged for it is lost with its process."""
        self._sampled[key] = seconds + self._apart(key, ageing_s)

    def ended(self, key: str, seconds: float, ageing_s: float = 0.0) -> None:
        """Takes down what a run took, in all and for ageing."""
        self._measured[key] = seconds - ageing_s + self._apart(key, ageing_s)
        if ageing_s and (device := self.aged.get(key)) is not None:
            self._times_aged[device] += 1

    def _apart(self, key: str, ageing_s: float) -> float:
        """Takes down what ageing a shared device took, and returns what counts for the run itself."""
        device = self.aged.get(key)
        if device is None:
            return ageing_s
        if ageing_s:
            self._ageing[device] = ageing_s
        return 0.0

    def samples(self) -> int:
        """Number of runs of which something was measured."""
        return len(self._sampled.keys() | self._measured.keys())

    def left_s(self, waiting: Sequence[str], underway: Mapping[str, Underway]) -> float | None:
        """Seconds until all runs have ended; None if nothing is known."""
        step = -(-len(waiting) // _LOOKED_AT_MAX) or 1
        known = self._known()
        ahead = [self._predicted(key, known) for key in waiting[::step]]
        current = [self._rest(key, run, known) for key, run in underway.items()]
        rest = [seconds for seconds in [*ahead, *current] if seconds is not None]
        if len(rest) < len(ahead) + len(current):
            return None
        # A single long run at the end keeps one worker busy, however many there are.
        total = sum(rest[: len(ahead)]) * len(waiting) / max(len(ahead), 1) + sum(rest[len(ahead) :])
        total += self._ageing_left([*waiting, *underway])
        return max(total / self.workers, *rest) if rest else 0.0

    def _ageing_left(self, keys: Sequence[str]) -> float:
        """Seconds in which devices are still to be aged: each once by every worker that has a run for it."""
        if not self._ageing:
            return 0.0
        usual = statistics.fmean(self._ageing.values())
        needed = Counter(device for key in keys if (device := self.aged.get(key)) is not None)
        return sum(
            self._ageing.get(device, usual) * max(min(runs, self.workers) - self._times_aged[device], 0)
            for device, runs in needed.items()
        )

    def _rest(self, key: str, run: Underway, known: Mapping[str, float]) -> float | None:
        """Seconds that a run which goes on still takes."""
        seconds = run.seconds()
        if seconds is None:
            predicted = self._predicted(key, known)
            if predicted is None:
                return None
            seconds = max(predicted, run.own_s)
        return seconds * (1 - run.share)

    def _known(self) -> dict[str, float]:
        """Seconds of the runs that others are compared with, by key: as they were measured, else as sampled."""
        factor = self._factor()
        recent = dict(list(self._measured.items())[-_COMPARED_MAX:])
        return {key: seconds * factor for key, seconds in self._sampled.items()} | recent

    def _predicted(self, key: str, known: Mapping[str, float]) -> float | None:
        """Seconds of a run that has not ended; None if nothing is known that resembles it."""
        expected = self.expected[key]
        if key in self._sampled:
            return known[key]
        if not self._sampled and expected is not None:
            return expected * self._factor()
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
        """How much longer runs take than was foreseen: the geometric mean over the runs that ended."""
        foreseen = self._sampled or {key: seconds for key, seconds in self.expected.items() if seconds is not None}
        ratios = [
            seconds / foreseen[key]
            for key, seconds in self._measured.items()
            if seconds > 0 and foreseen.get(key, 0.0) > 0
        ]
        return statistics.geometric_mean(ratios) if ratios else 1.0
