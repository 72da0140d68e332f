"""Figure 15 of AERO: read tails with suspension and without."""

from __future__ import annotations

import dataclasses
import itertools

from pumice.analysis import plots
from pumice.analysis.plots import Frame
from pumice_papers.aero.seed_pairs import Pairs, Variants, mean_ratio, mean_ratio_or_none, pairs_of
from pumice_papers.aero.tails import (
    BASE,
    PECS,
    PRESET_RULE,
    TAILS,
    base_shares,
    erasing,
    read_tail,
    run_with,
    tail_finding,
    write_tails,
)
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.scoreboard import Finding

STUDY = "suspension"
SUSPENSIONS = ("off", PRESET_RULE)


@figure(
    frame=Frame("Figure 15: read latency / ispe without suspension", "ratio", (1.0, "ispe, off")),
    studies=(STUDY,),
    rows=("fig15_no_suspension",),
    needs_all=True,
)
def figure_15(drawing: Drawing) -> Findings:
    """Read tails with suspension and without, in relation to ispe that is never suspended."""
    groups = list(itertools.product(SUSPENSIONS, PECS))
    frame = dataclasses.replace(drawing.frame, x_label=erasing(base_shares(drawing, STUDY)))
    for tail, tail_name in TAILS.items():
        bars = {
            scheme: [
                mean_ratio_or_none(_pairs(drawing, tail, run_with(scheme, pec, mode), run_with(BASE, pec, "off")))
                for mode, pec in groups
            ]
            for scheme in (BASE, "aero-cons", "aero")
        }
        titled = dataclasses.replace(frame, title=f"Figure 15: {tail_name} read latency / ispe without suspension")
        names = [f"{mode}, {pec / 1000:g}K" for mode, pec in groups]
        plots.grouped_bars(titled, plots.Bars(names, bars), drawing.file(f"-{tail_name}"))
    write_tails(drawing, STUDY)
    return {"fig15_no_suspension": _no_suspension(drawing)}


def _pairs(drawing: Drawing, tail: str, over: dict[str, object], under: dict[str, object]) -> Pairs:
    return pairs_of(drawing.runs, read_tail(tail), Variants(STUDY, over, under))


def _no_suspension(drawing: Drawing) -> Finding:
    """p99.9999 without suspension; the note has the same with it."""
    by_mode = {
        mode: [_pairs(drawing, "p99_9999", run_with("aero", pec, mode), run_with(BASE, pec, mode)) for pec in PECS]
        for mode in SUSPENSIONS
    }
    found = tail_finding(drawing, STUDY, by_mode["off"], TAILS["p99_9999"])
    means = {
        mode: ", ".join(f"{mean_ratio(pairs):.3f}" if pairs else "–" for pairs in by_mode[mode])
        for mode in SUSPENSIONS[1:]
    }
    beside = "; ".join(f"aero / ispe with suspension {mode}: {text}" for mode, text in means.items())
    return Finding(found.values, note=f"{found.note}; {beside}")
