"""Figure 14 of PEN: how many splits, and which wear limit."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from pumice.analysis.plots import Frame
from pumice.analysis.statistics import falling, not_rising
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.over_seeds import shown
from pumice_papers.pen.baseline import BASE, OPEN_LOOP, over_seeds, to_baseline
from pumice_papers.quantities import AEP, VEP, WRITE_LATENCY, quotient
from pumice_papers.ratios import Ratios, SeedRatios, Sweep, draw_sweep, mean_trend, ratios, write_sweep

SPLITS = (0, 2, 4, 6)
LIMITS = (1, 4, 16, 64)

#: The wear limit from which on VEP is judged. The paper names no W of 1; from there to 4 the erases themselves become
#: fewer, which moves VEP as well.
FIRST_JUDGED = 4

#: Workloads whose writes the paper calls severely skewed.
SKEWED = ("prn_1", "proj_0", "prxy_0")


@figure(
    frame=Frame(
        "Figure 14a: mean write latency by splits L, M-Merge / baseline",
        "ratio of mean write latencies",
        (1.0, "baseline"),
        x_label="splits L",
    ),
    studies=(OPEN_LOOP, "splits"),
    rows=("fig14a_splits",),
)
def figure_14a(drawing: Drawing) -> Findings:
    """Write latency by the number of splits, in relation to the baseline."""
    by_split = {
        float(splits): to_baseline(drawing, "splits", {"partial_erase.max_splits": splits}, WRITE_LATENCY)
        for splits in SPLITS
    }
    draw_sweep(drawing.frame, Sweep(by_split, name=("prn_1",)), drawing.file())
    return {"fig14a_splits": mean_trend(drawing, by_split, falling)}


@figure(
    frame=Frame(
        "Figure 14b: mean write latency by wear limit W, M-Merge / baseline",
        "ratio of mean write latencies",
        (1.0, "baseline"),
        x_label="wear limit W",
    ),
    studies=(OPEN_LOOP, "wear-limit"),
    rows=("fig14b_w_latency",),
)
def figure_14b(drawing: Drawing) -> Findings:
    """Write latency by the wear limit, in relation to the baseline."""
    by_limit = _by_limit(drawing, WRITE_LATENCY)
    draw_sweep(drawing.frame, Sweep(by_limit, name=("prn_1",), log_x=True), drawing.file())
    return {"fig14b_w_latency": mean_trend(drawing, by_limit, not_rising)}


@figure(
    frame=Frame(
        "Figure 14c: variance of erases per page (VEP) by wear limit W, M-Merge / baseline",
        "ratio of VEP",
        (1.0, "baseline"),
        x_label="wear limit W",
    ),
    studies=(OPEN_LOOP, "wear-limit"),
    rows=("fig14c_w_vep",),
)
def figure_14c(drawing: Drawing) -> Findings:
    """Variance of erases per page by the wear limit, in relation to the baseline.

    A merge that erases less lowers the variance and the mean together. So the variance over the squared
    mean, which is the unevenness alone, stands beside it.
    """
    by_limit = _by_limit(drawing, VEP)
    uneven = Sweep({float(limit): _unevenness(drawing, limit) for limit in LIMITS})
    beside = dataclasses.replace(uneven.curve, name="mean of VEP / AEP²")
    draw_sweep(drawing.frame, Sweep(by_limit, name=SKEWED, log_x=True), drawing.file(), [beside])
    write_sweep(uneven, drawing.file("-unevenness"))
    judged = {limit: found for limit, found in by_limit.items() if limit >= FIRST_JUDGED}
    found = mean_trend(drawing, judged, lambda means: not_rising(means[::-1]))
    means = ", ".join(shown(own.mean(), 2) for own in uneven.by_value.values())
    note = f"{found.note}; at W = 1: {shown(by_limit[1.0].mean())}; mean of VEP / AEP² from W = 1 on: {means}"
    return {"fig14c_w_vep": dataclasses.replace(found, note=note)}


def _unevenness(drawing: Drawing, limit: int) -> SeedRatios:
    """VEP / AEP² in relation to the baseline's, at a wear limit."""

    def of_seed(one: Drawing) -> Ratios:
        ours, base = ({"partial_erase.wear_limit_w": limit}, {"ftl.merge": BASE})
        return ratios(_squared_variation(one, "wear-limit", ours), _squared_variation(one, OPEN_LOOP, base))

    return over_seeds(drawing, VEP, of_seed)


def _squared_variation(drawing: Drawing, study: str, varied: Mapping[str, Any]) -> dict[str, float | None]:
    """VEP / AEP² of some runs of one seed, by workload; 0 where nothing was erased."""
    vep, aep = (drawing.values(study, varied, path) for path in (VEP, AEP))
    return {name: 0.0 if mean == 0 else quotient(vep[name], mean and mean**2) for name, mean in aep.items()}


def _by_limit(drawing: Drawing, path: str) -> dict[float, SeedRatios]:
    return {
        float(limit): to_baseline(drawing, "wear-limit", {"partial_erase.wear_limit_w": limit}, path)
        for limit in LIMITS
    }
