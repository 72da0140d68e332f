"""AERO (ASPLOS'24): figures that need a device under load: 14, 15 and Table 4.

A tail of a scheme is compared with another run's at the same seed, so with the same requests and the same
blocks. Intervals are of a bootstrap over seeds, within each workload; they say how much the requests
matter, not how much the choice of workloads does.
"""

from __future__ import annotations

import itertools
import random
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pumice.analysis import plots
from pumice.papers.ratios import write_csv
from pumice.papers.scoreboard import Finding
from pumice.results.document import number
from pumice.runs.batch import Outcome

SCHEME, PEC, SUSPENSION, WORKLOAD = "erase.scheme", "erase.initial_pec", "erase.suspension", "workload.kind"
BASE = "ispe"
PECS = (500, 2500, 4500)
#: The rule of suspension of the preset, and so of every study that does not vary it.
PRESET_RULE = "authors-code"
SUSPENSIONS = ("off", PRESET_RULE)
#: Percentile's field → its name in figures.
TAILS = {"p99_9": "p99.9", "p99_99": "p99.99", "p99_9999": "p99.9999"}
#: Where dies erase for a smaller share of the time, reads at random times do not meet an erase at p99.99.
LEAST_SHARE = 1e-4
#: Reads of which ten lie beyond p99.99: with fewer it is the luck of a few.
LEAST_READS = 100_000
DRAWS = 2000

#: A number of a run's document, or None.
Quantity = Callable[[Mapping[str, Any]], float | None]
#: The values of the keys that name a run, besides workload and seed.
Varied = Mapping[str, Any]
#: By workload: pairs (over, under) of a quantity, one pair a seed.
Pairs = dict[str, list[tuple[float, float]]]


@dataclass(frozen=True)
class Device:
    """Runs of a device by study, and the directory to draw in."""

    runs: Sequence[tuple[str, Outcome]]
    directory: Path

    def seeds(self, study: str, varied: Varied) -> dict[str, dict[int | None, dict[str, Any]]]:
        """The documents of the runs with these varied values, by workload and seed."""
        found: dict[str, dict[int | None, dict[str, Any]]] = {}
        for name, outcome in self.runs:
            job = outcome.job
            if name == study and all(job.varied[key] == value for key, value in varied.items()):
                by_seed = found.setdefault(str(job.varied[WORKLOAD]).removeprefix("twin:"), {})
                if outcome.document is not None:
                    by_seed[job.seed] = outcome.document
        return found

    def failed(self, study: str) -> str | None:
        """Why the first run of a study that failed did so."""
        return next((f"{o.job.label}: {o.error}" for name, o in self.runs if name == study and o.error), None)

    def pairs(self, study: str, measured: Quantity, over: Varied, under: Varied) -> Pairs:
        """A quantity of two variants at equal seeds; workloads in which a run lacks it are left out."""
        tops, bottoms = self.seeds(study, over), self.seeds(study, under)
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
    """A mean of ratios over workloads and the 95 % interval of its bootstrap; equal where there is one seed."""

    value: float
    lo: float
    hi: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.lo:.3f}, {self.hi:.3f}]"


def mean_ratio(pairs: Pairs) -> float:
    """Mean over workloads of the ratio of the means over seeds."""
    return statistics.fmean(_ratio(of_seeds) for of_seeds in pairs.values())


def bootstrap(pairs: Pairs, draws: int = DRAWS) -> Interval:
    """`mean_ratio` with the seeds of each workload drawn anew, with replacement, `draws` times."""
    stream = random.Random(1)  # its own: the interval is the same at every call
    drawn = sorted(
        mean_ratio({name: stream.choices(of_seeds, k=len(of_seeds)) for name, of_seeds in pairs.items()})
        for _ in range(draws)
    )
    return Interval(mean_ratio(pairs), drawn[int(0.025 * draws)], drawn[int(0.975 * draws)])


def _ratio(of_seeds: Sequence[tuple[float, float]]) -> float:
    return sum(top for top, _ in of_seeds) / sum(bottom for _, bottom in of_seeds)


def quantity(path: str) -> Quantity:
    """The number at a dotted path of the document."""
    return lambda document: number(dict(document), path)


def read_tail(field: str) -> Quantity:
    """A percentile of read latency, µs; None where a run has too few reads: p99.9999 below 1e6, p99.99 below
    `LEAST_READS`."""
    percentile, least = quantity(f"host.read.latency_us.{field}"), LEAST_READS if field == "p99_99" else 0
    return lambda document: percentile(document) if document["host"]["read"]["requests"] >= least else None


def erase_share(document: Mapping[str, Any]) -> float:
    """Share of the time for which a die erases, mean over dies."""
    dies = len(document["utilisation"]["die"])
    return float(document["gc"]["time_us"]["erase"] / (1e6 * document["host"]["simulated_s"] * dies))


def _run(scheme: str, pec: int, suspension: Any = None) -> dict[str, Any]:
    """Varied values; without a suspension those of a study that keeps the preset's."""
    named: dict[str, Any] = {SCHEME: scheme, PEC: pec}
    return named if suspension is None else {**named, SUSPENSION: suspension}


