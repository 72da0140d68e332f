"""Figure 13 of the superblock paper: overhead by the size of the superblock."""

from __future__ import annotations

from collections.abc import Mapping

from pumice.analysis import plots
from pumice.analysis.plots import Frame
from pumice.analysis.statistics import falling
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.quantities import quotient
from pumice_papers.scoreboard import Finding
from pumice_papers.superblock.ftls import A_RUN_FAILED, COPY, FTLS, KEEP, PC, draw_swept, overhead, shown, swept


@figure(
    frame=Frame(
        "Figure 13: overhead by the size of the superblock (pc)", "seconds", x_label="logical blocks of a superblock"
    ),
    studies=("size", "fast"),
    rows=("fig13_size", "fig13_size_one"),
)
def figure_13(drawing: Drawing) -> Findings:
    """Overhead by the size of the superblock, the map in RAM."""
    series = {name: swept(drawing, "size", FTLS[name], "ftl.superblock.logical", overhead) for name in (COPY, KEEP)}
    fast = overhead(drawing.runs.find("fast", {}).get(PC))
    reference = None if fast is None else (fast, "FAST")
    draw_swept(drawing, series, plots.Scale(log_x=True, ticks=list(series[COPY])), reference)
    seconds = [value for value in series[COPY].values() if value is not None]
    if len(seconds) < len(series[COPY]) or not seconds:
        return dict.fromkeys(drawing.figure.rows, Finding(None, note=A_RUN_FAILED))
    if not seconds[0] or not fast:
        return dict.fromkeys(drawing.figure.rows, Finding(None, note="nothing was collected at size 1, or by FAST"))
    relative = [value / seconds[0] for value in seconds]
    note = f"with keep {_relative(series[KEEP])}"
    note += f" (the rule {'holds' if size_rule(series[KEEP]) else 'does not hold'})"
    note += "; no evidence: mixtures of pc that all meet figure 10 keep the rule or break it (figure mixtures, --full)"
    to_fast = ", ".join(f"{size:g} {shown(quotient(value, fast))}" for size, value in series[COPY].items())
    return {
        "fig13_size": Finding(relative, size_rule(series[COPY]), note),
        "fig13_size_one": Finding([seconds[0] / fast], note=f"/ FAST by size: {to_fast}"),
    }


def _relative(found: Mapping[float, float | None]) -> str:
    first = next(iter(found.values()), None)
    return ", ".join(shown(None if value is None or not first else value / first) for value in found.values())


def size_rule(by_size: Mapping[float, float | None]) -> bool:
    """Whether the overhead falls from size 1 to its least, and by more up to size 4 than from there on."""
    seconds = {size: value for size, value in by_size.items() if value is not None}
    best = min(seconds, key=lambda size: seconds[size], default=1)
    down = [value for size, value in seconds.items() if size <= best]
    if best == 1 or not falling(down):
        return False
    return seconds[1] - seconds[4] > seconds[4] - seconds[best]
