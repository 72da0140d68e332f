"""Beyond the papers: PEN's M-Merge under AERO's erase schemes, each alone and both together.

A partial erase counts as one P/E cycle of its block: nobody has measured how far it wears the rest.
Endurance therefore stands twice: by cycles of blocks, and by erases that hit a page (AEP), as if a partial
erase wore its own pages only. The truth lies between. M-Merge plans with tBERS, whatever the scheme.

The baseline at a P/E count is the block-level FTL with full merges under `ispe`, which erases a block as its
wear demands. `fixed` is PEN's own timing (10 ms a block at any age) and stands in the CSV.
"""

from __future__ import annotations

import itertools
from typing import Any

from pumice.analysis import plots
from pumice.analysis.plots import Frame
from pumice.results.document import number
from pumice_papers.aero.seed_pairs import Variants, mean_ratio_or_none, pairs_of
from pumice_papers.aero.tails import BASE, PEC, PECS, SCHEME
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.quantities import Document, Quantity, erases_per_block, quantity

STUDY, MERGE = "pen", "ftl.merge"
FULL, PARTIAL = "block-erase", "m-merge"
SCHEMES = ("fixed", BASE, "aero")

#: What is compared with the baseline: name in the figure → merge and scheme.
VARIANTS = {"AERO": (FULL, "aero"), "PEN": (PARTIAL, BASE), "PEN and AERO": (PARTIAL, "aero")}


def endurance(used: Quantity) -> Quantity:
    """Bytes that the host can write until the requirement is met, if wear is even and `used` gives the wear
    of the run; None under `fixed`, which knows no wear."""

    def found(document: Document) -> float | None:
        end, wear = number(document, "wear.pec_at_requirement"), used(document)
        written = number(document, "host.write.bytes")
        return end * written / wear if end is not None and wear and written is not None else None

    return found


#: Quantities of the CSV.
QUANTITIES: dict[str, Quantity] = {
    "mean write latency, µs": quantity("host.write.latency_us.mean"),
    "p99.99 write latency, µs": quantity("host.write.latency_us.p99_99"),
    "p99.99 read latency, µs": quantity("host.read.latency_us.p99_99"),
    "mean erase, µs": quantity("wear.mean_erase_latency_us"),
    "AEP": quantity("wear.aep"),
    "VEP": quantity("wear.vep"),
    "P/E cycles a block": erases_per_block,
    "M_RBER, bits per KiB": quantity("wear.m_rber"),
    "PEC at requirement": quantity("wear.pec_at_requirement"),
    "bytes written until then": endurance(erases_per_block),
    "the same by AEP": endurance(quantity("wear.aep")),
}

#: Those of the figure: quantity → its short name.
DRAWN = {
    "mean write latency, µs": "mean",
    "p99.99 write latency, µs": "p99.99",
    "bytes written until then": "endurance",
    "the same by AEP": "by AEP",
}


@figure(
    frame=Frame(
        "PEN and AERO: write latency (mean, p99.99) and endurance / full merges under ispe",
        "ratio, mean over workloads",
        (1.0, "no change"),
    ),
    studies=(STUDY,),
)
def figure_pen_aero(drawing: Drawing) -> Findings:
    """Write latency, its tail and endurance, in relation to full merges under `ispe`; no row of the scoreboard."""
    rows = [
        [load, pec, merge, scheme, *(measured(document) for measured in QUANTITIES.values())]
        for pec, merge, scheme in itertools.product(PECS, (FULL, PARTIAL), SCHEMES)
        for load, by_seed in drawing.runs.by_seed(STUDY, _run(merge, scheme, pec)).items()
        for document in by_seed.values()
    ]
    columns = ["workload", "PEC", "merge", "scheme", *QUANTITIES]
    drawing.write_csv(columns, sorted(rows, key=lambda row: str(row[0])))
    groups = list(itertools.product(DRAWN, PECS))
    bars = {
        variant: [_mean(drawing, QUANTITIES[name], run, pec) for name, pec in groups]
        for variant, run in VARIANTS.items()
    }
    names = [f"{DRAWN[name]}, {pec / 1000:g}K" for name, pec in groups]
    plots.grouped_bars(drawing.frame, plots.Bars(names, bars), drawing.file())
    return {}


def _mean(drawing: Drawing, measured: Quantity, run: tuple[str, str], pec: int) -> float | None:
    variants = Variants(STUDY, _run(*run, pec), _run(FULL, BASE, pec))
    return mean_ratio_or_none(pairs_of(drawing.runs, measured, variants))


def _run(merge: str, scheme: str, pec: int) -> dict[str, Any]:
    return {MERGE: merge, SCHEME: scheme, PEC: pec}
