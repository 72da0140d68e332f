"""Figure 17 of AERO: lifetime and read tails by the requirement on bit errors."""

from __future__ import annotations

from pumice.analysis import plots
from pumice.analysis.plots import Frame
from pumice_papers.aero.erase_models import ask
from pumice_papers.aero.sensitivity import REQUIREMENT, Sensitivity, draw_sensitivity
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.scoreboard import Finding


@figure(
    paper="aero",
    id="17a",
    frame=Frame("Figure 17a: P/E cycles until the requirement is met", "PEC", digits=0),
    rows=("fig17_requirement",),
)
def figure_17a(drawing: Drawing) -> Findings:
    """Lifetime at three requirements."""
    requirements = (40, 50, 63)
    ends = {
        scheme: [ask("lifetime", scheme=scheme, requirement=bits)["pec_at_requirement"] for bits in requirements]
        for scheme in ("ispe", "aero-cons", "aero")
    }
    rows = [[bits, *(end[place] for end in ends.values())] for place, bits in enumerate(requirements)]
    drawing.write_csv(["requirement, bits per KiB", *ends], rows)
    plots.grouped_bars(drawing.frame, plots.Bars([f"{bits} bits" for bits in requirements], ends), drawing.file())
    note = "aero measured at three PECs only for this requirement; its saving between them is interpolated"
    return {"fig17_requirement": Finding([ends["aero"][0] / ends["aero-cons"][0]], note=note)}


#: What figure 17b varies.
MARGIN = Sensitivity(
    REQUIREMENT,
    "requirement",
    {40: "40 bits", 50: "50 bits", 63: "63 bits"},
    fixed=("aero-cons",),
)


@figure(
    paper="aero",
    id="17b",
    frame=Frame("Figure 17b: read latency / ispe, by requirement", "ratio", (1.0, "ispe")),
    studies=("requirement",),
)
def figure_17b(drawing: Drawing) -> Findings:
    """Read tails in relation to ispe. No row of the scoreboard: the paper prints no table of them."""
    draw_sensitivity(drawing, MARGIN)
    return {}
