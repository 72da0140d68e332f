"""What sub-block first writing costs reads as a device ages, beside what it saves.

Beyond the paper, which shows that its chip's errors can be corrected but not what that costs once
blocks are worn. No row of the scoreboard.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from pumice.analysis import plots
from pumice.analysis.plots import Frame
from pumice.results.document import number
from pumice.runs.jobs import Outcome
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.finished_runs import FinishedRuns
from pumice_papers.quantities import Document
from pumice_papers.sfws.devices import LAYER_FIRST, ORDER, SUB_BLOCK_FIRST

PEC = "erase.initial_pec"
BLOCKS, SUB_BLOCKS = "price-blocks", "price-sub-blocks"

#: Devices compared: words → study and write sequence; the first is the conventional one.
DEVICES: dict[str, tuple[str, str]] = {
    "LFWS, blocks": (BLOCKS, LAYER_FIRST),
    "LFWS, sub-blocks": (SUB_BLOCKS, LAYER_FIRST),
    "SFWS, sub-blocks": (SUB_BLOCKS, SUB_BLOCK_FIRST),
}

#: What is shown of a run: words → path in its document; `retries a read` is counted from several fields.
SHOWN: dict[str, str] = {
    "mean read latency, µs": "host.read.latency_us.mean",
    "p99 read latency, µs": "host.read.latency_us.p99",
    "p99.9 read latency, µs": "host.read.latency_us.p99_9",
    "mean write latency, µs": "host.write.latency_us.mean",
    "write amplification": "write_amplification",
    "M_RBER, bits per KiB": "wear.m_rber",
}

RETRIES = "retries a page read"

#: Quantities that are drawn, each in a figure of its own: words → end of the file's name, title.
DRAWN = {
    "mean read latency, µs": ("mean", "Mean read latency over age"),
    "p99 read latency, µs": ("p99", "p99 read latency over age"),
    RETRIES: ("retries", "Read retries over age"),
    "write amplification": ("gain", "Write amplification over age"),
}


def retries_a_read(document: Document) -> float | None:
    """Retries for each page that was read and passed the controller, copies included."""
    retries = number(document, "flash.read_retries")
    found = [number(document, f"flash.reads.{cause}") for cause in ("host", "gc", "rmw", "map")]
    pages = sum(count for count in found if count is not None)
    return retries / pages if retries is not None and pages else None


def values(document: Document) -> dict[str, float | None]:
    """All quantities of a run."""
    return {RETRIES: retries_a_read(document), **{what: number(document, path) for what, path in SHOWN.items()}}


def by_device(runs: FinishedRuns) -> dict[str, dict[int, dict[str, float | None]]]:
    """Quantities by device and P/E cycles at the start."""
    found: dict[str, dict[int, dict[str, float | None]]] = {}
    for name, (study, order) in DEVICES.items():
        own = [outcome for outcome in runs.outcomes(study) if outcome.job.varied.get(ORDER, order) == order]
        found[name] = {_pec(outcome): values(outcome.document) for outcome in sorted(own, key=_pec)}
    return found


def _pec(outcome: Outcome) -> int:
    return int(outcome.job.varied[PEC])


@figure(
    frame=Frame("Over age", "", x_label="P/E cycles at the start"),
    studies=(BLOCKS, SUB_BLOCKS),
)
def figure_price(drawing: Drawing) -> Findings:
    """The quantities over P/E cycles, a line for each device, and one table of all of them."""
    found = by_device(drawing.runs)
    rows = [
        [name, pec, *(quantities[what] for what in (RETRIES, *SHOWN))]
        for name, by_pec in found.items()
        for pec, quantities in by_pec.items()
    ]
    drawing.write_csv(["device", "P/E cycles", RETRIES, *SHOWN], rows)
    for what, (end, title) in DRAWN.items():
        frame = dataclasses.replace(drawing.frame, title=title, y_label=what)
        plots.lines(frame, _curves(found, what), drawing.file(f"-{end}"), plots.Scale(from_zero=what == RETRIES))
    return {}


def _curves(found: Mapping[str, Mapping[int, Mapping[str, float | None]]], what: str) -> list[plots.Curve]:
    return [
        plots.Curve(name, list(by_pec), [quantities[what] for quantities in by_pec.values()])
        for name, by_pec in found.items()
    ]
