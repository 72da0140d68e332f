"""Which block should garbage collection take? Write amplification by victim policy, uniform and hot-cold writes."""

from __future__ import annotations

from pathlib import Path

import pumice
from pumice.analysis.plots import Frame
from pumice.analysis.statistics import summary
from study import bars, device, main

POLICIES = ["greedy", "fifo", "cost-benefit", "d-choices"]
WORKLOADS = ["uniform", "hot-cold"]


def draw(out: Path, size: float) -> None:
    series: dict[str, list[float | None]] = {}
    for policy in POLICIES:
        spec = device(size, ftl={"gc_policy": policy})
        table = pumice.sweep(spec, {"workload.kind": WORKLOADS}, repeat=3)
        found = {row["workload.kind"]: [] for row in table.to_pylist()}
        for row in table.to_pylist():
            if row["error"] is not None:
                raise RuntimeError(row["error"])
            found[row["workload.kind"]].append(row["write_amplification"])
        series[policy] = [summary(found[kind]).mean for kind in WORKLOADS]
    bars(out / "victim-policies", Frame("Victim policies", "write amplification"), WORKLOADS, series)


if __name__ == "__main__":
    main(draw, __doc__)
