"""What a figure is made from, and the names that the figures of PEN share."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pumice.papers.experiment import Runs
from pumice.papers.ratios import Ratios, describe, ratios
from pumice.papers.scoreboard import Finding
from pumice.results.document import number

BASE, OURS = "block-erase", "m-merge"

#: Fields of the result document that several figures show.
WRITE_LATENCY, READ_LATENCY = "host.write.latency_us.mean", "host.read.latency_us.mean"
WAF, AEP, VEP = "write_amplification", "wear.aep", "wear.vep"


@dataclass(frozen=True)
class Context:
    """The runs, the high-write set and the directory to draw in."""

    runs: Runs
    high_write: Sequence[str]
    directory: Path
    full_scale: bool

    def values(self, study: str, varied: Mapping[str, Any], path: str) -> dict[str, float | None]:
        """A field of the runs of a study in which the given keys have the given values, by workload."""
        return {name: number(document, path) for name, document in self.runs.find(study, varied).items()}

    def nftl(self, merge: str, path: str, study: str = "open-loop") -> dict[str, float | None]:
        """A field of the runs with the paper's block-level device, by workload."""
        return self.values(study, {"ftl.merge": merge}, path)

    def to_baseline(self, study: str, varied: Mapping[str, Any], path: str) -> Ratios:
        """A field of some runs divided by the open-loop baseline's."""
        return ratios(self.values(study, varied, path), self.nftl(BASE, path))


#: Draws a figure into the context's directory and returns what the scoreboard compares.
FigureOf = Callable[[Context], dict[str, Finding]]


def mean_finding(context: Context, found: Ratios, *, of_means: bool = False) -> Finding:
    """The arithmetic mean, or the ratio of the means; no value if a run failed, since a mean over
    fewer workloads is another."""
    means = found.means()
    value = None if found.failed else (means.of_means if of_means else means.arithmetic)
    return Finding(None if value is None else [value], note=describe(found, context.high_write))


def trend(values: Sequence[float | None], holds: Callable[[list[float]], bool], note: str = "") -> Finding:
    """A finding whose rule is a function of the values; none if a value is missing."""
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return Finding(None, note=note)
    return Finding(known, holds(known), note)


def falling(values: Sequence[float]) -> bool:
    """Whether each value is below the one before."""
    return all(later < earlier for earlier, later in itertools.pairwise(values))
