"""What does a write buffer hide? Mean and 99th percentile of write latency over its size."""

from __future__ import annotations

from pathlib import Path

import pumice
from pumice.analysis.plots import Frame, Scale
from study import device, figure, lines_of, main

SIZES = [64, 128, 256, 512, 1024]


def draw(out: Path, size: float) -> None:
    open_loop = {"mode": "open-loop"}
    spec = device(size, host=open_loop, workload={"arrival": "bursty", "mean_interarrival_us": 15_000.0})
    table = pumice.sweep(spec, {"host.write_buffer_kib": SIZES}, repeat=3)
    lines = {}
    for name, field in (("mean", "host.write.latency_us.mean"), ("p99", "host.write.latency_us.p99")):
        lines[name] = lines_of(table, "host.write_buffer_kib", field)[""]
    frame = Frame("Bursts and a write buffer", "write latency, µs", x_label="write buffer, KiB")
    figure(out / "write-buffer", frame, lines, Scale(log_x=True, ticks=SIZES))


if __name__ == "__main__":
    main(draw, __doc__)
