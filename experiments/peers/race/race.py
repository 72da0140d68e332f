"""MQSim and pumice on one device, in turns: CPU time for the same requests, whole and of their second half.

Usage: python race.py /path/to/MQSim [--rounds N] [--requests N] [--mode off|queue]. README.md says more.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

#: Device S in MQSim's words; README.md says which values are chosen for equal work.
HOST = {"PCIe_Lane_Bandwidth": "1.0", "PCIe_Lane_Count": "16"}
DEVICE = {
    "Seed": "321", "Enabled_Preconditioning": "true", "Memory_Type": "FLASH", "HostInterface_Type": "NVME",
    "Caching_Mechanism": "SIMPLE", "Data_Cache_Capacity": "268435456", "Address_Mapping": "PAGE_LEVEL",
    "Ideal_Mapping_Table": "true", "Plane_Allocation_Scheme": "CWDP", "Transaction_Scheduling_Policy": "OUT_OF_ORDER",
    "Overprovisioning_Ratio": "0.1", "GC_Exec_Threshold": "0.06", "GC_Block_Selection_Policy": "GREEDY",
    "Use_Copyback_for_GC": "false", "Preemptible_GC_Enabled": "false", "Dynamic_Wearleveling_Enabled": "false",
    "Static_Wearleveling_Enabled": "false", "Static_Wearleveling_Threshold": "100", "Flash_Channel_Count": "8",
    "Flash_Channel_Width": "1", "Channel_Transfer_Rate": "1000", "Chip_No_Per_Channel": "2",
}  # fmt: skip
FLASH = {
    "Flash_Technology": "SLC", "CMD_Suspension_Support": "NONE", "Page_Read_Latency_LSB": "75000",
    "Page_Read_Latency_CSB": "75000", "Page_Read_Latency_MSB": "75000", "Page_Program_Latency_LSB": "750000",
    "Page_Program_Latency_CSB": "750000", "Page_Program_Latency_MSB": "750000", "Block_Erase_Latency": "3800000",
    "Block_No_Per_Plane": "512", "Page_No_Per_Block": "256", "Page_Capacity": "16384",
    "Page_Metadat_Capacity": "1280",
}  # fmt: skip
FLOW = {
    "Priority_Class": "HIGH", "Device_Level_Data_Caching_Mode": "TURNED_OFF", "Channel_IDs": "0,1,2,3,4,5,6,7",
    "Chip_IDs": "0,1", "Initial_Occupancy_Percentage": "90", "Working_Set_Percentage": "90",
    "Synthetic_Generator_Type": "QUEUE_DEPTH", "Read_Percentage": "0", "Address_Distribution": "RANDOM_UNIFORM",
    "Percentage_of_Hot_Region": "0", "Generated_Aligned_Addresses": "true", "Address_Alignment_Unit": "32",
    "Request_Size_Distribution": "FIXED", "Average_Request_Size": "32", "Variance_Request_Size": "0", "Seed": "798",
    "Average_No_of_Reqs_in_Queue": "32", "Intensity": "32768", "Stop_Time": "0",
}  # fmt: skip

#: Dies of a chip and planes of a die. Dies of a chip never work at once in MQSim: two of one plane are two planes
#: without multi-plane commands.
MODES = {"off": (2, 1), "queue": (1, 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description="MQSim and pumice in turns on device S.")
    parser.add_argument("mqsim", type=Path, help="MQSim's program, built with mqsim.patch")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=2_000_000)
    parser.add_argument("--mode", choices=MODES, help="only this one; both if absent")
    given = parser.parse_args()
    for mode in [given.mode] if given.mode else MODES:
        with tempfile.TemporaryDirectory() as folder:
            race(given.mqsim.resolve(), Path(folder), mode, given.requests, given.rounds)


def race(mqsim: Path, folder: Path, mode: str, requests: int, rounds: int) -> None:
    """One mode: every round runs both programs, long and short."""
    times: dict[str, list[float]] = {"mqsim": [], "mqsim short": [], "pumice": [], "pumice short": []}
    found = {}
    for count, suffix in ((requests, ""), (requests // 2, " short")):
        write_files(folder / f"files{suffix.strip()}", mode, count)
    for turn in range(rounds):
        for suffix in (" short", ""):
            files = folder / f"files{suffix.strip()}"
            for name, run in (("mqsim", lambda at: run_mqsim(mqsim, at)), ("pumice", run_pumice)):
                seconds, found[name + suffix] = run(files)
                times[name + suffix].append(seconds)
        told = ", ".join(f"{name} {seconds[-1]:.2f}" for name, seconds in times.items())
        print(f"multi_plane {mode}, round {turn + 1}, CPU s: {told}", file=sys.stderr)
    report(mode, requests, times, found)


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


def cpu_seconds(command: list[str], folder: Path, output: Path) -> float:
    """User time of a process that must end well."""
    with output.open("wb") as out, (folder / "errors.txt").open("wb") as errors:
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=errors)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{command[0]} ended with {process.returncode}: {(folder / 'errors.txt').read_text()[-500:]}")
    return used.ru_utime


def run_mqsim(program: Path, folder: Path) -> tuple[float, dict[str, float]]:
    """A run of MQSim: user seconds, and what it found."""
    command = [str(program), "-i", "ssd.xml", "-w", "work.xml"]
    seconds = cpu_seconds(command, folder, folder / "mqsim.txt")
    root = ElementTree.parse(folder / "work_scenario_1.xml").getroot()
    flow, flash = next(root.iter("Host.IO_Flow")), next(root.iter("SSDDevice.FTL")).attrib

    def both(name: str) -> int:
        return int(flash[f"Issued_Flash_{name}_CMD"]) + 2 * int(flash[f"Issued_Flash_Multiplane_{name}_CMD"])

    requests, done = (int((flow.findtext(f"{kind}Request_Count") or "0").strip()) for kind in ("Write_", ""))
    delay = float(flow.findtext("Device_Response_Time") or "nan") / 1e6
    if done < (requests or 1):
        sys.exit(f"MQSim served {done} requests of {requests}: is it built with mqsim.patch?")
    programs = both("Program")
    return seconds, {
        "commands": both("Read") + programs + both("Erase"),
        # MQSim divides by whole seconds; a closed loop's rate is its depth over the mean response time.
        "iops": int(FLOW["Average_No_of_Reqs_in_Queue"]) / delay,
        "waf": programs / requests,
    }


def run_pumice(folder: Path) -> tuple[float, dict[str, float]]:
    """The same files in pumice; their conversion is not timed."""
    pumice = [sys.executable, "-m", "pumice"]
    spec = folder / "spec.toml"
    if not spec.exists():
        cpu_seconds([*pumice, "from-mqsim", "ssd.xml", "work.xml", "--out", spec.name], folder, folder / "convert.txt")
    result = folder / "pumice.json"
    seconds = cpu_seconds([*pumice, "run", spec.name, "--json"], folder, result)
    document = json.loads(result.read_text())
    return seconds, {
        "commands": document["run"]["flash_commands"],
        "iops": document["host"]["iops"],
        "waf": document["write_amplification"],
    }


def write_files(folder: Path, mode: str, requests: int) -> None:
    """MQSim's two files."""
    folder.mkdir()
    dies, planes = MODES[mode]
    flash = {**FLASH, "Die_No_Per_Chip": str(dies), "Plane_No_Per_Die": str(planes)}
    device = element("Device_Parameter_Set", DEVICE)
    device.append(element("Flash_Parameter_Set", flash))
    ssd = ElementTree.Element("Execution_Parameter_Set")
    ssd.extend([element("Host_Parameter_Set", HOST), device])
    ids = {"Die_IDs": ",".join(map(str, range(dies))), "Plane_IDs": ",".join(map(str, range(planes)))}
    flow = element("IO_Flow_Parameter_Set_Synthetic", {**FLOW, **ids, "Total_Requests_To_Generate": str(requests)})
    scenario = ElementTree.Element("IO_Scenario")
    scenario.append(flow)
    work = ElementTree.Element("MQSim_IO_Scenarios")
    work.append(scenario)
    ElementTree.ElementTree(ssd).write(folder / "ssd.xml")
    ElementTree.ElementTree(work).write(folder / "work.xml")


def element(name: str, values: dict[str, str]) -> ElementTree.Element:
    """An XML element with a child for each value."""
    found = ElementTree.Element(name)
    for key, value in values.items():
        ElementTree.SubElement(found, key).text = value
    return found


if __name__ == "__main__":
    main()
