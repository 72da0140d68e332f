"""Beyond AERO's paper (ASPLOS'24): read tails by the rule by which erases are suspended, by what the controller
knows of its blocks at the start, and with host writes between erase loops. No row of the scoreboard."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pumice.analysis import plots
from pumice.papers.aero.read_tails import (
    BASE,
    PEC,
    PECS,
    SCHEME,
    SUSPENSION,
    TAILS,
    Device,
    Varied,
    bootstrap,
    erasing,
    mean_ratio,
    quantity,
    read_tail,
    shares_of,
)
from pumice.papers.ratios import write_csv
from pumice.papers.scoreboard import Finding

RESTART, PROTECTED = "erase.suspension_restart", "erase.protected_loops"
MEMORY, WHOM = "erase.initial_memory", "erase.suspension_for"

#: Rules by name: where an erase stops, what begins again, last loops that are never suspended.
RULES: Mapping[str, Varied] = {
    "loop": {SUSPENSION: "loop", RESTART: "loop", PROTECTED: 0},
    "pulse": {SUSPENSION: "pulse", RESTART: "loop", PROTECTED: 0},
    "capped": {SUSPENSION: "capped", RESTART: "loop", PROTECTED: 0},
    "at once, pulse again": {SUSPENSION: "immediate", RESTART: "pulse", PROTECTED: 0},
    "at once, loop again": {SUSPENSION: "immediate", RESTART: "loop", PROTECTED: 0},
    "pulse, last loop protected": {SUSPENSION: "pulse", RESTART: "loop", PROTECTED: 1},
    "authors-code": {SUSPENSION: "authors-code", RESTART: "loop", PROTECTED: 0},
}

#: Columns of a CSV besides the tails: name → field of the document, mean over seeds.
BESIDE = {
    "suspensions": "flash.suspensions",
    "restarts": "flash.erase_restarts",
    "erases": "flash.erases.block",
    "share of stress by restarts": "wear.restart_stress",
    "p99.99 write latency, µs": "host.write.latency_us.p99_99",
}


@dataclass(frozen=True)
class Compared:
    """Two runs of a study whose read tails are compared: a name, and what each varies besides P/E cycles."""

    name: str
    over: Varied
    under: Varied


@dataclass(frozen=True)
class Family:
    """A figure over runs of one study."""

    study: str
    title: str
    compared: Sequence[Compared]


FAMILY = Family(
    "family",
    "aero / ispe, by rule of suspension",
    [Compared(name, {SCHEME: "aero", **rule}, {SCHEME: BASE, **rule}) for name, rule in RULES.items()],
)


def _controller(scheme: str, memory: str, whom: str) -> dict[str, Any]:
    return {SCHEME: scheme, MEMORY: memory, WHOM: whom}


CONTROLLER = Family(
    "controller",
    "aero / ispe, by what the controller knows and lets in",
    [
        Compared("SEF bits clear", _controller("aero", "clear", "reads"), _controller(BASE, "clear", "reads")),
        Compared("SEF bits learned", _controller("aero", "learned", "reads"), _controller(BASE, "clear", "reads")),
        Compared(
            "host writes too",
            _controller("aero", "clear", "reads-and-writes"),
            _controller(BASE, "clear", "reads-and-writes"),
        ),
    ],
)


def figure(device: Device, family: Family) -> dict[str, Finding]:
    """Ratios of read tails of a family, at each age, means over workloads."""
    if device.failed(family.study) is not None:
        return {}
    tails = [tail for tail in TAILS if tail != "p99_9"]
    groups = list(itertools.product(tails, PECS))
    bars = {one.name: [_mean(device, family, one, tail, pec) for tail, pec in groups] for one in family.compared}
    under = family.compared[0].under
    shares = erasing(shares_of(device, family.study, lambda pec: {**under, PEC: pec}))
    frame = plots.Frame(f"Read tails, {family.title}", "ratio", (1.0, "no change"), x_label=shares)
    names = [f"{TAILS[tail]}, {pec / 1000:g}K" for tail, pec in groups]
    plots.grouped_bars(frame, plots.Bars(names, bars), device.directory / family.study)
    columns = [
        "compared", "PEC", "workload", "percentile", "ispe, µs", "aero, µs", "ratio", "lo", "hi",
        *(f"{scheme}: {name}" for scheme in (BASE, "aero") for name in BESIDE),
    ]  # fmt: skip
    write_csv(device.directory / f"{family.study}.csv", columns, list(_rows(device, family)))
    return {}


def _mean(device: Device, family: Family, one: Compared, tail: str, pec: int) -> float | None:
    pairs = device.pairs(family.study, read_tail(tail), {**one.over, PEC: pec}, {**one.under, PEC: pec})
    return mean_ratio(pairs) if pairs else None


def _rows(device: Device, family: Family) -> Iterator[list[Any]]:
    for one, pec, (tail, name) in itertools.product(family.compared, PECS, TAILS.items()):
        over, under = {**one.over, PEC: pec}, {**one.under, PEC: pec}
        for load, of_seeds in device.pairs(family.study, read_tail(tail), over, under).items():
            own = bootstrap({load: of_seeds}, 200)
            latencies = [
                statistics.fmean(side) for side in zip(*((below, top) for top, below in of_seeds), strict=True)
            ]
            beside = [_beside(device, family.study, run, load) for run in (under, over)]
            yield [one.name, pec, load, name, *latencies, own.value, own.lo, own.hi, *itertools.chain(*beside)]


def _beside(device: Device, study: str, run: Varied, load: str) -> list[float | None]:
    documents = list(device.seeds(study, run)[load].values())
    found = [[quantity(path)(document) for document in documents] for path in BESIDE.values()]
    return [statistics.fmean(known) if (known := [v for v in values if v is not None]) else None for values in found]


#: Figure → function of the runs.
FIGURES: dict[str, Callable[[Device], dict[str, Finding]]] = {
    "family": lambda device: figure(device, FAMILY),
    "controller": lambda device: figure(device, CONTROLLER),
}
