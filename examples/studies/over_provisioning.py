"""How much spare capacity does a device need? Write amplification over over-provisioning, random and skewed writes."""

from __future__ import annotations

from pathlib import Path

import pumice
from pumice.analysis.plots import Frame
from study import device, figure, lines_of, main


def draw(out: Path, size: float) -> None:
    vary = {"ftl.over_provisioning": [0.15, 0.2, 0.25, 0.3, 0.4], "workload.kind": ["uniform", "zipf"]}
    table = pumice.sweep(device(size), vary, repeat=3)
    lines = lines_of(table, "ftl.over_provisioning", "write_amplification", "workload.kind")
    frame = Frame("What spare capacity buys", "write amplification", x_label="over-provisioning, share of raw capacity")
    figure(out / "over-provisioning", frame, lines)


if __name__ == "__main__":
    main(draw, __doc__)
