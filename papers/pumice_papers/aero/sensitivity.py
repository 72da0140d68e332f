"""How far a read tail moves with one key: what AERO's figures 16b and 17b share.

Their lifetimes, figures 16a and 17a, need no device.
"""

from __future__ import annotations

import dataclasses
import itertools
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pumice.analysis import plots
from pumice_papers.aero.seed_pairs import Pairs, Variants, bootstrap, mean_ratio_or_none, pairs_of
from pumice_papers.aero.tails import BASE, DRAWN_TAILS, PEC, SCHEME, TAILS, erase_share, erasing, read_tail, shares_of
from pumice_papers.figures import Drawing

RATE, REQUIREMENT = "erase.misprediction_rate", "erase.rber_requirement"

#: The baseline neither predicts nor has a margin: it is run once, with these.
DEFAULTS: Mapping[str, Any] = {RATE: 0.0, REQUIREMENT: 63}


@dataclass(frozen=True)
class Sensitivity:
    """What a figure varies.

    Attributes:
        key: the key that is varied besides scheme and P/E cycles.
        title: what is varied, in words.
        values: values of the key, each with its name in the figure.
        schemes: schemes that are drawn beside each other.
        fixed: those of them that do not depend on the key; they are run at its default only.
    """

    key: str
    title: str
    values: Mapping[Any, str]
    schemes: Sequence[str] = ("aero-cons", "aero")
    fixed: Sequence[str] = ()

    def run(self, scheme: str, pec: int, value: Any) -> dict[str, Any]:
        """Varied values of a run."""
        own = DEFAULTS[self.key] if scheme == BASE or scheme in self.fixed else value
        return {SCHEME: scheme, PEC: pec, self.key: own}


def draw_sensitivity(drawing: Drawing, what: Sensitivity) -> None:
    """Draws the tails in relation to ispe, at each value of what is varied and each PEC that was run, and
    writes the CSV."""
    (study,) = drawing.figure.sweeps
    pecs = [int(pec) for pec in drawing.runs.values(study, PEC)]
    base = [what.run(BASE, pec, DEFAULTS[what.key]) for pec in pecs]
    frame = dataclasses.replace(drawing.frame, x_label=erasing(shares_of(drawing.runs, study, base)))
    groups = list(itertools.product(pecs, what.values))
    names = [f"{pec / 1000:g}K, {what.values[value]}" for pec, value in groups]
    for tail, tail_name in DRAWN_TAILS.items():
        ratios = {
            scheme: [mean_ratio_or_none(_pairs(drawing, what, tail, (scheme, *group))) for group in groups]
            for scheme in what.schemes
        }
        title = f"Figure {drawing.figure.id}: {tail_name} read latency / ispe, by {what.title}"
        titled = dataclasses.replace(frame, title=title)
        plots.grouped_bars(titled, plots.Bars(names, ratios), drawing.file(f"-{tail_name}"))
    columns = [
        "PEC", what.title, "scheme", "percentile", "ratio to ispe", "lo", "hi", "workloads", "read latency, µs",
        "erase share of a die",
    ]  # fmt: skip
    drawing.write_csv(columns, list(_rows(drawing, what, groups)))


def _pairs(drawing: Drawing, what: Sensitivity, tail: str, run: tuple[str, int, Any]) -> Pairs:
    """A tail of a run (scheme, P/E cycles, value of the key) and of the baseline, in the workloads that have
    the reads for it."""
    scheme, pec, value = run
    (study,) = drawing.figure.sweeps
    variants = Variants(study, what.run(scheme, pec, value), what.run(BASE, pec, value))
    return pairs_of(drawing.runs, read_tail(tail), variants)


def _rows(drawing: Drawing, what: Sensitivity, groups: Sequence[tuple[int, Any]]) -> Iterator[list[Any]]:
    (study,) = drawing.figure.sweeps
    for scheme, (tail, tail_name) in itertools.product(what.schemes, TAILS.items()):
        for pec, value in groups:
            pairs = _pairs(drawing, what, tail, (scheme, pec, value))
            interval = bootstrap(pairs) if pairs else None
            by_workload = drawing.runs.by_seed(study, what.run(scheme, pec, value))
            documents = [document for by_seed in by_workload.values() for document in by_seed.values()]
            known = [latency for document in documents if (latency := read_tail(tail)(document)) is not None]
            bounds = (interval.value, interval.lo, interval.hi) if interval else (None, None, None)
            yield [
                pec, value, scheme, tail_name, *bounds,
                " ".join(pairs), statistics.fmean(known) if known else None,
                statistics.fmean(map(erase_share, documents)) if documents else None,
            ]  # fmt: skip
