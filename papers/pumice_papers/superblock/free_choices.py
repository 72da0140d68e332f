"""How two free choices of the FAT32 workloads, and other seeds, move figure 9. Full mode only; no row."""

from __future__ import annotations

import dataclasses

from pumice.analysis.plots import Frame
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.ratios import Ratios, SeedRatios, Sweep, draw_sweep, ratios
from pumice_papers.superblock.ftls import COPY, FAST, FTLS, KEEP, overhead


@figure(
    frame=Frame(
        "Figure 9 by fragmentation",
        "overhead, superblock / FAST",
        x_label="share of clusters under static data",
    ),
    studies=("fragmentation",),
)
def figure_fragmentation(drawing: Drawing) -> Findings:
    """Overhead over FAST's by the share of clusters that static data holds."""
    _draw_choice(drawing, "workload.fat_fragmentation", log_x=False)
    return {}


@figure(
    frame=Frame(
        "Figure 9 by flush", "overhead, superblock / FAST", x_label="KiB of file data between writes of the tables"
    ),
    studies=("flush",),
)
def figure_flush(drawing: Drawing) -> Findings:
    """Overhead over FAST's by how often the allocation tables are written."""
    _draw_choice(drawing, "workload.fat_flush_kib", log_x=True)
    return {}


@figure(
    frame=Frame("Figure 9 by seed", "overhead, superblock / FAST", x_label="seed"),
    studies=("seeds",),
)
def figure_seeds(drawing: Drawing) -> Findings:
    """Overhead over FAST's with other draws of the same workloads."""
    _draw_choice(drawing, "seed", log_x=False)
    return {}


def _draw_choice(drawing: Drawing, key: str, *, log_x: bool) -> None:
    """Draws the overhead by one choice, for both readings of the full merge."""
    study = drawing.figure.id
    named = drawing.runs.workloads(study)
    for name, ending in ((COPY, ""), (KEEP, "-keep")):
        values = drawing.runs.values(study, key)
        by_value = {value: SeedRatios([_to_fast(drawing, study, name, {key: value})]) for value in values}
        frame = dataclasses.replace(drawing.frame, title=f"{drawing.frame.title}: {name}")
        draw_sweep(frame, Sweep(by_value, named, log_x=log_x), drawing.file(ending))


def _to_fast(drawing: Drawing, study: str, name: str, point: dict[str, float]) -> Ratios:
    over, under = (
        {load: overhead(document) for load, document in drawing.runs.find(study, {**FTLS[ftl], **point}).items()}
        for ftl in (name, FAST)
    )
    return ratios(over, under)
