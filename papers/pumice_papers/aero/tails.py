"""Read tails of a device under load: what AERO's figures 14 to 17 and Table 4 share."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pumice.results.document import number
from pumice_papers.aero.seed_pairs import (
    Pairs,
    Variants,
    bootstrap,
    means,
    pairs_of,
    ratio_of_means,
    workload_interval,
)
from pumice_papers.figures import Drawing
from pumice_papers.finished_runs import FinishedRuns
from pumice_papers.quantities import Document, Quantity, quantity
from pumice_papers.scoreboard import Finding

SCHEME, PEC, SUSPENSION = "erase.scheme", "erase.initial_pec", "erase.suspension"

#: The scheme that all others are compared with.
BASE = "ispe"

PECS = (500, 2500, 4500)

#: The rule of suspension of the preset, and so of every study that does not vary it.
PRESET_RULE = "authors-code"

#: Percentile's field → its name in figures.
TAILS = {"p99_9": "p99.9", "p99_99": "p99.99", "p99_9999": "p99.9999"}

#: The percentiles that are drawn beside the paper's.
DRAWN_TAILS = {field: name for field, name in TAILS.items() if field != "p99_9"}

#: Where dies erase for a smaller share of the time, reads at random times do not meet an erase at p99.99.
LEAST_SHARE = 1e-4

#: Reads of which three lie beyond p99.99; of the 10^6 reads that p99.9999 needs, one does. A quarter of the device has
#: as many of each of the paper's eleven workloads in a week.
LEAST_READS = 30_000


def run_with(scheme: str, pec: int, suspension: str | None = None) -> dict[str, Any]:
    """Varied values of a run. Without `suspension` they fit a study that keeps the preset's."""
    named: dict[str, Any] = {SCHEME: scheme, PEC: pec}
    return named if suspension is None else {**named, SUSPENSION: suspension}


def read_tail(field: str) -> Quantity:
    """A percentile of read latency, µs.

    None where a run has too few reads: p99.9999 below 10^6, p99.99 below `LEAST_READS`.
    """
    percentile, least = quantity(f"host.read.latency_us.{field}"), LEAST_READS if field == "p99_99" else 0

    def of(document: Document) -> float | None:
        reads = number(document, "host.read.requests")
        return percentile(document) if reads is not None and reads >= least else None

    return of


def erase_share(document: Mapping[str, Any]) -> float:
    """Share of the time for which a die erases, mean over dies."""
    dies = len(document["utilisation"]["die"])
    return float(document["gc"]["time_us"]["erase"] / (1e6 * document["host"]["simulated_s"] * dies))


def shares_of(runs: FinishedRuns, study: str, varied: Sequence[Mapping[str, Any]]) -> dict[str, list[float]]:
    """Erase share of some runs by workload, each a mean over seeds."""
    shares: dict[str, list[float]] = {}
    for values in varied:
        for load, by_seed in runs.by_seed(study, values).items():
            shares.setdefault(load, []).append(statistics.fmean(map(erase_share, by_seed.values())))
    return shares


def base_shares(drawing: Drawing, study: str) -> dict[str, list[float]]:
    """Erase share of the baseline by workload, one for each of `PECS`."""
    return shares_of(drawing.runs, study, [run_with(BASE, pec) for pec in PECS])


def erasing(shares: Mapping[str, Sequence[float]]) -> str:
    """For how much of the time a die erases under the baseline, in words; shares by workload."""
    every = [share for of_load in shares.values() for share in of_load]
    return f"under {BASE} a die erases {range_text(every)} of the time"


def range_text(values: Sequence[float]) -> str:
    """Least and largest value, in words."""
    return f"{min(values):.1e} to {max(values):.1e}"


def tail_finding(drawing: Drawing, study: str, by_pec: Sequence[Pairs], name: str) -> Finding:
    """The mean ratios over workloads, one for each number of P/E cycles, with their intervals, and what
    keeps a tail from differing."""
    if not all(by_pec):
        return Finding(None, note=f"no workload has the reads that {name} needs (p99.99: 3e4, p99.9999: 1e6)")
    intervals = [bootstrap(pairs) for pairs in by_pec]
    shares = base_shares(drawing, study)
    own = {load: ", ".join(f"{ratio_of_means(pairs[load]):.3f}" for pairs in by_pec) for load in by_pec[0]}
    seeds = len(next(iter(by_pec[0].values())))
    several = f"{seeds} seeds, 95 % of a bootstrap over seeds: {', '.join(map(str, intervals))}"
    width = several if seeds > 1 else "one seed, so without intervals"
    parts = [
        f"mean of {len(own)} of {len(shares)} workloads run, {width}",
        *(f"{load} {text} (a die erases {range_text(shares[load])} of the time)" for load, text in own.items()),
    ]
    quiet = [load for load in own if min(shares[load]) < LEAST_SHARE]
    if name == "p99.99" and quiet:
        parts.append(
            f"{', '.join(quiet)}: a share below 1e-4: p99.99 of reads of one page cannot differ but for reads that"
            " gather around erases"
        )
    if name == "p99.9999":
        parts.append("at little more than 1e6 reads a run this is its second or third longest read")
    return Finding([interval.value for interval in intervals], note="; ".join(parts))


def write_tails(drawing: Drawing, study: str) -> None:
    """Writes every tail as a row: the mean over seeds, its ratio to the baseline and the ratio's interval."""
    columns = [
        "workload", "PEC", "suspension", "scheme", "percentile", "read latency, µs", "reads", "erase share of a die",
        "ratio to ispe", "lo", "hi",
    ]  # fmt: skip
    drawing.write_csv(columns, list(_tail_rows(drawing.runs, study)))


def _tail_rows(runs: FinishedRuns, study: str) -> Iterator[list[Any]]:
    varied = [outcome.job.varied for outcome in runs.outcomes(study)]
    variants = dict.fromkeys((str(run[SCHEME]), int(str(run[PEC])), run.get(SUSPENSION)) for run in varied)
    for scheme, pec, mode in variants:
        both = Variants(study, run_with(scheme, pec, mode), run_with(BASE, pec, mode))
        for load, by_seed in runs.by_seed(study, both.over).items():
            share = statistics.fmean(map(erase_share, by_seed.values()))
            reads = statistics.fmean(document["host"]["read"]["requests"] for document in by_seed.values())
            for tail, tail_name in TAILS.items():
                pairs = pairs_of(runs, read_tail(tail), both)
                row = [load, pec, mode or PRESET_RULE, scheme, tail_name]
                if load not in pairs:
                    yield [*row, None, reads, share, None, None, None]
                    continue
                own = workload_interval(pairs[load])
                _, mean = means(pairs[load])
                yield [*row, mean, reads, share, own.value, own.lo, own.hi]
