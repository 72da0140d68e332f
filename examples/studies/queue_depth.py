"""How many requests must be outstanding to keep the dies busy? IOPS over queue depth, reads and writes."""

from __future__ import annotations

from pathlib import Path

import pumice
from pumice.analysis.plots import Frame, Scale
from study import device, figure, lines_of, main

DEPTHS = [1, 2, 4, 8, 16, 32]


def draw(out: Path, size: float) -> None:
    spec = device(size, geometry={"channels": 4, "dies_per_chip": 2})
    vary = {"host.queue_depth": DEPTHS, "workload.read_fraction": [0.0, 1.0]}
    found = lines_of(
        pumice.sweep(spec, vary, repeat=3), "host.queue_depth", "host.service_iops", "workload.read_fraction"
    )
    lines = {"reads" if name == "1.0" else "writes": points for name, points in found.items()}
    frame = Frame("Eight dies and a queue", "requests/s", x_label="requests outstanding")
    figure(out / "queue-depth", frame, lines, Scale(log_x=True, log_y=True, ticks=DEPTHS))


if __name__ == "__main__":
    main(draw, __doc__)
