"""Figure 10 of AERO: bit errors after complete erasure, and which fail bits may stay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pumice.analysis import plots
from pumice.analysis.plots import Frame
from pumice_papers.aero.erase_models import PECS, RANGES, ask, erased
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.scoreboard import Finding

#: The paper's requirement, bits per KiB.
REQUIREMENT = 63.0

#: In how many ranges of fail bits Figure 10b leaves out the last of two, three, four, five loops: γ and δ; the same; γ;
#: none.
PRINTED = [2, 2, 1, 0]

#: Why the margin after one loop depends on how worn the blocks are.
WORN = "the model adds the wear of all cycles, at every number of loops"


@figure(
    frame=Frame("Figure 10a: most bit errors after complete erasure", "bits per KiB", (63.0, "requirement"), digits=1),
    rows=("fig10_margin", "fig10_skipped"),
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
    return {"fig10_margin": _margin(most), "fig10_skipped": _skipped(tables)}


def _margin(most: Mapping[int, float]) -> Finding:
    """What the most bit errors leave of the requirement, after one loop; the rule is over all numbers of loops."""
    margins = [REQUIREMENT - most[loops] for loops in sorted(most)]
    note = f"after {', '.join(map(str, sorted(most)))} loops: {', '.join(f'{margin:.1f}' for margin in margins)}"
    return Finding(margins[:1], min(margins) > 0 and max(margins) == margins[0], f"{note}; {WORN}")


def _skipped(tables: Mapping[str, Any]) -> Finding:
    """In how many ranges of fail bits nothing follows the loop before the last, from two loops on."""
    skipped = [sum(time == 0 for time in row) for row in tables["63"][1:]]
    return Finding(skipped, skipped == PRINTED, "from Table 1, which the paper made from this figure")
