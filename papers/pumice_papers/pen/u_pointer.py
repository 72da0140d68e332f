"""Figures 3 and 12a of PEN if U's write pointer is searched: what the search adds to writes. No row of the scoreboard.

Section 2.2.1 has reads and writes of NFTL slower than those of page-level FTLs, because U is searched. Reads search it
for their page in any case; that writes search it for its next free page is one way to read the sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pumice.analysis import plots
from pumice.analysis.plots import Frame
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.over_seeds import Spread, cells, ends, mean, spread, with_seeds
from pumice_papers.pen.baseline import BASE, OPEN_LOOP, OURS, m_merge_to_baseline, over_seeds
from pumice_papers.pen.block_size import STUDY as IN_RAM
from pumice_papers.pen.write_parts import COPIES, SPARE, parts_of, share
from pumice_papers.quantities import WRITE_LATENCY
from pumice_papers.ratios import SeedRatios, ratios

STUDY = "u-pointer"

#: Pages per block: the ends of Figure 3.
ENDS = (72, 576)

#: The search for U's next free page is a part of its own, beside the searches of merges.
SEARCHES = (*SPARE, "map")


@figure(
    frame=Frame("Figures 3a, 3b and 12a, U's write pointer in RAM and searched", "share, ratio"),
    studies=(IN_RAM, OPEN_LOOP, STUDY),
)
def figure_u_pointer(drawing: Drawing) -> Findings:
    """Shares of copies and of spare reads, and the latency ratio of M-Merge, with U's write pointer in either place."""
    rows: dict[str, tuple[Spread | None, Spread | None]] = {}
    ran = drawing.runs.workloads(STUDY)
    low = [name for name in ran if name not in drawing.high_write]
    high = [name for name in ran if name in drawing.high_write]
    for label, workloads, of in (("3a, copies", high, COPIES), ("3b, spare reads", low, SEARCHES)):
        for size in ENDS:
            rows[f"{label}, {size} pages"] = (
                _share(drawing, IN_RAM, {}, workloads, size, of),
                _share(drawing, STUDY, {"ftl.merge": BASE}, workloads, size, of),
            )
    rows["12a, M-Merge / baseline"] = (
        m_merge_to_baseline(drawing, WRITE_LATENCY).mean(only=ran),
        _searched(drawing).mean(),
    )
    series = {name: [each[place] for each in rows.values()] for place, name in enumerate(("in RAM", "searched"))}
    bars = plots.Bars(
        [name.replace(", ", ",\n") for name in rows],
        {name: [mean(each) for each in found] for name, found in series.items()},
        ranges={name: [ends(each) for each in found] for name, found in series.items()},
    )
    plots.grouped_bars(with_seeds(drawing.frame, len(drawing.by_seed)), bars, drawing.file())
    columns = ["quantity", *(f"{name}{ending}" for name in series for ending in ("", ": least", ": largest"))]
    drawing.write_csv(
        columns, [[name, *(cell for each in both for cell in cells(each))] for name, both in rows.items()]
    )
    return {}


def _share(
    drawing: Drawing, study: str, varied: Mapping[str, Any], workloads: list[str], size: int, of: tuple[str, ...]
) -> Spread | None:
    """A share of the write latency without `queue`, over the seeds."""
    return spread([share(parts_of(one, study, workloads, ENDS, varied), size, of) for one in drawing.by_seed])


def _searched(drawing: Drawing) -> SeedRatios:
    """Write latency, M-Merge / baseline, with the pointer searched."""

    def latency(one: Drawing, merge: str) -> dict[str, float | None]:
        return one.values(STUDY, {"ftl.merge": merge, "geometry.pages_per_block": ENDS[1]}, WRITE_LATENCY)

    return over_seeds(drawing, WRITE_LATENCY, lambda one: ratios(latency(one, OURS), latency(one, BASE)))
