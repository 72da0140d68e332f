"""What does partial erase change? PEN's M-Merge beside full merges, over the number of splits of a block."""

from __future__ import annotations

from pathlib import Path

import pumice
from pumice.analysis.plots import Frame, Scale
from study import figure, lines_of, main


def draw(out: Path, size: float) -> None:
    base = pumice.preset("tiny").with_(workload={"requests": round(20_000 * size), "read_fraction": 0.0})
    vary = {"partial_erase.max_splits": [0, 1, 2, 3, 4], "workload.kind": ["uniform", "zipf"]}
    table = pumice.sweep(base.with_(ftl={"merge": "m-merge"}), vary, repeat=3)
    lines = lines_of(table, "partial_erase.max_splits", "write_amplification", "workload.kind")
    frame = Frame("Smaller partial blocks, fewer copies", "write amplification", x_label="halvings of a block")
    figure(out / "partial-erase", frame, lines, Scale(ticks=[0, 1, 2, 3, 4]))


if __name__ == "__main__":
    main(draw, __doc__)
