"""Blocks erased by their sub-blocks, in both orders: beside Figure 5 of SFWS, no row of the scoreboard."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pumice.analysis import plots
from pumice.analysis.plots import Frame
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.quantities import Quantity
from pumice_papers.ratios import ratios
from pumice_papers.sfws.devices import (
    LAYER_FIRST,
    MODE,
    ORDER,
    SUB_BLOCK_FIRST,
    copied_pages,
    copies_per_collection,
    erases,
    response,
    values,
)

#: Devices compared: name → study and varied values; the first is the conventional one.
DEVICES: dict[str, tuple[str, Mapping[str, Any]]] = {
    "LFWS, 512-page blocks": ("modes-lfws", {MODE: "blocking"}),
    "SFWS, 32-page blocks": ("modes-sfws", {MODE: "blocking"}),
    "LFWS, sub-blocks": ("sub-blocks", {ORDER: LAYER_FIRST}),
    "SFWS, sub-blocks": ("sub-blocks", {ORDER: SUB_BLOCK_FIRST}),
}

#: What is compared of devices: words → quantity.
QUANTITIES: dict[str, Quantity] = {
    "pages copied": copied_pages,
    "erase operations": erases,
    "pages copied per erase": copies_per_collection,
    "mean response time, µs": response,
}


@figure(
    frame=Frame("Pages copied, by what is erased", "ratio to LFWS, 512-page blocks", (1.0, "no change")),
    studies=("sub-blocks", "modes-lfws", "modes-sfws"),
)
def figure_sub_blocks(drawing: Drawing) -> Findings:
    """Blocks of 512 pages erased by their sub-blocks, both orders, beside the two devices of Figure 5."""
    workloads = drawing.runs.workloads("modes-lfws")
    rows: list[list[Any]] = []
    for what, of in QUANTITIES.items():
        rows += [[what, name, *found.values()] for name, found in _by_device(drawing, of).items()]
    drawing.write_csv(["quantity", "device", *workloads], rows)
    base, *others = _by_device(drawing, copied_pages).values()
    bars = {
        name: [ratios(found, base).ratio(load) for load in workloads]
        for name, found in zip(list(DEVICES)[1:], others, strict=True)
    }
    plots.grouped_bars(drawing.frame, plots.Bars(workloads, bars), drawing.file())
    return {}


def _by_device(drawing: Drawing, of: Quantity) -> dict[str, dict[str, float | None]]:
    return {name: values(drawing, of, study, varied) for name, (study, varied) in DEVICES.items()}
