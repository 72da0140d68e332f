"""Training runs for a build with profile-guided optimisation, which `maturin build --pgo` starts.

The instrumented engine that is installed writes what it counted when this program ends. The runs are those that users
wait for, cut short: each translation layer that the papers compare, with a clock and without, reads and
writes, erases as a process with suspension, and traces as text. What matters is which ways through the code are
common, so a few hundred thousand requests of each are enough.
"""

from __future__ import annotations

import json
from pathlib import Path

from pumice import _engine

#: A trace that is part of the repository.
OFFICE = Path(__file__).parent.parent / "examples" / "traces" / "office.csv.gz"

UNTIMED = {"run.timed": "false"}
PAGE = {"geometry.blocks_per_plane": "128", "initial.age_writes": "1.0", "run.max_requests": "400000"}
CACHED = {"ftl.map_place": "cached", "ftl.map_ram_kib": "1024", "ftl.over_provisioning": "0.2"}

#: Preset, scale and settings of each run.
RUNS: list[tuple[str, float, dict[str, str]]] = [
    *[(preset, 0.125, clock) for preset in ("pen-1tb", "pen-1tb-m-merge") for clock in ({}, UNTIMED)],
    ("pen-superblock-4-5", 0.0625, {}),
    ("pen-superblock-4-5-m-merge", 0.0625, {}),
    ("pen-1tb", 0.0625, {"ftl.kind": "gftl", "run.max_requests": "100000"}),
    ("superblock-2006-2g", 1.0, {"run.max_requests": "60000"}),
    ("lfws-256gb", 0.0625, {"run.max_requests": "100000"}),
    ("bench-64g", 1.0, PAGE),
    ("bench-64g", 1.0, {**PAGE, **UNTIMED}),
    ("bench-64g", 1.0, {**PAGE, "workload.read_fraction": "1.0", "initial.age_writes": "0.0"}),
    ("bench-64g", 1.0, {**PAGE, "workload.kind": "zipf", "workload.read_fraction": "0.5"}),
    ("bench-64g", 1.0, {**PAGE, "ftl.gc_policy": "cost-benefit"}),
    ("bench-64g", 1.0, {**PAGE, **CACHED, "run.max_requests": "100000"}),
    (
        "aero-1tb",
        0.0625,
        {"erase.suspension": "pulse", "host.read_priority": "true", "run.max_requests": "300000"},
    ),
    ("small", 1.0, {"workload.kind": "trace", "workload.path": str(OFFICE), "workload.address": "wrap"}),
]


def main() -> None:
    """Runs all of them."""
    for preset, scale, sets in RUNS:
        request = {"preset": preset, "scale": scale, "sets": list(sets.items())}
        document = json.loads(_engine.run(json.dumps(request)))
        print(f"{preset} {sets}: {document['run']['flash_commands']:,} flash commands", flush=True)


if __name__ == "__main__":
    main()
