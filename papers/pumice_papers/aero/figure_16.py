"""Figure 16 of AERO: lifetime and read tails by mispredictions."""

from __future__ import annotations

from pumice.analysis import plots
from pumice.analysis.plots import Frame
from pumice_papers.aero.erase_models import ask
from pumice_papers.aero.sensitivity import RATE, Sensitivity, draw_sensitivity
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.scoreboard import Finding


@figure(
    frame=Frame("Figure 16a: lifetime gained over ispe, by misprediction rate", "PEC gained, share"),
    rows=("fig16_misprediction",),
)
def figure_16a(drawing: Drawing) -> Findings:
    """Lifetime against the misprediction rate."""
    rates = (0.0, 0.01, 0.05, 0.1, 0.2)
    base = ask("lifetime", scheme="ispe")["pec_at_requirement"]
    gains = {
        scheme: [
            ask("lifetime", scheme=scheme, misprediction_rate=rate, seed=1)["pec_at_requirement"] / base - 1
            for rate in rates
        ]
        for scheme in ("aero", "aero-cons")
    }
    rows = [[rate, *(gain[place] for gain in gains.values())] for place, rate in enumerate(rates)]
    drawing.write_csv(["misprediction rate", *gains], rows)
    plots.grouped_bars(drawing.frame, plots.Bars([f"{rate:.0%}" for rate in rates], gains), drawing.file())
    return {"fig16_misprediction": Finding([gains["aero"][-1], gains["aero-cons"][-1]])}


#: What figure 16b varies.
MISPREDICTION = Sensitivity(
    RATE,
    "misprediction rate",
    {0.0: "0 %", 0.01: "1 %", 0.05: "5 %", 0.1: "10 %", 0.2: "20 %"},
)


@figure(
    frame=Frame("Figure 16b: read latency / ispe, by misprediction rate", "ratio", (1.0, "ispe")),
    studies=("misprediction",),
    needs_all=True,
)
def figure_16b(drawing: Drawing) -> Findings:
    """Read tails in relation to ispe. No row of the scoreboard: the paper prints no table of them."""
    draw_sensitivity(drawing, MISPREDICTION)
    return {}
