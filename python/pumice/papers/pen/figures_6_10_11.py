"""Figures 6, 10 and 11 of PEN (FAST'18): worked examples, from the planner alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pumice.analysis import plots
from pumice.papers.ratios import write_csv
from pumice.papers.scoreboard import Finding
from pumice.planning.block_state import FREE, INVALID, VALID
from pumice.planning.m_merge import plan_m_merge
from pumice.planning.worked_examples import MAX_SPLITS, example


def figure_6(directory: Path) -> dict[str, Finding]:
    """Pages copied with and without partial erase."""
    shown = example("fig6")
    (plan,) = shown.plans()
    full = int(np.count_nonzero(shown.d == VALID) + np.count_nonzero(shown.u == VALID))
    partial = plan["copy_out"] + plan["copy_back"]
    write_csv(directory / "fig6.csv", ["merge", "pages copied"], [["full merge", full], ["M-Merge", partial]])
    frame = plots.Frame("Figure 6: copies to merge one outdated PB", "pages copied")
    plots.grouped_bars(frame, plots.Bars(["full merge", "M-Merge"], {"pages": [full, partial]}), directory / "fig6")
    return {"fig6_copies": Finding([full, partial]), "pb_count": Finding([_count_pbs()])}


def _count_pbs() -> int:
    """How many PBs of a block the planner knows: those that it restores alone if just they are outdated."""
    pages = 9 << MAX_SPLITS
    found = 0
    for pb in range(1, 2 << MAX_SPLITS):
        level = pb.bit_length() - 1
        size = pages >> level
        first = (pb - (1 << level)) * size
        d = np.full(pages, VALID, np.uint8)
        d[first : first + size] = INVALID
        u = np.repeat(np.array([VALID, FREE], np.uint8), [size, pages - size])
        found += plan_m_merge(d, u, max_splits=MAX_SPLITS)["restores"] == [pb]
    return found


def figure_10(directory: Path) -> dict[str, Finding]:
    """Time of a merge and an M-Merge by part, in units of a page copy."""
    shown = example("fig10")
    (plan,) = shown.plans()
    full = int(np.count_nonzero(shown.d == VALID) + np.count_nonzero(shown.u == VALID))
    erase = shown.options["block_erase_us"]
    parts: dict[str, list[float | None]] = {
        "copies to a free block": [float(full), None],
        "copies out of D": [None, float(plan["copy_out"])],
        "copies back into D": [None, float(plan["copy_back"])],
        "partial erases": [None, len(plan["restores"]) * erase],
        "block erases": [2 * erase, erase],
    }
    groups = ["full merge", "M-Merge"]
    write_csv(directory / "fig10.csv", ["part", *groups], [[name, *values] for name, values in parts.items()])
    frame = plots.Frame("Figure 10: one merge, two ways", "time, in page copies", digits=0)
    plots.stacked_bars(frame, plots.Bars(groups, parts), directory / "fig10")
    speedup = plan["merge_us"] / plan["m_merge_us"]
    return {
        "fig10_speedup": Finding([speedup], note=f"{plan['merge_us']:g} / {plan['m_merge_us']:g}"),
        "fig10_restores": Finding([*plan["restores"], plan["copy_out"], plan["copy_back"]]),
    }


def figure_11(directory: Path) -> dict[str, Finding]:
    """Pages copied back by four M-Merges in a row: the PB itself, and neighbours at risk."""
    plans = example("fig11").plans()
    back = [plan["copy_back"] for plan in plans]
    own = back[0]
    rounds = [f"{place}. M-Merge" for place in range(1, len(plans) + 1)]
    rows = [[name, own, count - own, count] for name, count in zip(rounds, back, strict=True)]
    write_csv(directory / "fig11.csv", ["M-Merge", "PB 9", "neighbours", "copied back"], rows)
    frame = plots.Frame("Figure 11: PB 9 restored four times over", "pages copied back", digits=0)
    series: dict[str, list[float | None]] = {
        "PB 9": [float(own)] * len(back),
        "neighbours at risk": [float(count - own) for count in back],
    }
    plots.stacked_bars(frame, plots.Bars(rounds, series), directory / "fig11")
    return {"fig11_copied_back": Finding([*back])}
