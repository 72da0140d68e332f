"""Figures 4 and 6 of the superblock FTL (EMSOFT'06): worked examples, without a run."""

from __future__ import annotations

from pathlib import Path

from pumice import _engine
from pumice.analysis import plots
from pumice.papers.ratios import write_csv
from pumice.papers.scoreboard import Finding

#: FTLs of Figure 4: name → `ftl.kind`, and the merges that the paper's drawing shows.
FTLS = {"log block": ("log-block", "full"), "FAST": ("fast", "full"), "superblock": ("superblock-2006", "switch")}
MERGES = ("full", "partial", "switch")

#: Figure 6: logical block, page, logical blocks of a superblock.
LOGICAL_BLOCK, PAGE, SUPERBLOCK = 17, 12, 4
INDICES = ("superblock", "PGD index", "PMD index", "PTE index")


def figure_4(directory: Path) -> dict[str, Finding]:
    """Merges of eight updates of four pages, by kind."""
    merges = {name: _engine.merges_of_updates(kind) for name, (kind, _) in FTLS.items()}
    rows = [[name, *(found[kind] for kind in MERGES), found["dead"]] for name, found in merges.items()]
    write_csv(directory / "fig4.csv", ["FTL", *MERGES, "U-blocks erased without a merge"], rows)
    series: dict[str, list[float | None]] = {
        f"{kind} merges": [float(found[kind]) for found in merges.values()] for kind in MERGES
    }
    frame = plots.Frame("Figure 4: updates of P5 P2 P3 P7, twice over", "merges", digits=0)
    plots.stacked_bars(frame, plots.Bars(list(merges), series), directory / "fig4")
    drawn = [merges[name][kind] for name, (_, kind) in FTLS.items()]
    other = sum(merges[name][kind] for name, (_, shown) in FTLS.items() for kind in MERGES if kind != shown)
    note = "; ".join(
        f"{name}: " + ", ".join(f"{n} {kind}" for kind, n in found.items() if n) for name, found in merges.items()
    )
    return {"fig4_merges": Finding([*drawn, other], note=note)}


def figure_6(directory: Path) -> dict[str, Finding]:
    """Where the tables of a page are looked up."""
    found = _engine.superblock_indices(LOGICAL_BLOCK, PAGE, SUPERBLOCK)
    write_csv(directory / "fig6.csv", ["index", "value"], [list(row) for row in zip(INDICES, found, strict=True)])
    frame = plots.Frame(f"Figure 6: logical block {LOGICAL_BLOCK}, page {PAGE}", "index", digits=0)
    plots.grouped_bars(frame, plots.Bars(INDICES, {"index": [float(value) for value in found]}), directory / "fig6")
    return {"fig6_translation": Finding([*found])}
