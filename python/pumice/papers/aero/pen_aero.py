"""Beyond the papers: PEN's M-Merge under AERO's erase schemes, each alone and both together.

A partial erase counts as one P/E cycle of its block: nobody has measured how far it wears the rest. Endurance
therefore stands twice, by cycles of blocks and by erases that hit a page (AEP), as if a partial erase wore its
own pages only; the truth lies between. M-Merge plans with tBERS, whatever the scheme.

The baseline at a P/E count is the block-level FTL with full merges under `ispe`, which erases a block as its
wear demands. `fixed` is PEN's own timing (10 ms a block at any age) and stands in the CSV.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

from pumice.analysis import plots
from pumice.papers.aero.read_tails import BASE, PEC, PECS, SCHEME, Device, Pairs, Quantity, mean_ratio, quantity
from pumice.papers.ratios import write_csv
from pumice.papers.scoreboard import Finding
from pumice.results.document import number

STUDY, MERGE = "pen", "ftl.merge"
FULL, PARTIAL = "block-erase", "m-merge"
SCHEMES = ("fixed", BASE, "aero")

#: What is compared with the baseline: name in the figure → merge and scheme.
VARIANTS = {"AERO": (FULL, "aero"), "PEN": (PARTIAL, BASE), "PEN and AERO": (PARTIAL, "aero")}


def cycles(document: Mapping[str, Any]) -> float:
    """P/E cycles a block, mean over the device, if a partial erase wore its whole block. The engine's own count,
    by leaf, is AEP."""
    erases = document["flash"]["erases"]
    return float((erases["block"] + erases["partial"]) / document["device"]["blocks"])


def endurance(used: Quantity) -> Quantity:
    """Bytes that the host can write until the requirement is met, if wear is even and `used` says what of it
    the run took; None under `fixed`, which knows no wear."""

    def found(document: Mapping[str, Any]) -> float | None:
        end, wear = number(dict(document), "wear.pec_at_requirement"), used(document)
        return None if end is None or not wear else end * document["host"]["write"]["bytes"] / wear

    return found


#: Quantities of the CSV.
QUANTITIES: dict[str, Quantity] = {
    "mean write latency, µs": quantity("host.write.latency_us.mean"),
    "p99.99 write latency, µs": quantity("host.write.latency_us.p99_99"),
    "p99.99 read latency, µs": quantity("host.read.latency_us.p99_99"),
    "mean erase, µs": quantity("wear.mean_erase_latency_us"),
    "AEP": quantity("wear.aep"),
    "VEP": quantity("wear.vep"),
    "P/E cycles a block": cycles,
    "M_RBER, bits per KiB": quantity("wear.m_rber"),
    "PEC at requirement": quantity("wear.pec_at_requirement"),
    "bytes written until then": endurance(cycles),
    "the same by AEP": endurance(quantity("wear.aep")),
}
#: Those of the figure.
DRAWN = ("mean write latency, µs", "p99.99 write latency, µs", "bytes written until then", "the same by AEP")


def figure_pen_aero(device: Device) -> dict[str, Finding]:
    """Write latency, its tail and endurance, in relation to full merges under `ispe`; no row of the scoreboard."""
    rows = [
        [load, pec, merge, scheme, *(measured(document) for measured in QUANTITIES.values())]
        for pec, merge, scheme in itertools.product(PECS, (FULL, PARTIAL), SCHEMES)
        for load, by_seed in device.seeds(STUDY, _run(merge, scheme, pec)).items()
        for document in by_seed.values()
    ]
    columns = ["workload", "PEC", "merge", "scheme", *QUANTITIES]
    write_csv(device.directory / "pen-aero.csv", columns, sorted(rows, key=lambda row: str(row[0])))
    groups = [(name, pec) for name in DRAWN for pec in PECS]
    bars = {
        variant: [_mean(_pairs(device, QUANTITIES[name], run, pec)) for name, pec in groups]
        for variant, run in VARIANTS.items()
    }
    short = dict(zip(DRAWN, ("mean", "p99.99", "endurance", "by AEP"), strict=True))
    frame = plots.Frame(
        "PEN and AERO: write latency (mean, p99.99) and endurance / full merges under ispe",
        "ratio, mean over workloads",
        (1.0, "no change"),
    )
    names = [f"{short[name]}, {pec / 1000:g}K" for name, pec in groups]
    plots.grouped_bars(frame, plots.Bars(names, bars), device.directory / "pen-aero")
    return {}


def _pairs(device: Device, measured: Quantity, run: tuple[str, str], pec: int) -> Pairs:
    return device.pairs(STUDY, measured, _run(*run, pec), _run(FULL, BASE, pec))


def _mean(pairs: Pairs) -> float | None:
    return mean_ratio(pairs) if pairs else None


def _run(merge: str, scheme: str, pec: int) -> dict[str, Any]:
    return {MERGE: merge, SCHEME: scheme, PEC: pec}


#: Figure → function of the runs.
FIGURES: dict[str, Callable[[Device], dict[str, Finding]]] = {"pen-aero": figure_pen_aero}
