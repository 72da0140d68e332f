"""Figure 12 of the superblock paper: overhead by the number of U-blocks."""

from __future__ import annotations

from collections.abc import Mapping

from pumice.analysis import plots
from pumice.analysis.plots import Frame
from pumice.analysis.statistics import falling
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.ratios import ratios
from pumice_papers.scoreboard import Finding
from pumice_papers.superblock.ftls import COPY, FAST, FTLS, KEEP, LOG, draw_swept, listed, overhead, swept

#: U-blocks from which on the paper has the superblock FTL below FAST.
BELOW_FAST_FROM = 256


@figure(
    frame=Frame("Figure 12: overhead by U-blocks (pc)", "seconds", x_label="U-blocks"),
    studies=("u-blocks",),
    rows=("fig12_u_blocks",),
)
def figure_12(drawing: Drawing) -> Findings:
    """Overhead by the number of U-blocks."""
    series = {name: swept(drawing, "u-blocks", varied, "ftl.u_blocks", overhead) for name, varied in FTLS.items()}
    ticks = list(series[LOG])
    draw_swept(drawing, series, plots.Scale(log_x=True, log_y=True, ticks=ticks))
    found = {name: ratios(_named(series[name]), _named(series[FAST])) for name in (COPY, KEEP)}
    to_fast = [found[COPY].ratio(f"{count:g}") for count in ticks]
    values = [ratio for ratio in to_fast if ratio is not None]
    note = f"superblock / FAST at {listed(found[COPY])}; with keep {listed(found[KEEP])}"
    if len(values) < len(ticks) or not ticks:
        return {"fig12_u_blocks": Finding(None, note=note)}
    rising = [name for name in (LOG, FAST, COPY) if not falling([v for v in series[name].values() if v is not None])]
    below = all(ratio < 1 for count, ratio in zip(ticks, values, strict=True) if count >= BELOW_FAST_FROM)
    note += f"; not falling throughout: {', '.join(rising)}" if rising else ""
    return {"fig12_u_blocks": Finding(values, not rising and below, note)}


def _named(values: Mapping[float, float | None]) -> dict[str, float | None]:
    return {f"{key:g}": value for key, value in values.items()}
