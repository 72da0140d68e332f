"""Figures 2 and 3 of SFWS (GLSVLSI'24): one block, without a run."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

from pumice import _engine
from pumice.analysis import plots
from pumice.papers.ratios import write_csv
from pumice.papers.scoreboard import Finding

#: The paper's example is an SLC block, its chip an MLC one.
LAYERS, SUB_BLOCKS, SLC, MLC = 32, 16, 1, 2
SEQUENCES = {"LFWS": "lfws", "SFWS": "sfws"}

#: Times of the presets, µs: a copy through the controller, and an erase.
COPY_US, ERASE_US = 825.0, 3800.0

#: Error rate that the paper's code corrects.
CORRECTABLE = 1e-3


def _shape(sequence: str, bits: int) -> dict[str, Any]:
    return {"layers": LAYERS, "sub_blocks": SUB_BLOCKS, "bits_per_cell": bits, "write_sequence": sequence}


def figure_2(directory: Path) -> dict[str, Finding]:
    """The first 256 of 512 pages updated: what is left in each sub-block, and what is freed for nothing."""
    pages = LAYERS * SUB_BLOCKS
    valid = [page >= pages // 2 for page in range(pages)]
    plans = {
        name: json.loads(
            _engine.plan_reclaim(
                json.dumps({"shape": _shape(sequence, SLC), "valid": valid, "copy_us": COPY_US, "erase_us": ERASE_US})
            )
        )
        for name, sequence in SEQUENCES.items()
    }
    freed = {name: len(plan["erase"]) if plan["copies"] == 0 else 0 for name, plan in plans.items()}
    names = [f"S{sub_block}" for sub_block in range(SUB_BLOCKS)]
    series = {name: [float(count) for count in plan["valid"]] for name, plan in plans.items()}
    rows = [[name, *counts] for name, *counts in zip(names, *series.values(), strict=True)]
    write_csv(directory / "fig2.csv", ["sub-block", *series], rows)
    frame = plots.Frame("Figure 2: the first 256 of 512 pages updated", "valid pages of a sub-block", digits=0)
    plots.grouped_bars(frame, plots.Bars(names, series), directory / "fig2")
    note = "; ".join(f"{name}: erases {plan['erase']} after {plan['copies']} copies" for name, plan in plans.items())
    return {"fig2_freed": Finding([*freed.values(), max(plans["LFWS"]["valid"])], note=note)}


def figure_3(directory: Path) -> dict[str, Finding]:
    """Bit errors by place, and whether their shape is the paper's."""
    pages = {
        name: json.loads(_engine.block_pages(json.dumps(_shape(sequence, MLC)))) for name, sequence in SEQUENCES.items()
    }
    columns = ["sequence", "page", "layer", "sub-block", "bit", "RBER"]
    rows = [
        [name, page, *place]
        for name, block in pages.items()
        for page, place in enumerate(
            zip(block["layer"], block["sub_block"], block["bit"], block["rber"], strict=True)
        )
    ]  # fmt: skip
    write_csv(directory / "fig3.csv", columns, rows)
    by_layer = {name: _worst(block, "layer") for name, block in pages.items()}
    by_sub_block = {name: _worst(block, "sub_block") for name, block in pages.items()}
    for letter, what, series in (("c", "layer", by_layer), ("d", "sub-block", by_sub_block)):
        frame = plots.Frame(f"Figure 3{letter}: worst page by {what}", "RBER x 1000")
        curves = [
            plots.Curve(name, range(len(values)), [1000 * worst for worst in values]) for name, values in series.items()
        ]
        plots.lines(frame, curves, directory / f"fig3{letter}")
    return {"fig3_rber": _judge(pages, by_layer, by_sub_block)}


def _worst(block: dict[str, Any], column: str) -> list[float]:
    places = range(max(block[column]) + 1)
    return [max(r for r, at in zip(block["rber"], block[column], strict=True) if at == place) for place in places]


def _mean(block: dict[str, Any], bit: int) -> float:
    rates: list[float] = [rate for rate, of in zip(block["rber"], block["bit"], strict=True) if of == bit]
    return sum(rates) / len(rates)


def _judge(
    pages: dict[str, dict[str, Any]], by_layer: dict[str, list[float]], by_sub_block: dict[str, list[float]]
) -> Finding:
    lfws, sfws = pages["LFWS"], pages["SFWS"]
    lsb, msb = (_mean(sfws, bit) / _mean(lfws, bit) for bit in (0, 1))
    excess = [over / under for over, under in zip(by_layer["SFWS"], by_layer["LFWS"], strict=True)]
    third = LAYERS // 3
    falling = by_sub_block["SFWS"]
    worst = max(max(block["rber"]) for block in pages.values())
    holds = {
        "LSB within 10 %": abs(lsb - 1) <= 0.1,
        "MSB higher": msb > 1,
        "middle layers worst": min(excess[third:-third]) > max(excess[:2] + excess[-2:]),
        "falling": all(a > b for a, b in itertools.pairwise(falling)),
        "below from S6": all(
            (over < under) == (place >= 6)
            for place, (over, under) in enumerate(zip(falling, by_sub_block["LFWS"], strict=True))
        ),
        "all correctable": worst < CORRECTABLE,
    }
    failed = [rule for rule, held in holds.items() if not held]
    note = f"means SFWS / LFWS: LSB {lsb:.2f}, MSB {msb:.2f}; worst page {worst:.2e}"
    return Finding([lsb, msb, worst], not failed, note + (f"; not held: {', '.join(failed)}" if failed else ""))
