"""Figure 14 of AERO: read tails by scheme and age, with erases suspended by the rule of the preset."""

from __future__ import annotations

import dataclasses
import itertools

from pumice.analysis import plots
from pumice.analysis.plots import Frame
from pumice_papers.aero.seed_pairs import Variants, mean_ratio_or_none, pairs_of
from pumice_papers.aero.tails import (
    BASE,
    DRAWN_TAILS,
    PECS,
    base_shares,
    erasing,
    read_tail,
    run_with,
    tail_finding,
    write_tails,
)
from pumice_papers.figures import Drawing, Findings, figure

STUDY = "tails"
SCHEMES = ("i-ispe", "dpes", "aero-cons", "aero")


@figure(
    frame=Frame("Figure 14: read tail latency / ispe, mean over workloads", "ratio", (1.0, "ispe")),
    studies=(STUDY,),
    rows=("fig14_p9999_aero", "fig14_p9999_cons", "fig14_p999999_aero"),
    needs_all=True,
)
def figure_14(drawing: Drawing) -> Findings:
    """Read tails by scheme and P/E cycles, with erases suspended by the rule of the preset."""
    found = {
        (scheme, pec, tail): pairs_of(
            drawing.runs, read_tail(tail), Variants(STUDY, run_with(scheme, pec), run_with(BASE, pec))
        )
        for scheme, pec, tail in itertools.product(SCHEMES, PECS, DRAWN_TAILS)
    }
    groups = list(itertools.product(DRAWN_TAILS, PECS))
    bars = {scheme: [mean_ratio_or_none(found[scheme, pec, tail]) for tail, pec in groups] for scheme in SCHEMES}
    frame = dataclasses.replace(drawing.frame, x_label=erasing(base_shares(drawing, STUDY)))
    names = [f"{DRAWN_TAILS[tail]}, {pec / 1000:g}K" for tail, pec in groups]
    plots.grouped_bars(frame, plots.Bars(names, bars), drawing.file())
    write_tails(drawing, STUDY)
    judged = {
        "fig14_p9999_aero": ("aero", "p99_99"),
        "fig14_p9999_cons": ("aero-cons", "p99_99"),
        "fig14_p999999_aero": ("aero", "p99_9999"),
    }
    return {
        row: tail_finding(drawing, STUDY, [found[scheme, pec, tail] for pec in PECS], DRAWN_TAILS[tail])
        for row, (scheme, tail) in judged.items()
    }
