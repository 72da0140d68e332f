"""Should hot and cold pages share a block? Write amplification over the skew of the writes, by separation."""

from __future__ import annotations

from pathlib import Path

import pumice
from pumice.analysis.plots import Frame
from study import device, figure, lines_of, main


def draw(out: Path, size: float) -> None:
    spec = device(size, workload={"kind": "hot-cold", "hot_space": 0.2})
    vary = {"workload.hot_share": [0.5, 0.7, 0.8, 0.9, 0.95], "ftl.hot_cold": ["mixed", "gc", "recency"]}
    table = pumice.sweep(spec, vary, repeat=3)
    lines = lines_of(table, "workload.hot_share", "write_amplification", "ftl.hot_cold")
    frame = Frame("Hot and cold pages apart", "write amplification", x_label="writes to a fifth of the space, share")
    figure(out / "hot-cold", frame, lines)


if __name__ == "__main__":
    main(draw, __doc__)
