"""What a cut takes of the gain of partial erase, of shallow erases and of sub-blocks: what only RAM knew is gone, and
assumed at its worst, or stored in spare areas."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pumice.analysis import plots
from pumice.analysis.plots import Frame
from pumice.results.document import number
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.over_seeds import Spread, cells, curve, mean, spread, with_seeds
from pumice_papers.quantities import WAF, WRITE_LATENCY, Document, Quantity, quantity, quotient

CUTS = "power.cuts"
SCHEME, IN_SPARE = "erase.scheme", "erase.memory_in_spare"
UNIT = "ftl.erase_unit"
PRESET, MERGE = "preset", "ftl.merge"


@dataclass(frozen=True)
class Device:
    """A device that is compared: the study of its runs, and what these have in common among the study's."""

    study: str
    varied: Mapping[str, Any] = field(default_factory=dict)


#: Erase schemes, with what they remember lost or stored; the first remembers nothing.
SCHEMES = {
    "ispe": Device("erase-memory", {SCHEME: "ispe"}),
    "i-ispe, memory lost": Device("erase-memory", {SCHEME: "i-ispe", IN_SPARE: False}),
    "i-ispe, memory in spare areas": Device("erase-memory", {SCHEME: "i-ispe", IN_SPARE: True}),
    "aero, memory lost": Device("erase-memory", {SCHEME: "aero", IN_SPARE: False}),
    "aero, memory in spare areas": Device("erase-memory", {SCHEME: "aero", IN_SPARE: True}),
}

#: What is erased; the first is the conventional device.
UNITS = {
    "blocks": Device("sub-blocks", {UNIT: "block"}),
    "sub-blocks": Device("sub-blocks", {UNIT: "sub-block"}),
    "sub-blocks that disturb each other": Device("sub-blocks-disturbed"),
}

#: Layers that merge: words → preset.
LAYERS = {"nftl": "pen-1tb", "superblock 4:5": "pen-superblock-4-5"}

FULL_MERGES = {name: Device("m-merge", {PRESET: preset, MERGE: "block-erase"}) for name, preset in LAYERS.items()}
M_MERGES = {name: Device("m-merge", {PRESET: preset, MERGE: "m-merge"}) for name, preset in LAYERS.items()}

WRITTEN = "user capacities written between cuts"

#: What is shown of devices that erase sub-blocks: words → path.
SUB_BLOCK_FIELDS = {
    "write amplification": WAF,
    "mean write latency, us": WRITE_LATENCY,
    "recovery, us": "power.recovery_us.mean",
}

#: A number by cuts of the run and seed.
ByCuts = dict[int, dict[int | None, float | None]]


def written_between_cuts(document: Document) -> float | None:
    """User capacities that the host writes from one cut to the next, or over the whole run if it has none."""
    programs, cuts = number(document, "flash.programs.host"), number(document, "power.cuts")
    user, raw, pages = (number(document, f"device.{what}") for what in ("user_bytes", "raw_bytes", "pages"))
    if programs is None or cuts is None or not user or not raw or not pages:
        return None
    return programs * raw / pages / user / (cuts + 1)


def by_cuts(drawing: Drawing, device: Device, of: Quantity) -> ByCuts:
    """A quantity of a device's runs, the fewest cuts first; None where a run failed or has no such number."""
    found: ByCuts = {}
    for outcome in drawing.runs.outcomes(device.study):
        varied = outcome.job.varied
        if all(varied[key] == value for key, value in device.varied.items()):
            found.setdefault(int(varied[CUTS]), {})[outcome.job.seed] = of(outcome.document)
    return dict(sorted(found.items()))


def ratio_by_cuts(over: ByCuts, under: ByCuts) -> ByCuts:
    """The ratio of two devices' numbers at the same cuts and seed."""
    return {
        cuts: {seed: quotient(value, under[cuts][seed]) for seed, value in of_seeds.items()}
        for cuts, of_seeds in over.items()
    }


def gain_left(ratios: ByCuts) -> ByCuts:
    """How much of the gain without cuts is left, of ratios to a device without that gain: 1 for all of it, 0 for none,
    less for a loss. None where there was no gain."""
    first = ratios.get(0, {})

    def left(value: float | None, at_first: float | None) -> float | None:
        return None if value is None or at_first is None or at_first >= 1.0 else (1.0 - value) / (1.0 - at_first)

    return {
        cuts: {seed: left(value, first.get(seed)) for seed, value in of_seeds.items()}
        for cuts, of_seeds in ratios.items()
    }


