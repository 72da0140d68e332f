"""Two variants compared at equal seeds, so with the same requests and the same blocks.

Intervals are of a bootstrap over seeds within each workload. They say how much the requests matter, not
how much the choice of workloads does.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from pumice_papers.finished_runs import FinishedRuns, Varied
from pumice_papers.quantities import Quantity

#: A quantity of two variants by workload, a pair for each seed.
Pairs = dict[str, list[tuple[float, float]]]

#: Draws of a bootstrap.
DRAWS = 2000


@dataclass(frozen=True)
class Variants:
    """Two variants in the runs of a study, each given by its varied keys."""

    study: str
    over: Varied
    under: Varied


def pairs_of(runs: FinishedRuns, measured: Quantity, variants: Variants) -> Pairs:
    """A quantity of both variants at equal seeds. Workloads with a run that lacks it are left out."""
    tops, bottoms = (runs.by_seed(variants.study, varied) for varied in (variants.over, variants.under))
    found: Pairs = {}
    for workload, documents in tops.items():
        below = bottoms.get(workload, {})
        pairs = [(measured(top), measured(below[seed])) for seed, top in documents.items() if seed in below]
        known = [(top, bottom) for top, bottom in pairs if top is not None and bottom]
        if known and len(known) == len(pairs):
            found[workload] = known
    return found


@dataclass(frozen=True)
class Interval:
    """A mean of ratios over workloads and the 95 % interval of its bootstrap; equal if there is one seed."""

    value: float
    lo: float
    hi: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.lo:.3f}, {self.hi:.3f}]"


def ratio_of_means(pairs: Sequence[tuple[float, float]]) -> float:
    """Ratio of the means over the seeds of one workload."""
    return sum(top for top, _ in pairs) / sum(bottom for _, bottom in pairs)


def mean_ratio(pairs: Pairs) -> float:
    """Mean over workloads of the ratio of the means over seeds."""
    return statistics.fmean(ratio_of_means(of_seeds) for of_seeds in pairs.values())


def mean_ratio_or_none(pairs: Pairs) -> float | None:
    """As `mean_ratio`; None without a workload."""
    return mean_ratio(pairs) if pairs else None


def bootstrap(pairs: Pairs, draws: int = DRAWS) -> Interval:
    """`mean_ratio` with the seeds of each workload drawn anew, with replacement, `draws` times."""
    stream = random.Random(1)  # its own: the interval is the same at every call
    drawn = sorted(
        mean_ratio({name: stream.choices(of_seeds, k=len(of_seeds)) for name, of_seeds in pairs.items()})
        for _ in range(draws)
    )
    return Interval(mean_ratio(pairs), drawn[int(0.025 * draws)], drawn[int(0.975 * draws)])


def workload_interval(pairs: Sequence[tuple[float, float]]) -> Interval:
    """`bootstrap` for one workload, in fewer draws: a CSV has hundreds of them."""
    return bootstrap({"": list(pairs)}, 200)


def means(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The means over the seeds of one workload: of what is divided by, and of what is divided."""
    return statistics.fmean(bottom for _, bottom in pairs), statistics.fmean(top for top, _ in pairs)