def figure_14(device: Device) -> dict[str, Finding]:
    """Read tails by scheme and P/E cycles, with erases suspended by the rule of the preset."""
    if (error := device.failed("tails")) is not None:
        return _all_failed(("fig14_p9999_aero", "fig14_p9999_cons", "fig14_p999999_aero"), error)
    schemes = ("i-ispe", "dpes", "aero-cons", "aero")
    tails = {key: name for key, name in TAILS.items() if key != "p99_9"}
    found = {
        (scheme, pec, tail): device.pairs("tails", read_tail(tail), _run(scheme, pec), _run(BASE, pec))
        for scheme, pec, tail in itertools.product(schemes, PECS, tails)
    }
    groups = [(tail, pec) for tail in tails for pec in PECS]
    bars = {
        scheme: [mean_ratio(p) if (p := found[scheme, pec, tail]) else None for tail, pec in groups]
        for scheme in schemes
    }
    title = "Figure 14: read tail latency / ispe, mean over workloads"
    frame = plots.Frame(title, "ratio", (1.0, "ispe"), x_label=erasing(_shares(device, "tails")))
    names = [f"{tails[tail]}, {pec / 1000:g}K" for tail, pec in groups]
    plots.grouped_bars(frame, plots.Bars(names, bars), device.directory / "fig14")
    _write_tails(device, "tails", "fig14")
    return {
        "fig14_p9999_aero": _tail_finding(device, [found["aero", pec, "p99_99"] for pec in PECS], "p99.99"),
        "fig14_p9999_cons": _tail_finding(device, [found["aero-cons", pec, "p99_99"] for pec in PECS], "p99.99"),
        "fig14_p999999_aero": _tail_finding(device, [found["aero", pec, "p99_9999"] for pec in PECS], "p99.9999"),
    }


def figure_15(device: Device) -> dict[str, Finding]:
    """Read tails with suspension and without, in relation to ispe that is never suspended."""
    if (error := device.failed("suspension")) is not None:
        return _all_failed(("fig15_no_suspension",), error)
    groups = list(itertools.product(SUSPENSIONS, PECS))
    shares = erasing(_shares(device, "suspension"))
    for tail, tail_name in TAILS.items():
        bars: dict[str, list[float | None]] = {}
        for scheme in (BASE, "aero-cons", "aero"):
            found = [
                device.pairs("suspension", read_tail(tail), _run(scheme, pec, mode), _run(BASE, pec, "off"))
                for mode, pec in groups
            ]
            bars[scheme] = [mean_ratio(pairs) if pairs else None for pairs in found]
        title = f"Figure 15: {tail_name} read latency / ispe without suspension"
        frame = plots.Frame(title, "ratio", (1.0, "ispe, off"), x_label=shares)
        names = [f"{mode}, {pec / 1000:g}K" for mode, pec in groups]
        plots.grouped_bars(frame, plots.Bars(names, bars), device.directory / f"fig15-{tail_name}")
    _write_tails(device, "suspension", "fig15")
    return {"fig15_no_suspension": _no_suspension(device)}


def _no_suspension(device: Device) -> Finding:
    """p99.9999 without suspension; the note has the same with it."""
    by_mode = {
        mode: [
            device.pairs("suspension", read_tail("p99_9999"), _run("aero", pec, mode), _run(BASE, pec, mode))
            for pec in PECS
        ]
        for mode in SUSPENSIONS
    }
    found = _tail_finding(device, by_mode["off"], "p99.9999", "suspension")
    means = {
        mode: ", ".join(f"{mean_ratio(pairs):.3f}" if pairs else "–" for pairs in by_mode[mode])
        for mode in SUSPENSIONS[1:]
    }
    beside = "; ".join(f"aero / ispe with suspension {mode}: {text}" for mode, text in means.items())
    return Finding(found.values, note=f"{found.note}; {beside}")


def _tail_finding(device: Device, by_pec: Sequence[Pairs], name: str, study: str = "tails") -> Finding:
    """The mean ratios over workloads, one a PEC, with intervals and what kept a tail from differing."""
    if not all(by_pec):
        return Finding(None, note=f"no workload has the reads that {name} needs (p99.99: 1e5, p99.9999: 1e6)")
    intervals = [bootstrap(pairs) for pairs in by_pec]
    shares = _shares(device, study)
    own = {load: ", ".join(f"{_ratio(pairs[load]):.3f}" for pairs in by_pec) for load in by_pec[0]}
    parts = [
        f"mean of {len(own)} of {len(shares)} workloads run, {len(next(iter(by_pec[0].values())))} seeds,"
        f" 95 % of a bootstrap over seeds: {', '.join(map(str, intervals))}",
        *(f"{load} {text} (a die erases {_range(shares[load])} of the time)" for load, text in own.items()),
    ]
    quiet = [load for load in own if min(shares[load]) < LEAST_SHARE]
    if name == "p99.99" and quiet:
        parts.append(
            f"{', '.join(quiet)}: a share below 1e-4: p99.99 cannot differ but for reads that gather around erases"
        )
    if name == "p99.9999":
        parts.append("at little more than 1e6 reads a run this is its second or third longest read")
    return Finding([interval.value for interval in intervals], note="; ".join(parts))


