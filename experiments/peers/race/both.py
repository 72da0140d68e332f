"""MQSim's two files from tables, and a run of the same files in MQSim and in pumice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
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


@dataclass(frozen=True)
class Case:
    """A device and its flows, as changes to the tables above: of the device, of its flash, and of each flow."""

    device: dict[str, str]
    flash: dict[str, str]
    flows: list[dict[str, str]]


def program(given: str) -> Path:
    """MQSim's program, which the caller names."""
    path = Path(given).resolve()
    if not (path.is_file() and os.access(path, os.X_OK)):
        sys.exit(f"{given} is no program; allowed: MQSim at 7ec40e3, built as README.md says")
    return path


def cpu_seconds(command: list[str], folder: Path, output: Path) -> float:
    """User time of a process that must end well."""
    with output.open("wb") as out, (folder / "errors.txt").open("wb") as errors:
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=errors)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{command[0]} ended with {process.returncode}: {(folder / 'errors.txt').read_text()[-500:]}")
    return used.ru_utime


def run_mqsim(mqsim: Path, folder: Path) -> tuple[float, ElementTree.Element]:
    """A run of MQSim: user seconds, and its result."""
    command = [str(mqsim), "-i", "ssd.xml", "-w", "work.xml"]
    seconds = cpu_seconds(command, folder, folder / "mqsim.txt")
    root = ElementTree.parse(folder / "work_scenario_1.xml").getroot()
    for flow, asked in zip(root.iter("Host.IO_Flow"), requests_asked(folder), strict=True):
        done = int((flow.findtext("Request_Count") or "0").strip())
        if done < asked:
            sys.exit(f"MQSim served {done} requests of {asked}: is it built with mqsim.patch?")
    return seconds, root


def requests_asked(folder: Path) -> list[int]:
    """Requests of each flow."""
    root = ElementTree.parse(folder / "work.xml").getroot()
    return [int(element.text or "0") for element in root.iter("Total_Requests_To_Generate")]


def run_pumice(folder: Path) -> tuple[float, dict[str, Any]]:
    """The same files in pumice; their conversion is not timed."""
    pumice = [sys.executable, "-m", "pumice"]
    spec = folder / "spec.toml"
    if not spec.exists():
        cpu_seconds([*pumice, "from-mqsim", "ssd.xml", "work.xml", "--out", spec.name], folder, folder / "convert.txt")
    result = folder / "pumice.json"
    seconds = cpu_seconds([*pumice, "run", spec.name, "--json"], folder, result)
    return seconds, json.loads(result.read_text())


def write_files(folder: Path, case: Case) -> None:
    """MQSim's two files."""
    folder.mkdir()
    flash = {**FLASH, **case.flash}
    device = element("Device_Parameter_Set", {**DEVICE, **case.device})
    device.append(element("Flash_Parameter_Set", flash))
    ssd = ElementTree.Element("Execution_Parameter_Set")
    ssd.extend([element("Host_Parameter_Set", HOST), device])
    counts = {"Die_IDs": "Die_No_Per_Chip", "Plane_IDs": "Plane_No_Per_Die"}
    ids = {name: ",".join(map(str, range(int(flash[count])))) for name, count in counts.items()}
    scenario = ElementTree.Element("IO_Scenario")
    scenario.extend([element("IO_Flow_Parameter_Set_Synthetic", {**FLOW, **ids, **flow}) for flow in case.flows])
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


def issued(root: ElementTree.Element, name: str) -> int:
    """Pages or blocks that commands of a name worked on in MQSim; on two planes at once a command counts twice."""
    flash = next(root.iter("SSDDevice.FTL")).attrib
    return int(flash[f"Issued_Flash_{name}_CMD"]) + 2 * int(flash[f"Issued_Flash_Multiplane_{name}_CMD"])