def _spreads(found: ByCuts) -> dict[int, Spread | None]:
    return {cuts: spread(list(of_seeds.values())) for cuts, of_seeds in found.items()}


def _curve(name: str, found: ByCuts) -> plots.Curve:
    spreads = _spreads(found)
    return curve(name, list(spreads), list(spreads.values()))


def _lines(drawing: Drawing, frame: Frame, found: Mapping[str, ByCuts], ending: str = "") -> None:
    """A line over cuts for each of some numbers."""
    seeds = max(len(of_seeds) for of_cuts in found.values() for of_seeds in of_cuts.values())
    curves = [_curve(name, of_cuts) for name, of_cuts in found.items()]
    plots.lines(with_seeds(frame, seeds), curves, drawing.file(ending))


@figure(
    frame=Frame(
        "What erase schemes remember, under power cuts", "mean time of an erase, us", x_label="cuts of the run"
    ),
    studies=("erase-memory",),
)
def figure_erase_memory(drawing: Drawing) -> Findings:
    """Mean time of an erase against the number of cuts, with what the scheme remembers lost and stored."""
    times = {name: by_cuts(drawing, device, quantity("wear.mean_erase_latency_us")) for name, device in SCHEMES.items()}
    plain = next(iter(times.values()))
    left = {name: gain_left(ratio_by_cuts(own, plain)) for name, own in times.items()}
    columns = {"mean erase, us": times, "gain over ispe that is left": left}
    _write(drawing, "scheme", SCHEMES, columns)
    _lines(drawing, drawing.frame, times)
    return {}


@figure(
    frame=Frame("Sub-blocks under power cuts", "write amplification", x_label="cuts of the run"),
    studies=("sub-blocks", "sub-blocks-disturbed"),
)
def figure_sub_blocks(drawing: Drawing) -> Findings:
    """Write amplification and latency against the number of cuts, of devices that erase blocks and sub-blocks."""
    columns = {
        words: {name: by_cuts(drawing, device, quantity(path)) for name, device in UNITS.items()}
        for words, path in SUB_BLOCK_FIELDS.items()
    }
    _write(drawing, "erased", UNITS, columns)
    for words, ending in (("write amplification", ""), ("mean write latency, us", "-latency")):
        _lines(drawing, dataclasses.replace(drawing.frame, y_label=words), columns[words], ending)
    return {}


@figure(
    frame=Frame("M-Merge under power cuts", "", (1.0, "full merges"), x_label="cuts in a week"),
    studies=("m-merge",),
)
def figure_m_merge(drawing: Drawing) -> Findings:
    """Mean write latency and write amplification with M-Merge over those with full merges, against the cuts."""
    columns: dict[str, dict[str, ByCuts]] = {}
    for words, path in (("mean write latency", WRITE_LATENCY), ("write amplification", WAF)):
        ratios = {
            name: ratio_by_cuts(*(by_cuts(drawing, of[name], quantity(path)) for of in (M_MERGES, FULL_MERGES)))
            for name in M_MERGES
        }
        columns[f"{words}, M-Merge / full merges"] = ratios
        columns[f"{words}: gain that is left"] = {name: gain_left(own) for name, own in ratios.items()}
    _write(drawing, "layer", M_MERGES, columns)
    for words, ending in (("mean write latency", ""), ("write amplification", "-amplification")):
        label = f"{words}, M-Merge / full merges"
        _lines(drawing, dataclasses.replace(drawing.frame, y_label=label), columns[label], ending)
    return {}


def _write(
    drawing: Drawing, what: str, devices: Mapping[str, Device], columns: Mapping[str, Mapping[str, ByCuts]]
) -> None:
    """One table: a row for each device and number of cuts; of each quantity the mean over seeds, least and largest."""
    written = {name: by_cuts(drawing, device, written_between_cuts) for name, device in devices.items()}
    rows = [
        [
            name,
            cuts,
            mean(_spreads(of_cuts)[cuts]),
            *(cell for of in columns.values() for cell in cells(_spreads(of[name])[cuts])),
        ]
        for name, of_cuts in written.items()
        for cuts in of_cuts
    ]
    heads = [f"{words}{part}" for words in columns for part in ("", ": least", ": largest")]
    drawing.write_csv([what, "cuts", WRITTEN, *heads], rows)
