"""Does suspending erases shorten the tail of reads? Percentiles of read latency by suspension rule."""

from __future__ import annotations

from pathlib import Path

import pumice
from pumice.analysis.plots import Frame
from study import bars, device, main

RULES = ["off", "loop", "pulse", "immediate"]
PERCENTILES = {"p90": "90 %", "p99": "99 %", "p99_9": "99.9 %"}


def draw(out: Path, size: float) -> None:
    series: dict[str, list[float | None]] = {}
    for rule in RULES:
        spec = device(
            size,
            erase={"scheme": "ispe", "suspension": rule, "initial_pec": 2500},
            host={"mode": "open-loop", "read_priority": True},
            workload={"read_fraction": 0.5, "mean_interarrival_us": 8_000.0},
        )
        latency = pumice.run(spec).latency("read")
        series[rule] = [latency[name] for name in PERCENTILES]
    bars(out / "erase-suspension", Frame("Reads behind erases", "read latency, µs"), list(PERCENTILES.values()), series)


if __name__ == "__main__":
    main(draw, __doc__)
