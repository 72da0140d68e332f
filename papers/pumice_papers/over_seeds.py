"""Numbers of runs that are repeated with several seeds: their mean, and how far the seeds lie apart.

Every number of a figure is computed for each seed by itself. What is shown and judged is its mean over
the seeds, beside the least and the largest.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pumice.analysis.plots import Curve, Frame
from pumice_papers.scoreboard import Finding


@dataclass(frozen=True)
class Spread:
    """A number over seeds: its mean, its least and its largest value."""

    mean: float
    least: float
    largest: float

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest value."""
        return self.least, self.largest


def spread(values: Sequence[float | None]) -> Spread | None:
    """A number of each seed as a spread; None if a seed has none, since a mean over fewer seeds is another."""
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return None
    return Spread(statistics.fmean(known), min(known), max(known))


def spreads(values: Sequence[Sequence[float | None]]) -> list[Spread | None]:
    """Several numbers of each seed, given seed by seed, as a spread for each number."""
    return [spread(of_seeds) for of_seeds in zip(*values, strict=True)]


def mean(found: Spread | None) -> float | None:
    """The mean of a spread that may be missing."""
    return None if found is None else found.mean


def ends(found: Spread | None) -> tuple[float, float] | None:
    """The ends of a spread that may be missing."""
    return None if found is None else found.ends


def cells(found: Spread | None) -> list[float | None]:
    """The cells of a table: the mean, the least and the largest."""
    return [None, None, None] if found is None else [found.mean, *found.ends]


def curve(name: str, places: Sequence[float], found: Sequence[Spread | None]) -> Curve:
    """A line through the means at these places of the x axis, with the ends as ranges."""
    return Curve(name, places, [mean(each) for each in found], ranges=[ends(each) for each in found])


def with_seeds(frame: Frame, count: int) -> Frame:
    """A frame whose y axis says over how many seeds the numbers are, if there are several."""
    label = f"{frame.y_label}\nmean of {count} seeds, least to largest"
    return frame if count == 1 else dataclasses.replace(frame, y_label=label)


def shown(found: Spread | None, digits: int = 3) -> str:
    """A spread in words: the mean, then least and largest if they differ; digits after the point below 1,000."""
    if found is None:
        return "–"
    decimals = 0 if abs(found.mean) >= 1000 else digits
    if found.least == found.largest:
        return f"{found.mean:,.{decimals}f}"
    return f"{found.mean:,.{decimals}f} ({found.least:,.{decimals}f} … {found.largest:,.{decimals}f})"


def judged(
    per_seed: Sequence[Sequence[float | None]],
    holds: Callable[[list[float]], bool] | None,
    note: str = "",
    *,
    of_row: int | None = None,
) -> Finding:
    """The finding for a row whose values are known for each seed.

    The rule is judged on the means over the seeds; the note says at how many seeds it holds by itself.

    Args:
        per_seed: values, seed by seed; all seeds have as many.
        holds: the row's rule as a function of the values; None where it has none.
        note: how the values came about.
        of_row: how many of the values are the row's, if only the rule looks at the others.

    Returns:
        The finding; without values if one of them is missing at a seed.
    """
    found = spreads(per_seed)
    known = [each for each in found if each is not None]
    if not known or len(known) < len(found):
        return Finding(None, note=note)
    means, own = [each.mean for each in known], known[:of_row]
    verdict = None if holds is None else holds(means)
    if len(per_seed) == 1:
        return Finding(means[:of_row], verdict, note)
    parts = [note, f"means over {len(per_seed)} seeds: {'; '.join(map(shown, own))}"]
    if holds is not None:
        alone = sum(holds([value for value in values if value is not None]) for values in per_seed)
        parts.append(f"by itself the rule holds at {alone} of {len(per_seed)} seeds")
    return Finding(means[:of_row], verdict, "; ".join(filter(None, parts)), [each.ends for each in own])
