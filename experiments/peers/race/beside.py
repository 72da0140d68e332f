"""The same device in MQSim and in pumice: requests a second and mean latency, of page types and of two flows.

Usage: python beside.py /path/to/MQSim [--case NAME]. README.md says more.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from pumice_papers.experiments.peers.race.both import Case, issued, program, run_mqsim, run_pumice, write_files

#: Device T: S with smaller blocks, fewer of them, and twice the threshold, so that it is in its steady state sooner.
DEVICE_T = {"GC_Exec_Threshold": "0.12"}
FLASH_T = {"Block_No_Per_Plane": "256", "Page_No_Per_Block": "128", "Die_No_Per_Chip": "1", "Plane_No_Per_Die": "2"}

#: Three pages a cell, each with its own times in nanoseconds.
TLC = {
    "Flash_Technology": "TLC", "Page_Read_Latency_LSB": "60000", "Page_Read_Latency_CSB": "75000",
    "Page_Read_Latency_MSB": "110000", "Page_Program_Latency_LSB": "400000", "Page_Program_Latency_CSB": "750000",
    "Page_Program_Latency_MSB": "1600000",
}  # fmt: skip


def flow(requests: int, *, reads: int = 0, depth: int = 32, seed: int = 798) -> dict[str, str]:
    """A flow: its requests, per cent of reads, and depth."""
    return {
        "Total_Requests_To_Generate": str(requests),
        "Read_Percentage": str(reads),
        "Average_No_of_Reqs_in_Queue": str(depth),
        "Seed": str(seed),
    }


#: The flows of each case, and its page types. Flows end at about one time, so that none runs alone for long.
CASES: dict[str, tuple[dict[str, str], list[dict[str, str]]]] = {
    "page types, writes": (TLC, [flow(300_000)]),
    "page types, 70 % reads": (TLC, [flow(300_000, reads=70)]),
    "page types, reads": (TLC, [flow(300_000, reads=100)]),
    "two writers": ({}, [flow(150_000, depth=16), flow(150_000, depth=16, seed=6533)]),
    "two writers, depths 8 and 24": ({}, [flow(75_000, depth=8), flow(225_000, depth=24, seed=6533)]),
    "two of 70 % reads": ({}, [flow(150_000, reads=70, depth=16), flow(150_000, reads=70, depth=16, seed=6533)]),
    "a reader and a writer": ({}, [flow(450_000, reads=100, depth=16), flow(150_000, depth=16, seed=6533)]),
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Page types and flows in MQSim and in pumice.")
    parser.add_argument("mqsim", help="MQSim's program, built with mqsim.patch and stored.patch")
    parser.add_argument("--case", choices=CASES, help="only this one; all if absent")
    given = parser.parse_args()
    mqsim = program(given.mqsim)
    print(f"{'':34}{'MQSim: IOPS, mean ms':>24}{'pumice':>24}{'IOPS':>8}{'mean':>8}{'WAF':>14}")
    for name in [given.case] if given.case else CASES:
        with tempfile.TemporaryDirectory() as folder:
            compare(mqsim, Path(folder) / "files", name)


def compare(mqsim: Path, folder: Path, name: str) -> None:
    """One case: a line for each of its flows."""
    types, flows = CASES[name]
    write_files(folder, Case(DEVICE_T, {**FLASH_T, **types}, flows))
    _, root = run_mqsim(mqsim, folder)
    _, document = run_pumice(folder)
    written = sum(int(flow.findtext("Write_Request_Count") or "0") for flow in root.iter("Host.IO_Flow"))
    amplified = [issued(root, "Program") / written if written else 1.0, document["write_amplification"] or 1.0]
    pairs = zip(flows, means_of_mqsim(root), means_of_pumice(document), strict=True)
    for number, (one, theirs, ours) in enumerate(pairs, 1):
        # The rate of a closed loop is its depth over the mean; MQSim divides by whole seconds.
        rates = [int(one["Average_No_of_Reqs_in_Queue"]) / mean * 1e3 for mean in (theirs, ours)]
        told = [f"{rate:12.1f}{mean:12.4f}" for rate, mean in zip(rates, (theirs, ours), strict=True)]
        label = name if len(flows) == 1 else f"{name}: {number}"
        change = f"{rates[1] / rates[0] - 1:+8.1%}{ours / theirs - 1:+8.1%}{amplified[0]:8.3f}{amplified[1]:6.3f}"
        print(f"{label:34}{told[0]}{told[1]}{change}", flush=True)


def means_of_mqsim(root: ElementTree.Element) -> list[float]:
    """Mean latency of each flow in milliseconds."""
    return [float(one.findtext("Device_Response_Time") or "nan") / 1e3 for one in root.iter("Host.IO_Flow")]


def means_of_pumice(document: dict[str, Any]) -> list[float]:
    """Mean latency of each flow in milliseconds, reads and writes together."""
    flows = document["flows"].values() if document["flows"] else [document["host"]]

    def mean(one: dict[str, Any]) -> float:
        kinds = [kind for kind in (one["read"], one["write"]) if kind and kind["requests"]]
        waited_us = sum(kind["requests"] * kind["latency_us"]["mean"] for kind in kinds)
        return float(waited_us / sum(kind["requests"] for kind in kinds) / 1e3)

    return [mean(one) for one in flows]


if __name__ == "__main__":
    main()
