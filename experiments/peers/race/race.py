"""MQSim and pumice on one device, in turns: CPU time for the same requests, whole and of their second half.

Usage: python race.py /path/to/MQSim [--rounds N] [--requests N] [--mode off|queue]. README.md says more.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from pumice_papers.experiments.peers.race.both import (
    FLOW,
    Case,
    issued,
    program,
    requests_asked,
    run_mqsim,
    run_pumice,
    write_files,
)

#: Dies of a chip and planes of a die. Dies of a chip never work at once in MQSim: two of one plane are two planes
#: without multi-plane commands.
MODES = {"off": (2, 1), "queue": (1, 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description="MQSim and pumice in turns on device S.")
    parser.add_argument("mqsim", help="MQSim's program, built with mqsim.patch")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=2_000_000)
    parser.add_argument("--mode", choices=MODES, help="only this one; both if absent")
    given = parser.parse_args()
    mqsim = program(given.mqsim)
    for mode in [given.mode] if given.mode else MODES:
        with tempfile.TemporaryDirectory() as folder:
            race(mqsim, Path(folder), mode, given.requests, given.rounds)


def race(mqsim: Path, folder: Path, mode: str, requests: int, rounds: int) -> None:
    """One mode: every round runs both programs, long and short."""
    times: dict[str, list[float]] = {"mqsim": [], "mqsim short": [], "pumice": [], "pumice short": []}
    found = {}
    dies, planes = MODES[mode]
    flash = {"Die_No_Per_Chip": str(dies), "Plane_No_Per_Die": str(planes)}
    for count, suffix in ((requests, ""), (requests // 2, " short")):
        case = Case({}, flash, [{"Total_Requests_To_Generate": str(count)}])
        write_files(folder / f"files{suffix.strip()}", case)
    for turn in range(rounds):
        for suffix in (" short", ""):
            files = folder / f"files{suffix.strip()}"
            for name, run in (("mqsim", lambda at: of_mqsim(mqsim, at)), ("pumice", of_pumice)):
                seconds, found[name + suffix] = run(files)
                times[name + suffix].append(seconds)
        told = ", ".join(f"{name} {seconds[-1]:.2f}" for name, seconds in times.items())
        print(f"multi_plane {mode}, round {turn + 1}, CPU s: {told}", file=sys.stderr)
    report(mode, requests, times, found)


def of_mqsim(mqsim: Path, folder: Path) -> tuple[float, dict[str, float]]:
    """A run of MQSim: user seconds, and what it found."""
    seconds, root = run_mqsim(mqsim, folder)
    flow = next(root.iter("Host.IO_Flow"))
    (requests,) = requests_asked(folder)
    delay = float(flow.findtext("Device_Response_Time") or "nan") / 1e6
    programs = issued(root, "Program")
    return seconds, {
        "commands": issued(root, "Read") + programs + issued(root, "Erase"),
        # MQSim divides by whole seconds; a closed loop's rate is its depth over the mean response time.
        "iops": int(FLOW["Average_No_of_Reqs_in_Queue"]) / delay,
        "waf": programs / requests,
    }


def of_pumice(folder: Path) -> tuple[float, dict[str, float]]:
    """A run of pumice: user seconds, and what it found."""
    seconds, document = run_pumice(folder)
    return seconds, {
        "commands": document["run"]["flash_commands"],
        "iops": document["host"]["iops"],
        "waf": document["write_amplification"],
    }


def report(mode: str, requests: int, times: dict[str, list[float]], found: dict[str, dict[str, float]]) -> None:
    """Prints what a mode gave."""
    middle = {name: statistics.median(seconds) for name, seconds in times.items()}
    print(f"\nmulti_plane = {mode}: {requests} requests, medians of {len(times['mqsim'])} rounds, user CPU seconds")
    print(f"{'':10}{'whole':>10}{'net':>10}{'requests/s net':>16}{'flash commands':>16}{'IOPS':>10}{'WAF':>8}")
    net, work = {}, {}
    for name in ("mqsim", "pumice"):
        run, short = found[name], found[f"{name} short"]
        net[name] = middle[name] - middle[f"{name} short"]
        work[name] = run["commands"] - short["commands"]
        # Write amplification and rate of the second half alone.
        waf, seconds = 2 * run["waf"] - short["waf"], requests / run["iops"] - requests / 2 / short["iops"]
        figures = f"{work[name]:16.0f}{requests / 2 / seconds:10.1f}{waf:8.3f}"
        print(f"{name:10}{middle[name]:10.2f}{net[name]:10.2f}{requests / 2 / net[name]:16.0f}{figures}")
    share = work["pumice"] / work["mqsim"]
    ratios = [net["mqsim"] / net["pumice"], middle["mqsim"] / middle["pumice"]]
    print(f"CPU time of MQSim for the same requests: {ratios[0]:.1f} times net, {ratios[1]:.1f} as whole processes.")
    print(f"For the same number of flash commands ({share - 1:+.1%} in pumice): {ratios[0] * share:.1f} net.")
    turns = sorted(theirs / ours for theirs, ours in zip(times["mqsim"], times["pumice"], strict=True))
    print(f"Whole processes, round by round: {turns[0]:.1f} to {turns[-1]:.1f}.")


if __name__ == "__main__":
    main()
