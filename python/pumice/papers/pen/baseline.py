"""What PEN's figures share: its block-level FTL with full merges and with M-Merge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pumice.papers.figures import Drawing
from pumice.papers.ratios import Ratios, ratios

#: Values of `ftl.merge`: the baseline and PEN's own.
BASE, OURS = "block-erase", "m-merge"

#: The study of the paper's device under the twelve workloads.
OPEN_LOOP = "open-loop"


def nftl(drawing: Drawing, merge: str, path: str, study: str = OPEN_LOOP) -> dict[str, float | None]:
    """A field of the runs with the paper's block-level FTL, by workload."""
    return drawing.values(study, {"ftl.merge": merge}, path)


def m_merge_to_baseline(drawing: Drawing, path: str, study: str = OPEN_LOOP) -> Ratios:
    """A field under M-Merge divided by the baseline's."""
    return ratios(nftl(drawing, OURS, path, study), nftl(drawing, BASE, path, study))


def to_baseline(drawing: Drawing, study: str, varied: Mapping[str, Any], path: str) -> Ratios:
    """A field of some runs divided by the open-loop baseline's."""
    return ratios(drawing.values(study, varied, path), nftl(drawing, BASE, path))
