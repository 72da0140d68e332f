"""Figure 2 of SFWS: what is left in each sub-block after half of a block was updated; without a run."""

from __future__ import annotations

import json

from pumice import _engine
from pumice.analysis import plots
from pumice.analysis.plots import Frame
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.scoreboard import Finding
from pumice_papers.sfws.one_block import LAYERS, SEQUENCES, SLC, SUB_BLOCKS, shape

#: Times of the presets, µs: a copy through the controller, and an erase.
COPY_US, ERASE_US = 825.0, 3800.0


@figure(
    frame=Frame("Figure 2: the first 256 of 512 pages updated", "valid pages of a sub-block", digits=0),
    rows=("fig2_freed",),
)
def figure_2(drawing: Drawing) -> Findings:
    """Valid pages of each sub-block, and sub-blocks that are freed without a copy."""
    pages = LAYERS * SUB_BLOCKS
    block = {"valid": [page >= pages // 2 for page in range(pages)], "copy_us": COPY_US, "erase_us": ERASE_US}
    plans = {
        name: json.loads(_engine.plan_reclaim(json.dumps({"shape": shape(sequence, SLC), **block})))
        for name, sequence in SEQUENCES.items()
    }
    freed = {name: len(plan["erase"]) if plan["copies"] == 0 else 0 for name, plan in plans.items()}
    names = [f"S{sub_block}" for sub_block in range(SUB_BLOCKS)]
    series = {name: [float(count) for count in plan["valid"]] for name, plan in plans.items()}
    rows = [[name, *counts] for name, *counts in zip(names, *series.values(), strict=True)]
    drawing.write_csv(["sub-block", *series], rows)
    plots.grouped_bars(drawing.frame, plots.Bars(names, series), drawing.file())
    note = "; ".join(f"{name}: erases {plan['erase']} after {plan['copies']} copies" for name, plan in plans.items())
    return {"fig2_freed": Finding([*freed.values(), max(plans["LFWS"]["valid"])], note=note)}
