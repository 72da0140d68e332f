"""What PEN's figures share: its block-level FTL with full merges and with M-Merge."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pumice_papers.figures import Drawing
from pumice_papers.quantities import WAF
from pumice_papers.ratios import Ratios, SeedRatios, ratios

#: Values of `ftl.merge`: the baseline and PEN's own.
BASE, OURS = "block-erase", "m-merge"

#: The study of the paper's device under the twelve workloads.
OPEN_LOOP = "open-loop"


def nftl(drawing: Drawing, merge: str, path: str, study: str = OPEN_LOOP) -> dict[str, float | None]:
    """A field of the runs of one seed with the paper's block-level FTL, by workload."""
    return drawing.values(study, {"ftl.merge": merge}, path)


def m_merge_to_baseline(drawing: Drawing, path: str, study: str = OPEN_LOOP) -> SeedRatios:
    """A field under M-Merge divided by the baseline's."""
    return over_seeds(drawing, path, lambda one: ratios(nftl(one, OURS, path, study), nftl(one, BASE, path, study)))


def to_baseline(drawing: Drawing, study: str, varied: Mapping[str, Any], path: str) -> SeedRatios:
    """A field of some runs divided by the open-loop baseline's."""
    return over_seeds(drawing, path, lambda one: ratios(one.values(study, varied, path), nftl(one, BASE, path)))


def to_m_merge(drawing: Drawing, study: str, varied: Mapping[str, Any], path: str) -> SeedRatios:
    """A field of some runs divided by that of M-Merge in the open loop."""
    return over_seeds(drawing, path, lambda one: ratios(one.values(study, varied, path), nftl(one, OURS, path)))


def over_seeds(drawing: Drawing, path: str, of_seed: Callable[[Drawing], Ratios]) -> SeedRatios:
    """The ratios of a field at each seed. Write amplification is judged by the ratio of the means over
    workloads, everything else by the mean of the ratios."""
    return SeedRatios([of_seed(one) for one in drawing.by_seed], "of_means" if path == WAF else "arithmetic")
