"""Write amplification by how much the host has written, from the write series of a document."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

#: Passes over the drive before write amplification repeats itself. The drives' profiles leave out five as well.
SETTLED = 5

#: User capacities that an end may lie beyond the last window: requests and windows are not cut at the same places.
PAST_END = 0.02

#: Windows of a profile in a pass.
WINDOWS = 20


@dataclass(frozen=True)
class WriteSeries:
    """What was programmed by the end of each window of a run.

    Attributes:
        host: user capacities that the host had written, ascending.
        media: user capacities that had been programmed, copies included.
    """

    host: Sequence[float]
    media: Sequence[float]

    def programmed(self, written: float) -> float:
        """User capacities programmed when the host had written so many, interpolated."""
        return float(np.interp(written, [0.0, *self.host], [0.0, *self.media]))

    def amplification(self, begin: float, end: float) -> float:
        """Write amplification between two points of the host's writing, in user capacities.

        Raises:
            ValueError: less was written than to the end.
        """
        if end > self.host[-1] + PAST_END:
            raise ValueError(
                f"the run wrote {self.host[-1]:.3f} user capacities; asked for is {begin:.3f} to {end:.3f}"
            )
        return (self.programmed(end) - self.programmed(begin)) / (end - begin)

    @property
    def passes(self) -> int:
        """Whole user capacities written."""
        return int(self.host[-1] + 0.01) if self.host else 0

    def per_pass(self) -> float:
        """Write amplification of the passes after the first ones."""
        return self.amplification(min(SETTLED, self.passes - 1), self.passes)

    def profile(self, windows: int = WINDOWS) -> list[float]:
        """Write amplification of each window of a pass, over the passes after the first ones."""
        passes = range(min(SETTLED, self.passes - 1), self.passes)
        return [
            sum(self.amplification(nth + at / windows, nth + (at + 1) / windows) for nth in passes) / len(passes)
            for at in range(windows)
        ]

    def first_copy(self, share: float = 0.002) -> float | None:
        """User capacities written when the copies first exceed a share of the user capacity; None if never."""
        points = zip(self.host, self.media, strict=True)
        return next((host for host, media in points if media - host > share), None)


def write_series(document: Mapping[str, Any]) -> WriteSeries:
    """The write series of a document, in user capacities."""
    host, media = 0, 0
    ends: list[tuple[int, int]] = []
    for window in document["write_series"]:
        host += window["host_programs"]
        media += window["host_programs"] + window["gc_programs"] + window["map_programs"]
        ends.append((host, media))
    device = document["device"]
    pages = device["user_bytes"] / (device["raw_bytes"] / device["pages"])
    return WriteSeries([host / pages for host, _ in ends], [media / pages for _, media in ends])


def errors(simulated: Sequence[float], measured: Sequence[float]) -> list[float]:
    """Relative error of each value."""
    return [ours / theirs - 1.0 for ours, theirs in zip(simulated, measured, strict=True)]


def root_mean_square(values: Sequence[float]) -> float:
    """Root of the mean of the squares."""
    mean: float = sum(value * value for value in values) / len(values)
    return math.sqrt(mean)


def largest(values: Sequence[float]) -> float:
    """The largest absolute value."""
    return max(abs(value) for value in values)
