"""Table 1 of AERO: pulses of the next loop by fail bits, as built."""

from __future__ import annotations

from pumice.analysis.plots import Frame
from pumice_papers.aero.erase_models import RANGES, ask
from pumice_papers.figures import Drawing, Findings, figure


@figure(
    frame=Frame("Table 1: pulses of the next loop by fail bits", ""),
)
def figure_table1(drawing: Drawing) -> Findings:
    """Pulses of the next loop by fail bits, as built: complete / with the margin of requirement 63."""
    tables = ask("table-1")
    rows = [
        [loop + 1, *(f"{complete:g}/{tables['63'][loop][place]:g}" for place, complete in enumerate(row))]
        for loop, row in enumerate(tables["complete"])
    ]
    drawing.write_csv(["loop", *(f"≤ {name}" for name in RANGES)], rows)
    return {}
