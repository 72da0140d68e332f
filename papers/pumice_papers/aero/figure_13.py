"""Figure 13 of AERO: bit errors and lifetime by scheme."""

from __future__ import annotations

from pumice.analysis import plots
from pumice.analysis.plots import Frame
from pumice_papers.aero.erase_models import PULSES_PER_LOOP, SCHEMES, ask, block_count, curves_of, erased
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.scoreboard import Finding


@figure(
    frame=Frame(
        "Figure 13: most bit errors after a year, against P/E cycles", "bits per KiB", reference=(63.0, "requirement")
    ),
    rows=(
        "fig13_lifetime",
        "two_loops_2500",
    ),
)
def figure_13(drawing: Drawing) -> Findings:
    """Bit errors against PEC, and the PEC at which the requirement is met, by scheme."""
    pecs = list(range(0, 8001, 250))
    lives = {scheme: ask("lifetime", scheme=scheme, pec=pecs) for scheme in SCHEMES}
    curves = {scheme: [point["m_rber"] for point in life["points"]] for scheme, life in lives.items()}
    rows = [[pec, *(curve[place] for curve in curves.values())] for place, pec in enumerate(pecs)]
    drawing.write_csv(["PEC", *curves], rows)
    plots.lines(drawing.frame, curves_of([float(pec) for pec in pecs], curves), drawing.file())
    order = ("ispe", "aero-cons", "aero", "i-ispe", "dpes")
    ends = [lives[scheme]["pec_at_requirement"] for scheme in order]
    (aero,) = erased(drawing, "aero", (2500,))
    within = sum(aero["by_pulses"][: 2 * PULSES_PER_LOOP + 1]) / block_count(drawing)
    note = "calibrated: ispe, aero-cons, dpes (own factor); predicted: aero, i-ispe"
    return {
        "fig13_lifetime": Finding(ends, note=note),
        "two_loops_2500": Finding([within], note="measured distribution"),
    }
