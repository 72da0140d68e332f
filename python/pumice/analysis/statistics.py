"""Statistics of a few repeated runs, and means over workloads."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

# Student's t, two-sided 95 %, for 1 … 30 degrees of freedom; beyond, the normal value is within 2 %.
_T95 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
_NORMAL95 = 1.960


@dataclass(frozen=True)
class Summary:
    """Mean, sample standard deviation and half-width of the 95 % confidence interval of the mean.

    The last two are None for a single value.
    """

    count: int
    mean: float
    deviation: float | None
    half_width: float | None


def summary(values: Sequence[float]) -> Summary:
    """Summary of at least one value."""
    mean = statistics.fmean(values)
    if len(values) < 2:
        return Summary(len(values), mean, None, None)
    deviation = statistics.stdev(values)
    return Summary(len(values), mean, deviation, t95(len(values) - 1) * deviation / math.sqrt(len(values)))


def t95(freedom: int) -> float:
    """Two-sided 95 % quantile of Student's t."""
    return _T95[freedom - 1] if freedom <= len(_T95) else _NORMAL95


def within_noise(base: Sequence[float], other: Sequence[float]) -> bool | None:
    """Whether the mean difference of runs paired by seed may be chance: its 95 % interval holds 0.

    None if there are fewer than two pairs.
    """
    differences = [b - a for a, b in zip(base, other, strict=True)]
    if len(differences) < 2:
        return None
    found = summary(differences)
    return found.half_width is not None and abs(found.mean) <= found.half_width


@dataclass(frozen=True)
class Means:
    """Three means of `other / base` over workloads. None where a base value is not positive."""

    arithmetic: float | None
    geometric: float | None
    of_means: float | None


def ratio_means(base: Sequence[float], other: Sequence[float]) -> Means:
    """Arithmetic and geometric mean of the ratios, and the ratio of the means."""
    if not base or any(value <= 0 for value in base):
        return Means(None, None, None)
    ratios = [o / b for b, o in zip(base, other, strict=True)]
    geometric = statistics.geometric_mean(ratios) if all(ratio > 0 for ratio in ratios) else None
    return Means(statistics.fmean(ratios), geometric, statistics.fmean(other) / statistics.fmean(base))


def mean_of(values: Sequence[float | None]) -> float | None:
    """The mean of some values; None if one of them is missing or there are none."""
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known and len(known) == len(values) else None


def falling(values: Sequence[float]) -> bool:
    """Whether each value is below the one before."""
    return all(later < earlier for earlier, later in itertools.pairwise(values))


def not_rising(values: Sequence[float]) -> bool:
    """Whether no value is above the one before."""
    return all(later <= earlier for earlier, later in itertools.pairwise(values))
