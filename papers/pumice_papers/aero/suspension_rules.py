"""Beyond AERO's paper: read tails by how erases are suspended, and by what the controller knows at the start.

`family` compares rules of suspension. `controller` compares what the controller knows of its blocks at the
start, and lets host writes go between erase loops. Neither has a row of the scoreboard.
"""

from __future__ import annotations

import dataclasses
import itertools
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pumice.analysis import plots
from pumice.analysis.plots import Frame
from pumice_papers.aero.seed_pairs import Pairs, Variants, mean_ratio_or_none, means, pairs_of, workload_interval
from pumice_papers.aero.tails import (
    BASE,
    DRAWN_TAILS,
    PEC,
    PECS,
    PRESET_RULE,
    SCHEME,
    SUSPENSION,
    TAILS,
    erasing,
    read_tail,
    shares_of,
)
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.finished_runs import FinishedRuns, Varied
from pumice_papers.quantities import quantity

RESTART, PROTECTED = "erase.suspension_restart", "erase.protected_loops"
MEMORY, WHOM = "erase.initial_memory", "erase.suspension_for"

#: Rules by name: where an erase stops, what begins again, and how many last loops are never suspended.
RULES: Mapping[str, Varied] = {
    "loop": {SUSPENSION: "loop", RESTART: "loop", PROTECTED: 0},
    "pulse": {SUSPENSION: "pulse", RESTART: "loop", PROTECTED: 0},
    "capped": {SUSPENSION: "capped", RESTART: "loop", PROTECTED: 0},
    "at once, pulse again": {SUSPENSION: "immediate", RESTART: "pulse", PROTECTED: 0},
    "at once, loop again": {SUSPENSION: "immediate", RESTART: "loop", PROTECTED: 0},
    "pulse, last loop protected": {SUSPENSION: "pulse", RESTART: "loop", PROTECTED: 1},
    PRESET_RULE: {SUSPENSION: PRESET_RULE, RESTART: "loop", PROTECTED: 0},
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
    """Two runs whose read tails are compared: a name, and what each varies besides P/E cycles."""

    name: str
    over: Varied
    under: Varied

    def at(self, study: str, pec: int) -> Variants:
        """Both runs at a number of P/E cycles."""
        return Variants(study, {**self.over, PEC: pec}, {**self.under, PEC: pec})


def _controller(scheme: str, memory: str, whom: str) -> Varied:
    return {SCHEME: scheme, MEMORY: memory, WHOM: whom}


FAMILY = [Compared(name, {SCHEME: "aero", **rule}, {SCHEME: BASE, **rule}) for name, rule in RULES.items()]

#: `ispe` knows nothing of its blocks, so its runs with clear bits stand below those with learned ones too.
CONTROLLER = [
    Compared("SEF bits clear", _controller("aero", "clear", "reads"), _controller(BASE, "clear", "reads")),
    Compared("SEF bits learned", _controller("aero", "learned", "reads"), _controller(BASE, "clear", "reads")),
    Compared(
        "host writes too",
        _controller("aero", "clear", "reads-and-writes"),
        _controller(BASE, "clear", "reads-and-writes"),
    ),
]


@figure(
    frame=Frame("Read tails, aero / ispe, by rule of suspension", "ratio", (1.0, "no change")),
    studies=("family",),
    needs_all=True,
)
def figure_family(drawing: Drawing) -> Findings:
    """Ratios of read tails under each rule of suspension, at each age, means over workloads."""
    return _draw(drawing, FAMILY)


@figure(
    frame=Frame("Read tails, aero / ispe, by what the controller knows and lets in", "ratio", (1.0, "no change")),
    studies=("controller",),
    needs_all=True,
)
def figure_controller(drawing: Drawing) -> Findings:
    """The same, by what SEF bits hold at the start, and with host writes between erase loops."""
    return _draw(drawing, CONTROLLER)


def _draw(drawing: Drawing, compared: Sequence[Compared]) -> Findings:
    (study,) = drawing.figure.sweeps
    groups = list(itertools.product(DRAWN_TAILS, PECS))
    bars = {
        one.name: [mean_ratio_or_none(_pairs(drawing.runs, one.at(study, pec), tail)) for tail, pec in groups]
        for one in compared
    }
    shares = shares_of(drawing.runs, study, [compared[0].at(study, pec).under for pec in PECS])
    frame = dataclasses.replace(drawing.frame, x_label=erasing(shares))
    names = [f"{DRAWN_TAILS[tail]}, {pec / 1000:g}K" for tail, pec in groups]
    plots.grouped_bars(frame, plots.Bars(names, bars), drawing.file())
    columns = [
        "compared", "PEC", "workload", "percentile", "ispe, µs", "aero, µs", "ratio", "lo", "hi",
        *(f"{scheme}: {name}" for scheme in (BASE, "aero") for name in BESIDE),
    ]  # fmt: skip
    drawing.write_csv(columns, list(_rows(drawing.runs, study, compared)))
    return {}


def _pairs(runs: FinishedRuns, both: Variants, tail: str) -> Pairs:
    return pairs_of(runs, read_tail(tail), both)


def _rows(runs: FinishedRuns, study: str, compared: Sequence[Compared]) -> Iterator[list[Any]]:
    for one, pec, (tail, name) in itertools.product(compared, PECS, TAILS.items()):
        both = one.at(study, pec)
        for load, of_seeds in _pairs(runs, both, tail).items():
            own = workload_interval(of_seeds)
            beside = [_beside(runs, study, varied, load) for varied in (both.under, both.over)]
            yield [one.name, pec, load, name, *means(of_seeds), own.value, own.lo, own.hi, *itertools.chain(*beside)]


def _beside(runs: FinishedRuns, study: str, varied: Varied, load: str) -> list[float | None]:
    """The fields of `BESIDE`, each its mean over the seeds of a run; None where no seed has it."""
    documents = runs.by_seed(study, varied)[load].values()
    found = [[quantity(path)(document) for document in documents] for path in BESIDE.values()]
    return [statistics.fmean(known) if (known := [v for v in values if v is not None]) else None for values in found]
