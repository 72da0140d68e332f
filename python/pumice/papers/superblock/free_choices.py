"""How the free choices of the FAT32 workloads move figure 9 of the superblock FTL; no row of the scoreboard."""

from __future__ import annotations

from functools import partial

from pumice.analysis import plots
from pumice.papers.context import Context, FigureOf
from pumice.papers.ratios import Ratios, Sweep, draw_sweep, ratios
from pumice.papers.scoreboard import Finding
from pumice.papers.superblock.figures_9_14 import COPY, FAST, FTLS, KEEP, overhead

#: Choices: figure and study → key, and what it is called.
CHOICES = {
    "fragmentation": ("workload.fat_fragmentation", "share of clusters under small static files"),
    "flush": ("workload.fat_flush_kib", "KiB of file data between writes of the tables"),
}


def _to_fast(context: Context, study: str, name: str, point: dict[str, float]) -> Ratios:
    over, under = (
        {load: overhead(document) for load, document in context.runs.find(study, {**FTLS[ftl], **point}).items()}
        for ftl in (name, FAST)
    )
    return ratios(over, under)


def figure_choice(study: str, context: Context) -> dict[str, Finding]:
    """Overhead of the superblock FTL over FAST's, by one choice, for both readings of its full merge."""
    key, what = CHOICES[study]
    for name, ending in ((COPY, ""), (KEEP, "-keep")):
        by_value = {value: _to_fast(context, study, name, {key: value}) for value in context.runs.values(study, key)}
        frame = plots.Frame(f"Figure 9 by {study}: {name}", "overhead, superblock / FAST", x_label=what)
        named = context.runs.workloads(study)
        draw_sweep(frame, Sweep(by_value, named, log_x=study == "flush"), context.directory / f"{study}{ending}")
    return {}


#: Figures over runs of the full mode.
FIGURES: dict[str, FigureOf] = {study: partial(figure_choice, study) for study in CHOICES}
