"""Table 4 of AERO: mean latencies and IOPS by scheme and age."""

from __future__ import annotations

import itertools
import statistics

from pumice.analysis.plots import Frame
from pumice_papers.aero.seed_pairs import Variants, pairs_of, ratio_of_means
from pumice_papers.aero.tails import BASE, PECS, base_shares, run_with
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.quantities import READ_LATENCY, WRITE_LATENCY, quantity
from pumice_papers.scoreboard import Finding

STUDY = "tails"
SCHEMES = ("i-ispe", "dpes", "aero-cons", "aero")

#: The table's quantities: words → field of the document.
AVERAGES = {"read latency": READ_LATENCY, "write latency": WRITE_LATENCY, "service IOPS": "host.service_iops"}


@figure(
    frame=Frame("Table 4: mean latencies and IOPS / ispe", ""),
    studies=(STUDY,),
    rows=("table4_average", "table4_dpes"),
    needs_all=True,
)
def figure_table4(drawing: Drawing) -> Findings:
    """Mean latencies and IOPS in relation to the baseline, geometric means over workloads."""
    means: dict[tuple[str, str, int], float] = {}
    for scheme, pec, what in itertools.product(SCHEMES, PECS, AVERAGES):
        variants = Variants(STUDY, run_with(scheme, pec), run_with(BASE, pec))
        found = pairs_of(drawing.runs, quantity(AVERAGES[what]), variants)
        if found:
            ratios = [ratio_of_means(of_seeds) for of_seeds in found.values()]
            means[scheme, what, pec] = statistics.geometric_mean(ratios)
    rows = [
        [scheme, what, *(means.get((scheme, what, pec)) for pec in PECS)]
        for scheme, what in dict.fromkeys((scheme, what) for scheme, what, _ in means)
    ]
    drawing.write_csv(["scheme", "quantity", *(f"{pec / 1000:g}K" for pec in PECS)], rows)
    steady = {key: abs(value - 1) for key, value in means.items() if key[0] != "dpes"}
    worst = max(steady, key=lambda key: steady[key])
    loads = len(base_shares(drawing, STUDY))
    note = f"largest: {worst[0]}, {worst[1]}, {worst[2] / 1000:g}K PEC; {loads} workloads"
    slower = [means["dpes", "write latency", pec] for pec in PECS[:2]]
    return {
        "table4_average": Finding([steady[worst]], note=note),
        "table4_dpes": Finding(slower, note=f"at 4.5K, where dpes is off: {means['dpes', 'write latency', 4500]:.3f}"),
    }
