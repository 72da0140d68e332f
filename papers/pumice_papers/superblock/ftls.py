"""What the figures of the 2006 superblock FTL share: the FTLs compared, and the overhead.

The superblock FTL is drawn twice, for two readings of the paper's full merge. One takes the paper by
its words (`copy`, judged by the scoreboard); the other leaves D-blocks alone that hold nothing invalid
(`keep`, in the notes).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from pumice.analysis import plots
from pumice.results.document import number
from pumice_papers.figures import Drawing
from pumice_papers.quantities import Document, Quantity
from pumice_papers.ratios import Ratios

KIND, READING = "ftl.kind", "ftl.superblock.valid_blocks"

#: The study of every FTL in every workload.
OVERALL = "overall"

#: The workload of figures 10 to 14.
PC = "pc"

LOG, FAST, COPY, KEEP = "log block", "FAST", "superblock", "superblock, keep"

#: FTLs in the figures: name → what picks its runs.
FTLS: dict[str, dict[str, str]] = {
    LOG: {KIND: "log-block", READING: "copy"},
    FAST: {KIND: "fast", READING: "copy"},
    COPY: {KIND: "superblock-2006", READING: "copy"},
    KEEP: {KIND: "superblock-2006", READING: "keep"},
}

#: Parts of the overhead, as the result document names them.
PARTS = ("map", "copy", "erase")

#: Note of a row whose runs failed.
A_RUN_FAILED = "a run failed"


def overhead(document: Document) -> float | None:
    """Time of garbage collection, seconds: map, copies and erases."""
    parts = [number(document, f"gc.time_us.{part}") for part in PARTS]
    return None if None in parts else sum(part for part in parts if part is not None) / 1e6


def by_workload(drawing: Drawing, name: str, quantity: Quantity) -> dict[str, float | None]:
    """A quantity of one FTL in every workload of figure 9."""
    documents = drawing.runs.find(OVERALL, FTLS[name])
    return {workload: quantity(document) for workload, document in documents.items()}


def of_pc(drawing: Drawing, name: str) -> dict[str, Any] | None:
    """The document of one FTL under the workload `pc`."""
    return drawing.runs.find(OVERALL, FTLS[name]).get(PC)


def swept(
    drawing: Drawing, study: str, varied: Mapping[str, Any], key: str, quantity: Quantity
) -> dict[float, float | None]:
    """A quantity under the workload `pc` by the value of a swept key, ascending."""
    values = drawing.runs.values(study, key)
    return {value: quantity(drawing.runs.find(study, {**varied, key: value}).get(PC)) for value in values}


def draw_swept(
    drawing: Drawing,
    series: Mapping[str, Mapping[float, float | None]],
    scale: plots.Scale,
    reference: tuple[float, str] | None = None,
) -> None:
    """Draws a line for each series over the swept values, and writes the CSV.

    `reference` is the y of a line to compare with, and its label.
    """
    frame = dataclasses.replace(drawing.frame, reference=reference)
    curves = [plots.Curve(label, list(found), list(found.values())) for label, found in series.items()]
    plots.lines(frame, curves, drawing.file(), scale)
    values = next(iter(series.values()))
    rows = [[value, *(found.get(value) for found in series.values())] for value in values]
    drawing.write_csv([drawing.frame.x_label or "", *series], rows)


def scaled(value: float | None, by: float) -> float | None:
    """`value` / `by`; None stays None."""
    return None if value is None else value / by


def shown(value: float | None) -> str:
    """A value in a note."""
    return "–" if value is None else f"{value:.3f}"


def listed(found: Ratios) -> str:
    """The ratio of each workload, in a note."""
    return ", ".join(f"{load} {found.ratio(load):.3f}" for load in found.over)
