"""The FTLs of 2006 beside later ones on present-day chips: beyond the paper, no row of the scoreboard."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pumice.analysis import plots
from pumice.analysis.plots import Frame
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.quantities import AEP, VEP, WAF, Quantity, quantity
from pumice_papers.superblock.ftls import COPY, FAST, FTLS, KEEP, KIND, LOG, overhead

WORKLOAD = "hot-cold"

MERGE = "ftl.merge"

#: FTLs in the order of their age: name → what picks the run.
AGES: dict[str, Mapping[str, Any]] = {
    "replacement block": {KIND: "replacement-block"},
    LOG: {KIND: "log-block"},
    FAST: {KIND: "fast"},
    COPY: FTLS[COPY],
    KEEP: FTLS[KEEP],
    "page-level": {KIND: "page"},
    "NFTL": {KIND: "nftl", MERGE: "block-erase"},
    "NFTL, M-Merge": {KIND: "nftl", MERGE: "m-merge"},
}


#: Panels: title → quantity.
QUANTITIES: dict[str, Quantity] = {
    "garbage collection, s": overhead,
    "write amplification": quantity(WAF),
    "RAM of the map, KiB": quantity("gc.map.ram_bytes", 1024),
    "pages copied, millions": quantity("gc.copied_pages", 1e6),
    "AEP: erases a page, mean": quantity(AEP),
    "VEP: their variance": quantity(VEP),
}


@figure(
    frame=Frame("The FTLs of 2006 beside later ones", ""),
    studies=("modern",),
)
def figure_modern(drawing: Drawing) -> Findings:
    """Overhead, write amplification, map and wear of each FTL under one workload."""
    documents = {name: drawing.runs.find("modern", varied).get(WORKLOAD) for name, varied in AGES.items()}
    values = {title: [of(document) for document in documents.values()] for title, of in QUANTITIES.items()}
    rows = [[name, *(column[place] for column in values.values())] for place, name in enumerate(documents)]
    drawing.write_csv(["FTL", *values], rows)
    names = list(documents)

    def draw(axes: Any) -> None:
        for place, (title, column) in enumerate(values.items()):
            _bars(axes[place // 3][place % 3], title, names if place % 3 == 0 else [""] * len(names), column)

    plots.panels(draw, drawing.file())
    return {}


def _bars(axes: Any, title: str, names: list[str], values: list[float | None]) -> None:
    """Bars from top to bottom, each with its value."""
    axes.set_title(title, fontsize=9)
    axes.barh(range(len(values)), [value or 0.0 for value in values], color=plots.COLOURS[0])
    axes.set_yticks(range(len(names)), names)
    axes.set_xticks([])
    axes.invert_yaxis()
    axes.grid(visible=False)
    axes.margins(x=0.2)
    for place, value in enumerate(values):
        text = " –" if value is None else f" {value:,.3g}" if value < 1000 else f" {value:,.0f}"
        axes.text(value or 0.0, place, text, va="center", fontsize=8)