def _shares(device: Device, study: str) -> dict[str, list[float]]:
    """Erase share of the baseline, by workload, one a PEC."""
    return shares_of(device, study, lambda pec: _run(BASE, pec))


def shares_of(device: Device, study: str, run: Callable[[int], Varied]) -> dict[str, list[float]]:
    """Erase share by workload, one a PEC, of the run that has these varied values at a PEC."""
    shares: dict[str, list[float]] = {}
    for pec in PECS:
        for load, by_seed in device.seeds(study, run(pec)).items():
            shares.setdefault(load, []).append(statistics.fmean(map(erase_share, by_seed.values())))
    return shares


def erasing(shares: Mapping[str, Sequence[float]]) -> str:
    """For how much of the time a die erases under the baseline, in words; shares by workload."""
    every = [share for of_load in shares.values() for share in of_load]
    return f"under {BASE} a die erases {_range(every)} of the time"


def _range(values: Sequence[float]) -> str:
    return f"{min(values):.1e} to {max(values):.1e}"


def _write_tails(device: Device, study: str, name: str) -> None:
    """Every tail as a row: the mean over seeds, its ratio to the baseline and the ratio's interval."""
    columns = [
        "workload", "PEC", "suspension", "scheme", "percentile", "read latency, µs", "reads", "erase share of a die",
        "ratio to ispe", "lo", "hi",
    ]  # fmt: skip
    write_csv(device.directory / f"{name}.csv", columns, list(_tail_rows(device, study)))


def _tail_rows(device: Device, study: str) -> Iterator[list[Any]]:
    found = [outcome.job.varied for name, outcome in device.runs if name == study]
    variants = dict.fromkeys((str(run[SCHEME]), int(str(run[PEC])), run.get(SUSPENSION)) for run in found)
    for scheme, pec, mode in variants:
        over, under = _run(scheme, pec, mode), _run(BASE, pec, mode)
        for load, by_seed in device.seeds(study, over).items():
            share = statistics.fmean(map(erase_share, by_seed.values()))
            reads = statistics.fmean(document["host"]["read"]["requests"] for document in by_seed.values())
            for tail, tail_name in TAILS.items():
                pairs = device.pairs(study, read_tail(tail), over, under)
                row = [load, pec, mode or PRESET_RULE, scheme, tail_name]
                if load not in pairs:
                    yield [*row, None, reads, share, None, None, None]
                    continue
                own = bootstrap({load: pairs[load]}, 200)
                mean = statistics.fmean(top for top, _ in pairs[load])
                yield [*row, mean, reads, share, own.value, own.lo, own.hi]


#: Table 4's quantities: words → field of the document.
AVERAGES = {
    "read latency": "host.read.latency_us.mean",
    "write latency": "host.write.latency_us.mean",
    "service IOPS": "host.service_iops",
}


def table_4(device: Device) -> dict[str, Finding]:
    """Mean latencies and IOPS in relation to the baseline, geometric means over workloads."""
    if (error := device.failed("tails")) is not None:
        return _all_failed(("table4_average", "table4_dpes"), error)
    means: dict[tuple[str, str, int], float] = {}
    for scheme, pec, what in itertools.product(("i-ispe", "dpes", "aero-cons", "aero"), PECS, AVERAGES):
        found = device.pairs("tails", quantity(AVERAGES[what]), _run(scheme, pec), _run(BASE, pec))
        if found:
            means[scheme, what, pec] = statistics.geometric_mean(_ratio(of_seeds) for of_seeds in found.values())
    rows = [
        [scheme, what, *(means.get((scheme, what, pec)) for pec in PECS)]
        for scheme, what in dict.fromkeys((scheme, what) for scheme, what, _ in means)
    ]
    write_csv(device.directory / "table4.csv", ["scheme", "quantity", *(f"{pec / 1000:g}K" for pec in PECS)], rows)
    steady = {key: abs(value - 1) for key, value in means.items() if key[0] != "dpes"}
    worst = max(steady, key=lambda key: steady[key])
    note = f"largest: {worst[0]}, {worst[1]}, {worst[2] / 1000:g}K PEC; {len(_shares(device, 'tails'))} workloads"
    slower = [means["dpes", "write latency", pec] for pec in PECS[:2]]
    return {
        "table4_average": Finding([steady[worst]], note=note),
        "table4_dpes": Finding(slower, note=f"at 4.5K, where dpes is off: {means['dpes', 'write latency', 4500]:.3f}"),
    }


def _all_failed(rows: Sequence[str], error: str) -> dict[str, Finding]:
    return {row: Finding(None, note=f"runs failed; {error}") for row in rows}


#: Figure → function of the runs.
FIGURES: dict[str, Callable[[Device], dict[str, Finding]]] = {
    "14": figure_14,
    "15": figure_15,
    "table4": table_4,
}
