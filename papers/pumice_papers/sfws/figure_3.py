"""Figure 3 of SFWS: bit errors by place in a block; without a run."""

from __future__ import annotations

import dataclasses
import itertools
import json
from typing import Any

from pumice import _engine
from pumice.analysis import plots
from pumice.analysis.plots import Frame
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.scoreboard import Finding
from pumice_papers.sfws.one_block import LAYERS, MLC, SEQUENCES, shape

#: Error rate that the paper's code corrects.
CORRECTABLE = 1e-3


@figure(frame=Frame("Figure 3: worst page", "RBER x 1000"), rows=("fig3_rber",))
def figure_3(drawing: Drawing) -> Findings:
    """Bit errors by place, and whether their shape is the paper's."""
    pages = {
        name: json.loads(_engine.block_pages(json.dumps(shape(sequence, MLC)))) for name, sequence in SEQUENCES.items()
    }
    columns = ["sequence", "page", "layer", "sub-block", "bit", "RBER"]
    rows = [
        [name, page, *place]
        for name, block in pages.items()
        for page, place in enumerate(
            zip(block["layer"], block["sub_block"], block["bit"], block["rber"], strict=True)
        )
    ]  # fmt: skip
    drawing.write_csv(columns, rows)
    by_layer = {name: _worst(block, "layer") for name, block in pages.items()}
    by_sub_block = {name: _worst(block, "sub_block") for name, block in pages.items()}
    for letter, what, series in (("c", "layer", by_layer), ("d", "sub-block", by_sub_block)):
        frame = dataclasses.replace(drawing.frame, title=f"Figure 3{letter}: worst page by {what}")
        curves = [
            plots.Curve(name, range(len(values)), [1000 * worst for worst in values]) for name, values in series.items()
        ]
        plots.lines(frame, curves, drawing.file(letter))
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
