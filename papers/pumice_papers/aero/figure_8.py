"""Figure 8 of AERO: how well a range of fail bits tells the pulse that a block needs."""

from __future__ import annotations

from typing import Any

from pumice.analysis import plots
from pumice.analysis.plots import Frame
from pumice_papers.aero.erase_models import PULSE_MS, RANGES, fail_bits
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.scoreboard import Finding


@figure(
    frame=Frame("Figure 8: blocks that need their fail-bit range's pulse", "share of the range's blocks"),
    rows=("fig8_felp",),
)
def figure_8(drawing: Drawing) -> Findings:
    """Share of blocks in a range of fail bits that need the range's most frequent pulse, by loop."""
    found = fail_bits(drawing)
    blocks: dict[tuple[int, int], dict[int, int]] = {}
    for count in found["counts"]:
        if count["applied"] == 0 and count["range"] is not None:
            needs = blocks.setdefault((count["last_loop"], count["range"]), {})
            needs[count["needs"]] = needs.get(count["needs"], 0) + count["blocks"]
    majority = {place: max(needs.values()) / sum(needs.values()) for place, needs in blocks.items()}
    loops = [2, 3, 4, 5]
    used = [place for place in range(len(RANGES)) if any((loop, place) in majority for loop in loops)]
    series = {f"N = {loop}": [majority.get((loop, place)) for place in used] for loop in loops}
    rows: list[list[Any]] = []
    for (loop, place), needs in sorted(blocks.items()):
        total = sum(needs.values())
        rows += [[loop, RANGES[place], PULSE_MS * pulses, n / total, total] for pulses, n in sorted(needs.items())]
    columns = ["loop", "fail bits up to", "pulse needed, ms", "share", "blocks in range"]
    drawing.write_csv(columns, rows)
    plots.grouped_bars(drawing.frame, plots.Bars([f"≤ {RANGES[place]}" for place in used], series), drawing.file())
    least = min(share for (loop, _), share in majority.items() if loop == 4)
    return {"fig8_felp": Finding([least], note="an input of the model: the paper's least share, taken for every range")}
