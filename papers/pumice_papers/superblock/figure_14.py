"""Figure 14 of the superblock paper: look-ups that the map cache answers."""

from __future__ import annotations

from pumice.analysis import plots
from pumice.analysis.plots import Frame
from pumice.results.document import number
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.quantities import Document
from pumice_papers.scoreboard import Finding
from pumice_papers.superblock.ftls import A_RUN_FAILED, COPY, FTLS, KEEP, draw_swept, shown, swept


@figure(
    frame=Frame("Figure 14: the map cache (pc)", "share of look-ups answered", x_label="entries"),
    studies=("cache",),
    rows=("fig14_hit_ratio",),
)
def figure_14(drawing: Drawing) -> Findings:
    """Look-ups that the map cache answers, by its entries."""
    series = {name: swept(drawing, "cache", FTLS[name], "ftl.map_cache_entries", _hit_ratio) for name in (COPY, KEEP)}
    draw_swept(drawing, series, plots.Scale(log_x=True, ticks=list(series[COPY]), from_zero=False))
    known = [value for value in series[COPY].values() if value is not None]
    if len(known) < len(series[COPY]) or not known:
        return {"fig14_hit_ratio": Finding(None, note=A_RUN_FAILED)}
    note = "with keep " + ", ".join(shown(value) for value in series[KEEP].values())
    return {"fig14_hit_ratio": Finding([known[0], known[-1] - known[0]], note=note)}


def _hit_ratio(document: Document) -> float | None:
    hits, misses = (number(document, f"gc.map.{what}") for what in ("hits", "misses"))
    return None if hits is None or misses is None else hits / ((hits + misses) or 1)
