"""Figure 17 of AERO: lifetime and read tails by the requirement on bit errors."""

from __future__ import annotations

from pumice.analysis import plots
from pumice.analysis.plots import Frame
from pumice_papers.aero.erase_models import ask
from pumice_papers.aero.sensitivity import REQUIREMENT, Sensitivity, draw_sensitivity
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.scoreboard import Finding


@figure(
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
    note = (
        "aero was measured at three PECs only for this requirement; its saving between them is interpolated as a"
        " difference in pulses; with the largest saving of the three at every age the ratio is"
        f" {most_gained(ends['aero-cons'][0]):.3f}"
    )
    return {"fig17_requirement": Finding([ends["aero"][0] / ends["aero-cons"][0]], note=note)}


def most_gained(end: float) -> float:
    """The life at 40 bits in relation to `end`, that of aero-cons, if aero saved at every age the largest share of the
    stress that was measured at one: no way to join the ages gives more."""
    aero, cons = (
        ask("distribution", scheme=scheme, requirement=40, pec=list(MEASURED)) for scheme in ("aero", "aero-cons")
    )
    saved = max(1 - less["mean_stress"] / all_["mean_stress"] for less, all_ in zip(aero, cons, strict=True))
    pecs = list(range(round(end), round(1.2 * end), 10))
    points = ask("lifetime", scheme="aero-cons", requirement=40, pec=pecs)["points"]
    beyond = points[0]["relative_stress"] / (1 - saved)
    return float(next(point["pec"] for point in points if point["relative_stress"] >= beyond)) / end


#: P/E cycles at which aero was measured for requirement 40.
MEASURED = (500, 2500, 4500)

#: What figure 17b varies.
MARGIN = Sensitivity(
    REQUIREMENT,
    "requirement",
    {40: "40 bits", 50: "50 bits", 63: "63 bits"},
    fixed=("aero-cons",),
)


@figure(
    frame=Frame("Figure 17b: read latency / ispe, by requirement", "ratio", (1.0, "ispe")),
    studies=("requirement",),
    needs_all=True,
)
def figure_17b(drawing: Drawing) -> Findings:
    """Read tails in relation to ispe. No row of the scoreboard: the paper prints no table of them."""
    draw_sensitivity(drawing, MARGIN)
    return {}
