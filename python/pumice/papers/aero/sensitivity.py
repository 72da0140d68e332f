"""AERO (ASPLOS'24): the read tails of figures 16 and 17, from a device under load.

How far a tail moves with the rate of mispredictions and with the requirement. Their lifetimes, the left
halves of the paper's figures, need no device and are in `aero`.
"""

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
    SCHEME,
    TAILS,
    Device,
    Interval,
    bootstrap,
    erase_share,
    erasing,
    read_tail,
)
from pumice.papers.ratios import write_csv
from pumice.papers.scoreboard import Finding

RATE, REQUIREMENT = "erase.misprediction_rate", "erase.rber_requirement"

#: The baseline neither predicts nor has a margin: it is run once.
DEFAULTS: Mapping[str, Any] = {RATE: 0.0, REQUIREMENT: 63}


@dataclass(frozen=True)
class Sensitivity:
    """What one figure varies.

    Attributes:
        figure, study: its number and the study with its runs.
        key: the key that is varied besides scheme and P/E cycles.
        title: what is varied, in words.
        values: of the key, each with its name in the figure.
        schemes: drawn beside each other; `fixed` ones do not depend on the key and are run at its default only.
    """

    figure: str
    study: str
    key: str
    title: str
    values: Mapping[Any, str]
    schemes: Sequence[str] = ("aero-cons", "aero")
    fixed: Sequence[str] = ()

    def run(self, scheme: str, pec: int, value: Any) -> dict[str, Any]:
        """Varied values of a run."""
        own = DEFAULTS[self.key] if scheme == BASE or scheme in self.fixed else value
        return {SCHEME: scheme, PEC: pec, self.key: own}


MISPREDICTION = Sensitivity(
    "16b",
    "misprediction",
    RATE,
    "misprediction rate",
    {0.0: "0 %", 0.01: "1 %", 0.05: "5 %", 0.1: "10 %", 0.2: "20 %"},
)
MARGIN = Sensitivity(
    "17b",
    "requirement",
    REQUIREMENT,
    "requirement",
    {40: "40 bits", 50: "50 bits", 63: "63 bits"},
    fixed=("aero-cons",),
)


def figure(device: Device, what: Sensitivity) -> dict[str, Finding]:
    """Read tails in relation to ispe, at each value of what is varied and each PEC that was run. No row of
    the scoreboard: the paper prints no table of them."""
    if device.failed(what.study) is not None:
        return {}
    pecs = sorted({int(str(o.job.varied[PEC])) for study, o in device.runs if study == what.study})
    groups = list(itertools.product(pecs, what.values))
    for tail, tail_name in TAILS.items():
        if tail == "p99_9":
            continue
        ratios: dict[str, Sequence[float | None]] = {
            scheme: [
                interval.value if interval else None for _, interval in _ratios(device, what, tail, scheme, groups)
            ]
            for scheme in what.schemes
        }
        title = f"Figure {what.figure}: {tail_name} read latency / ispe, by {what.title}"
        frame = plots.Frame(title, "ratio", (1.0, "ispe"), x_label=_erasing(device, what, pecs))
        names = [f"{pec / 1000:g}K, {what.values[value]}" for pec, value in groups]
        plots.grouped_bars(frame, plots.Bars(names, ratios), device.directory / f"fig{what.figure}-{tail_name}")
    columns = [
        "PEC", what.title, "scheme", "percentile", "ratio to ispe", "lo", "hi", "workloads", "read latency, µs",
        "erase share of a die",
    ]  # fmt: skip
    write_csv(device.directory / f"fig{what.figure}.csv", columns, list(_rows(device, what, groups)))
    return {}


def _ratios(
    device: Device, what: Sensitivity, tail: str, scheme: str, groups: Sequence[tuple[int, Any]]
) -> Iterator[tuple[list[str], Interval | None]]:
    """Of each group: the workloads with the reads that the tail needs, and their mean ratio."""
    for pec, value in groups:
        pairs = device.pairs(what.study, read_tail(tail), what.run(scheme, pec, value), what.run(BASE, pec, value))
        yield list(pairs), bootstrap(pairs) if pairs else None


def _rows(device: Device, what: Sensitivity, groups: Sequence[tuple[int, Any]]) -> Iterator[list[Any]]:
    for scheme, (tail, tail_name) in itertools.product(what.schemes, TAILS.items()):
        found = _ratios(device, what, tail, scheme, groups)
        for (pec, value), (workloads, interval) in zip(groups, found, strict=True):
            documents = _documents(device, what, what.run(scheme, pec, value))
            latencies = [read_tail(tail)(document) for document in documents]
            known = [latency for latency in latencies if latency is not None]
            bounds = (interval.value, interval.lo, interval.hi) if interval else (None, None, None)
            yield [
                pec, value, scheme, tail_name, *bounds,
                " ".join(workloads), statistics.fmean(known) if known else None,
                statistics.fmean(map(erase_share, documents)) if documents else None,
            ]  # fmt: skip


def _documents(device: Device, what: Sensitivity, run: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The documents of all workloads and seeds of a run."""
    return [document for by_seed in device.seeds(what.study, run).values() for document in by_seed.values()]


def _erasing(device: Device, what: Sensitivity, pecs: Sequence[int]) -> str:
    """For how much of the time a die erases under the baseline, in words."""
    shares: dict[str, list[float]] = {}
    for pec in pecs:
        for load, by_seed in device.seeds(what.study, what.run(BASE, pec, DEFAULTS[what.key])).items():
            shares.setdefault(load, []).append(statistics.fmean(map(erase_share, by_seed.values())))
    return erasing(shares)


#: Figure → function of the runs.
FIGURES: dict[str, Callable[[Device], dict[str, Finding]]] = {
    "16b": lambda device: figure(device, MISPREDICTION),
    "17b": lambda device: figure(device, MARGIN),
}
