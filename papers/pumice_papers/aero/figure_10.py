"""Figure 10 of AERO: bit errors after complete erasure, and which fail bits may stay."""

from __future__ import annotations

from pumice.analysis import plots
from pumice.analysis.plots import Frame
from pumice_papers.aero.erase_models import PECS, RANGES, ask, erased
from pumice_papers.figures import Drawing, Findings, figure


@figure(
    paper="aero",
    id="10",
    frame=Frame("Figure 10a: most bit errors after complete erasure", "bits per KiB", (63.0, "requirement"), digits=1),
)
def figure_10(drawing: Drawing) -> Findings:
    """Most bit errors after complete erasure by loops, and which fail bits may stay."""
    life = {point["pec"]: point["m_rber"] for point in ask("lifetime", scheme="ispe", pec=list(PECS))["points"]}
    most: dict[int, float] = {}
    for pec, found in zip(PECS, erased(drawing, "ispe", PECS), strict=True):
        for loops, blocks in enumerate(found["by_loops"]):
            if blocks:
                most[loops] = life[pec]
    tables = ask("table-1")
    rows = [
        [requirement, loop + 1, RANGES[place], complete - tables[requirement][loop][place]]
        for requirement in ("63", "50", "40")
        for loop, row in enumerate(tables["complete"])
        for place, complete in enumerate(row)
    ]
    drawing.write_csv(["requirement", "loop", "fail bits up to", "pulse time saved, ms"], rows, "b")
    drawing.write_csv(["loops", "M_RBER, bits per KiB"], [[loops, most[loops]] for loops in sorted(most)], "a")
    bars = plots.Bars([f"N = {loops}" for loops in sorted(most)], {"ispe": [most[loops] for loops in sorted(most)]})
    plots.grouped_bars(drawing.frame, bars, drawing.file("a"))
    return {}
