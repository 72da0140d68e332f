"""How often the intervals of `run.until` hold the long-run value: `python benches/coverage.py [RUNS]`.

A small device in collection is run with RUNS seeds (200 if absent) until it knows something, and with ten other seeds
for a million requests each. Of runs that know enough, 95 % should have the long-run value in their interval.
docs/validation/ground-truth.md holds what this program printed.
"""

from __future__ import annotations

import sys
from statistics import mean

import pumice

#: Seeds and requests of the long runs.
LONG = (range(10_001, 10_011), 1_000_000)

#: Fields of the result that the quantities are compared with, but for the last part of a latency's name.
FIELDS = {
    "write_amplification": "write_amplification",
    "read_latency_us": "host.read.latency_us.",
    "write_latency_us": "host.write.latency_us.",
}

#: What the runs have to know, and the last part of the latencies' names.
TARGETS = [("steady", "mean"), ("p50 ± 5 %", "p50"), ("p90 ± 5 %", "p90")]

#: The device: 256 blocks, page level, aged by three times its capacity. Its host keeps four requests outstanding.
DEVICE = pumice.preset("tiny").with_(
    ftl={"kind": "page", "over_provisioning": 0.25},
    initial={"age_writes": 3.0},
    host={"mode": "closed-loop", "queue_depth": 4},
    workload={"footprint": 1.0, "request_bytes": 4096, "requests": LONG[1], "read_fraction": 0.5},
)


def field_of(quantity: str, latency: str) -> str:
    """The field of the result that holds a quantity."""
    field = FIELDS[quantity]
    return field + latency if field.endswith(".") else field


def main() -> None:
    """Prints a line for each target and quantity."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    long = [pumice.run(DEVICE, seed=seed) for seed in LONG[0]]
    for until, latency in TARGETS:
        short = [pumice.run(DEVICE.with_(run={"until": until}), seed=seed).to_dict() for seed in range(1, runs + 1)]
        reached = [one["until"] for one in short if one["until"]["outcome"] == "reached"]
        requests = mean(one["requests"] for one in reached)
        for nth, known in enumerate(reached[0]["quantities"]):
            field = field_of(known["of"], latency)
            expected = mean(result.value(field) for result in long)
            quantities = [one["quantities"][nth] for one in reached]
            held = sum(abs(one["value"] - expected) <= one["half_width"] * one["value"] for one in quantities)
            width = mean(one["half_width"] for one in quantities)
            print(
                f"{until} | {field} | {expected:.4g} | {len(reached)} | {requests:,.0f} | {100 * width:.2f} % | "
                f"{held} ({100 * held / len(reached):.1f} %)",
                flush=True,
            )


if __name__ == "__main__":
    main()
