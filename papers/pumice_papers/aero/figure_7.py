"""Figure 7 of AERO: fail bits against pulse time in the last loop."""

from __future__ import annotations

import dataclasses

from pumice.analysis import plots
from pumice.analysis.plots import Frame
from pumice_papers.aero.erase_models import PULSE_MS, PULSES_PER_LOOP, curves_of, fail_bits
from pumice_papers.figures import Drawing, Findings, figure


@figure(
    frame=Frame("Figure 7: most fail bits after a pulse time (ms) in the last loop", "fail bits"),
)
def figure_7(drawing: Drawing) -> Findings:
    """Most fail bits against pulse time in the last loop, by the pulse time that the loop needs."""
    found = fail_bits(drawing)
    most: dict[tuple[int, int], int] = {}
    for count in found["counts"]:
        if count["last_loop"] > 1 and count["applied"] > 0:
            place = (count["needs"], count["applied"])
            most[place] = max(most.get(place, 0), count["max_bits"])
    applied = list(range(1, PULSES_PER_LOOP + 1))
    curves = {
        f"needs {PULSE_MS * needs:g} ms": [float(most.get((needs, pulses), 0)) for pulses in applied]
        for needs in applied[1:]
    }
    rows = [[PULSE_MS * pulses, *(curve[place] for curve in curves.values())] for place, pulses in enumerate(applied)]
    drawing.write_csv(["pulse time in the last loop, ms", *curves], rows)
    frame = dataclasses.replace(drawing.frame, reference=(float(found["gamma"]), "γ"))
    plots.lines(frame, curves_of([PULSE_MS * pulses for pulses in applied], curves), drawing.file())
    return {}
