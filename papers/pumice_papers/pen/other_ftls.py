"""Sections 2.3.1 and 2.3.2 of PEN: block sizes under other FTLs than NFTL, of which the paper prints no figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pumice.analysis import plots
from pumice.analysis.plots import Frame
from pumice.analysis.statistics import mean_of
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.over_seeds import cells, judged, mean, spread, with_seeds
from pumice_papers.pen.write_parts import COPIES, parts_of, share
from pumice_papers.quantities import WAF, quotient

STUDY = "other-ftls"

#: Pages per block: the ends of what the paper sweeps.
ENDS = (72, 576)

SUPERBLOCK, PAGE_LEVEL = "Superblock FTL 4:5", "page level"
FTLS = {SUPERBLOCK: "superblock-pen", PAGE_LEVEL: "page"}

#: The most that write amplification may grow from the first of `ENDS` to the second where a layer "does not suffer": a
#: tenth of what it grows by under NFTL (2.1 to 5.1).
HARDLY = 1 + (5.1 / 2.1 - 1) / 10


@figure(
    frame=Frame("Write amplification by block size, workloads that write much", "write amplification", (1.0, "1")),
    studies=(STUDY,),
    rows=("sec231_superblock_copies", "sec232_superblock_waf", "sec232_page_level_waf"),
)
def figure_other_ftls(drawing: Drawing) -> Findings:
    """Write amplification and the share of copies with small and large blocks under other FTLs."""
    waf = {name: [_means(one, kind) for one in drawing.by_seed] for name, kind in FTLS.items()}
    found = {(name, end): spread([one[end] for one in waf[name]]) for name in FTLS for end in ENDS}
    bars = {f"{end} pages": [mean(found[name, end]) for name in FTLS] for end in ENDS}
    plots.grouped_bars(with_seeds(drawing.frame, len(drawing.by_seed)), plots.Bars(list(FTLS), bars), drawing.file())
    columns = ["FTL", *(f"WAF, {end} pages{ending}" for end in ENDS for ending in ("", ": least", ": largest"))]
    drawing.write_csv(columns, [[name, *(cell for end in ENDS for cell in cells(found[name, end]))] for name in FTLS])
    copies = [[_copies(one, end) for end in ENDS] for one in drawing.by_seed]
    grown = [[quotient(one[ENDS[1]], one[ENDS[0]])] for one in waf[PAGE_LEVEL]]
    return {
        "sec231_superblock_copies": judged(copies, _rises),
        "sec232_superblock_waf": judged([[one[end] for end in ENDS] for one in waf[SUPERBLOCK]], _rises),
        "sec232_page_level_waf": judged(grown, lambda values: values[0] <= HARDLY),
    }


def _rises(values: Sequence[float]) -> bool:
    return values[1] > values[0]


def _run(kind: str) -> dict[str, str]:
    return {"ftl.kind": kind}


def _means(one: Drawing, kind: str) -> Mapping[int, float | None]:
    """Mean write amplification over the workloads, by block size, with one seed."""
    sizes = {end: one.values(STUDY, {**_run(kind), "geometry.pages_per_block": end}, WAF) for end in ENDS}
    return {end: mean_of(list(found.values())) for end, found in sizes.items()}


def _copies(one: Drawing, size: int) -> float | None:
    """The share of copies in the write latency of the Superblock FTL."""
    workloads = one.runs.workloads(STUDY)
    return share(parts_of(one, STUDY, workloads, ENDS, _run(FTLS[SUPERBLOCK])), size, COPIES)
