"""The parts of a write's latency in PEN's runs, by block size, and shares of them.

The paper names the parts (section 2.3.1): the write itself, and its waiting for collection in four parts. Waiting
behind other requests of the host, `queue` here, is not among them. So shares are judged without `queue`; they are
shown without and with it. They are shares of the sum of the workloads' mean latencies, in which a slow workload weighs
more than a fast one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pumice.analysis.comparison_figures import BREAKDOWN
from pumice.analysis.statistics import mean_of
from pumice.results.document import number
from pumice_papers.figures import Drawing
from pumice_papers.over_seeds import Spread, spread
from pumice_papers.pen.block_size import SIZES
from pumice_papers.quantities import quotient

#: Parts of one mean write latency, µs.
Parts = Mapping[str, float | None]

#: Parts with one seed, by workload and block size.
SeedParts = Mapping[str, Mapping[int, Parts]]

QUEUE = "queue"
COPIES = ("gc_read", "gc_write")
SPARE = ("gc_spare_read",)

#: The parts that each denominator leaves out, by its name.
LEFT_OUT = {"without queue": (QUEUE,), "with queue": ()}


def parts_of(
    drawing: Drawing,
    study: str,
    workloads: Sequence[str],
    sizes: Sequence[int] = SIZES,
    varied: Mapping[str, Any] | None = None,
) -> SeedParts:
    """The parts of some workloads' mean write latencies in runs of one seed, by block size."""
    parts: dict[str, dict[int, Parts]] = {}
    for size in sizes:
        wanted = {**(varied or {}), "geometry.pages_per_block": size}
        for workload, document in drawing.runs.find(study, wanted).items():
            parts.setdefault(workload, {})[size] = _parts(document)
    return {workload: parts[workload] for workload in workloads if workload in parts}


def _parts(document: Mapping[str, Any] | None) -> Parts:
    """Parts of a run's mean write latency; 0 where a part has no model, None if the run failed."""
    return {
        part: None if document is None else number(document, f"write_latency_breakdown_us.{part}") or 0.0
        for part in BREAKDOWN
    }


def sum_of(parts: Parts, names: Sequence[str]) -> float | None:
    """The sum of some parts; None if the run failed."""
    values = [parts[name] for name in names]
    return None if None in values else sum(value or 0.0 for value in values)


def share_at(seeds: Sequence[SeedParts], size: int, of: Sequence[str], left_out: Sequence[str]) -> Spread | None:
    """Share of some parts in all of them but those left out, at a block size, over the seeds."""
    return spread([share(one, size, of, left_out) for one in seeds])


def share(one: SeedParts, size: int, of: Sequence[str], left_out: Sequence[str] = (QUEUE,)) -> float | None:
    """Share of some parts in all of them but those left out, at a block size."""
    sums = {part: _total([by_size[size][part] for by_size in one.values()]) for part in BREAKDOWN}
    return quotient(sum_of(sums, of), sum_of(sums, [part for part in sums if part not in left_out]))


def _total(values: Sequence[float | None]) -> float | None:
    found = mean_of(values)
    return None if found is None else found * len(values)
