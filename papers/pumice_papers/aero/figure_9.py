"""Figure 9 of AERO: what shallow erase gains."""

from __future__ import annotations

from typing import Any

from pumice.analysis import plots
from pumice.analysis.plots import Frame
from pumice_papers.aero.erase_models import PULSE_MS, PULSES_PER_LOOP, needed
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.scoreboard import Finding


@figure(
    frame=Frame("Figure 9: shallow erase of a given length, at 0.1K and 0.5K PEC", "share"),
    rows=("fig9_shallow",),
)
def figure_9(drawing: Drawing) -> Findings:
    """What shallow erase of a length gains, over blocks at 0.1K and 0.5K PEC."""
    rows: list[list[Any]] = []
    values: dict[int, list[float]] = {}
    for shallow in (1, 2, 3, 4):
        found = needed(drawing, (100, 500), shallow_pulses=shallow)
        pulses = [sum(counts) for counts in zip(*(one["by_pulses"] for one in found), strict=True)]
        single = pulses[: PULSES_PER_LOOP + 1]
        share = sum(pulses[:PULSES_PER_LOOP]) / sum(pulses)
        mean = sum(place * count for place, count in enumerate(single)) / sum(single) / PULSES_PER_LOOP
        values[shallow] = [share, mean]
        rows.append([PULSE_MS * shallow, share, mean])
    drawing.write_csv(
        ["shallow erase, ms", "blocks below the default pulse", "mean single-loop erase / default"],
        rows,
    )
    series = {
        "blocks below 3.5 ms": [values[shallow][0] for shallow in values],
        "mean erase / 3.5 ms": [values[shallow][1] for shallow in values],
    }
    groups = [f"{PULSE_MS * shallow:g} ms" for shallow in values]
    plots.grouped_bars(drawing.frame, plots.Bars(groups, series), drawing.file())
    return {"fig9_shallow": Finding(values[2], note="pulse time of blocks with one loop; both PECs together")}
