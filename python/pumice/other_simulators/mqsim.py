"""MQSim's configuration and workload files (XML) as a spec.

Nothing is dropped without a word: a parameter that has no counterpart gives a note, and a value that would be
misread is refused. Facts about MQSim: its files `ssdconfig.xml` and `workload.xml`, and its README.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PureWindowsPath
from typing import Any
from xml.etree import ElementTree

from pumice import files
from pumice.errors import SpecError, one_line
from pumice.other_simulators import mqsim_preconditioning
from pumice.text import printable

#: Longest file that is read, in bytes.
BYTES_MAX = 1 << 20

#: Bytes of a sector, in which MQSim counts request sizes.
SECTOR_BYTES = 512

_GEOMETRY = {
    "Flash_Channel_Count": "channels",
    "Chip_No_Per_Channel": "chips_per_channel",
    "Die_No_Per_Chip": "dies_per_chip",
    "Plane_No_Per_Die": "planes_per_die",
    "Block_No_Per_Plane": "blocks_per_plane",
    "Page_No_Per_Block": "pages_per_block",
    "Page_Capacity": "page_bytes",
    "Page_Metadat_Capacity": "spare_bytes",
}

#: Kinds of pages of each technology, as the names of their latencies end.
_PAGES = {"SLC": ("LSB",), "MLC": ("LSB", "MSB"), "TLC": ("LSB", "CSB", "MSB")}

#: In which order they follow each other in a block of MQSim.
_PAGE_TYPES = {"MLC": "one-shot", "TLC": "interleaved"}

#: What the planes of a device are counted by.
_LEVELS = ("channels", "chips_per_channel", "dies_per_chip", "planes_per_die")

#: How a device is preconditioned: user capacities of random writes, chosen, and in words.
_AGED = {
    "pages": (1.5, "a full device is aged by 1.5 capacities of random pages"),
    "drawn": (0.1, "the steady state of random writes is drawn, and 0.1 capacities more are written"),
}

_POLICIES = {"GREEDY": "greedy", "RGA": "d-choices", "FIFO": "fifo", "RANDOM": "random"}

#: Kinds of workload by the names of MQSim's files, and by the other word order of its first published ones.
_ACCESS = {
    "RANDOM_UNIFORM": "uniform",
    "UNIFORM_RANDOM": "uniform",
    "STREAMING": "sequential",
    "RANDOM_HOTCOLD": "hot-cold",
    "HOTCOLD_RANDOM": "hot-cold",
}


@dataclass
class Conversion:
    """A spec under way.

    Attributes:
        sections: values by section and key.
        flows: values of each flow by key, if there are several.
        notes: what is not as in MQSim, one line each.
    """

    sections: dict[str, dict[str, Any]] = field(default_factory=dict)
    flows: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def set(self, key: str, value: Any) -> None:
        """Sets `section.key`, or a key without a section."""
        section, _, name = key.rpartition(".")
        self.sections.setdefault(section, {})[name] = value

    def text(self) -> str:
        """The spec as TOML, the notes as comments above it."""
        from pumice.runs.values import toml_text  # loaded here: it starts slowly

        lines = ["# Converted from MQSim's files.", *(f"# {note}" for note in self.notes)]
        # Keys without a section come first in TOML.
        for section, values in sorted(self.sections.items(), key=lambda pair: pair[0] != ""):
            lines += ["", f"[{section}]"] if section else []
            lines += [f"{name} = {toml_text(name, value)}" for name, value in values.items()]
        for flow in self.flows:
            lines += ["", "[[workload.flow]]"]
            lines += [f"{name} = {toml_text(name, value)}" for name, value in flow.items()]
        return "\n".join(lines) + "\n"


class _Parameters:
    """The parameters of an XML element, each of which must be taken."""

    def __init__(self, path: Path, values: Mapping[str, str]) -> None:
        self._path = path
        self._left = dict(values)

    def text(self, name: str, allowed: Sequence[str] = (), default: str | None = None) -> str:
        """The value of a parameter. MQSim takes names in any case, so do we.

        Raises:
            SpecError: it is missing without a default, or is none of those that are allowed.
        """
        value = self._left.pop(name, default)
        if value is None:
            raise SpecError(f"{self._path}: lacks {name}")
        if not allowed:
            return value
        name_of = {one.upper(): one for one in allowed}
        if value.upper() not in name_of:
            raise SpecError(f"{self._path}: {name} is {printable(value)!r}; allowed: {', '.join(allowed)}")
        return name_of[value.upper()]

    def number(self, name: str, kind: Callable[[str], Any] = float, default: str | None = None) -> Any:
        """The value of a parameter as a number; raises as `text`, or if it is none."""
        value = self.text(name, default=default)
        try:
            return kind(value)
        except ValueError:
            raise SpecError(f"{self._path}: {name} is {printable(value)!r}; allowed: a number") from None

    def truth(self, name: str, default: str | None = None) -> bool:
        """The value of a parameter as a truth value; raises as `text`."""
        return self.text(name, ("true", "false"), default) == "true"

    def left(self) -> list[str]:
        """Names of the parameters that nobody took."""
        return list(self._left)


def convert(configuration: Path, workload: Path | None, *, scenario: int = 1, flow: int | None = None) -> Conversion:
    """Converts MQSim's files.

    Args:
        configuration: the file with `Execution_Parameter_Set` (ssdconfig.xml).
        workload: the file with `MQSim_IO_Scenarios` (workload.xml); None leaves the workload out.
        scenario: which scenario, counted from 1.
        flow: which of its flows, counted from 1; None: all of them.

    Raises:
        SpecError: a file cannot be read, lacks a parameter, or has a value that no spec can say.
    """
    found = Conversion()
    host, device, flash = _sections(configuration)
    parameters = _Parameters(configuration, {**host, **device, **flash})
    _device(parameters, found)
    _scheduling(parameters, found)
    _link(parameters, found)
    _collection(parameters, found)
    preconditioned = parameters.truth("Enabled_Preconditioning", default="true")
    if workload is not None:
        left = _requests(parameters, (workload, _flows(workload, scenario, flow)), found)
        _preconditioning(preconditioned, found)
        parameters = _Parameters(configuration, dict.fromkeys([*parameters.left(), *left], ""))
    found.notes.append(f"Not taken over: {', '.join(parameters.left())}.")
    return found


def _requests(
    device: _Parameters, flows: tuple[Path, list[tuple[str, dict[str, str]]]], found: Conversion
) -> list[str]:
    """What the flows ask for: one is the workload, several are flows. Returns the parameters that nobody took."""
    path, elements = flows
    shares = _shares([values for _, values in elements], found)
    capacity = device.text("Data_Cache_Capacity")
    left: dict[str, None] = {}
    for number, (kind, values) in enumerate(elements):
        own, one = _Parameters(path, values), Conversion(sections={"geometry": found.sections["geometry"]})
        _trace(own, one) if kind.endswith("Trace_Based") else _generator(own, one)
        _cache(_Parameters(path, {"Data_Cache_Capacity": capacity}), own, one)
        if len(elements) == 1:
            for section, keys in one.sections.items():
                found.sections.setdefault(section, {}).update(keys)
            found.notes += one.notes
        else:
            priority = own.text("Priority_Class", ("URGENT", "HIGH", "MEDIUM", "LOW"), default="HIGH")
            _resources(own)
            _take_flow(found, one, f"flow{number + 1}", (shares[number], priority.lower()))
        left |= dict.fromkeys(own.left())
    if len(elements) > 1:
        _tell_flows(found)
        _keep_apart(found)
    return list(left)


def _take_flow(found: Conversion, one: Conversion, name: str, given: tuple[list[float], str]) -> None:
    """Adds a flow with its range and its priority. What all flows share is that of the one that has most of it."""
    sections = one.sections
    host, workload = sections["host"], sections["workload"]
    # Its working set alone, so that the initial fill of the device is that of its flows.
    (begin, end), used = given[0], workload.pop("footprint", 1.0)
    filled = sections["initial"]["fill"] * (end - begin)
    first = found.flows[-1]["range"][1] if found.flows else 0.0
    reach = [first, round(first + used * (end - begin), 9)]
    flow = {"name": name, **workload, "range": reach, "mode": host["mode"], "priority": given[1]}
    if flow["kind"] != "trace":
        flow["footprint"] = 1.0
    # What the device is aged by.
    found.set("workload.footprint", reach[1])
    if "queue_depth" in host:
        flow["queue_depth"] = host["queue_depth"]
    found.flows.append(flow)
    shared = found.sections.setdefault("host", {})
    shared["write_buffer_kib"] = max(shared.get("write_buffer_kib", 0), host["write_buffer_kib"])
    initial = found.sections.setdefault("initial", {})
    initial["fill"] = round(initial.get("fill", 0.0) + filled, 9)
    found.notes += [f"{name}: {line}" for line in one.notes]


def _tell_flows(found: Conversion) -> None:
    if any(flow["priority"] != found.flows[0]["priority"] for flow in found.flows):
        found.notes.append(
            "Priorities count where requests wait for the controller's cores (controller.t_request_us); in MQSim they"
            " order transactions on chips."
        )
    fill = found.sections["initial"]["fill"]
    found.notes.append(
        f"Working sets lie end to end, and initial.fill = {fill} from the first on; in MQSim each flow fills its own"
        " part of the addresses."
    )


#: Most flows whose data can be kept apart (ftl.handles).
_MOST_HANDLES = 8


def _keep_apart(found: Conversion) -> None:
    """Each flow's writes, and what collection moves of them, have open blocks of their own in MQSim."""
    if len(found.flows) > _MOST_HANDLES:
        found.notes.append(f"Flows share open blocks; in MQSim each has its own (at most {_MOST_HANDLES} can here).")
        return
    found.set("ftl.handles", len(found.flows))
    levels = found.sections["ftl"].get("wear_leveling") in ("static", "both")
    found.set("ftl.isolation", "initial" if levels else "persistent")
    if levels:
        found.notes.append("Copies of all flows share an open block, as static wear levelling wants it.")
    for number, flow in enumerate(found.flows):
        flow["stream"] = number


#: The lists of what a flow may use of its device.
_RESOURCES = ("Channel_IDs", "Chip_IDs", "Die_IDs", "Plane_IDs")


def _resources(own: _Parameters) -> None:
    """Takes the lists of channels, chips, dies and planes of a flow, which `_shares` has read."""
    for name in _RESOURCES:
        own.text(name, default="")


def _shares(flows: list[dict[str, str]], found: Conversion) -> list[list[float]]:
    """The addresses of each flow: MQSim divides those of every plane among the flows that may use it, and lays the
    flows end to end in their order."""
    lists = [[tuple(sorted(flow.get(name, "").split(","))) for name in _RESOURCES] for flow in flows]
    if any(one != lists[0] for one in lists):
        found.notes.append(
            "Every flow uses all channels, chips, dies and planes, and has an equal part of the addresses; in MQSim"
            " those that Channel_IDs, Chip_IDs, Die_IDs and Plane_IDs name."
        )
    return [[round(nth / len(flows), 9), round((nth + 1) / len(flows), 9)] for nth in range(len(flows))]


def _device(given: _Parameters, found: Conversion) -> None:
    for name, key in _GEOMETRY.items():
        found.set(f"geometry.{key}", given.number(name, int))
    found.set("timing.multi_plane", _multi_plane(found))
    given.text("Memory_Type", ("FLASH",))
    _page_times(given, found)
    found.set("timing.t_bers_us", given.number("Block_Erase_Latency") / 1000)
    rate = given.number("Channel_Transfer_Rate") * given.number("Flash_Channel_Width", int)
    found.set("timing.channel_mb_per_s", rate)
    found.set("timing.copyback", given.truth("Use_Copyback_for_GC"))
    found.set("timing.read_command", "channel")
    found.set("timing.read_transfer", "codewords")
    found.set("timing.codeword_bytes", SECTOR_BYTES)
    found.set("partial_erase.unit", "none")
    found.set("seed", given.number("Seed", int))


def _page_times(given: _Parameters, found: Conversion) -> None:
    """tR and tPROG, of each page type where they differ, and the order of the types in a block."""
    technology = given.text("Flash_Technology", tuple(_PAGES))
    pages, differ = _PAGES[technology], False
    for operation, key in (("Read", "t_r_us"), ("Program", "t_prog_us")):
        times = {page: given.number(f"Page_{operation}_Latency_{page}") / 1000 for page in ("LSB", "CSB", "MSB")}
        used = [times[page] for page in pages]
        differ |= len(set(used)) > 1
        found.set(f"timing.{key}", used if len(set(used)) > 1 else used[0])
    if not differ:
        return
    found.set("geometry.bits_per_cell", len(pages))
    found.set("geometry.page_types", _PAGE_TYPES[technology])
    if technology == "TLC":
        found.notes.append(
            "The last word lines of a block are full; a block of MQSim ends with a few more LSB than MSB pages."
        )


def _multi_plane(found: Conversion) -> str:
    """Which commands of a chip run together. A chip of MQSim runs one at a time, so it is a die here."""
    geometry = found.sections["geometry"]
    dies, planes = geometry["dies_per_chip"], geometry["planes_per_die"]
    if dies > 1:
        found.set("geometry.dies_per_chip", 1)
        found.set("geometry.planes_per_die", dies * planes)
        found.notes.append(f"A chip is one die of {dies * planes} planes: dies of a chip never work at once in MQSim.")
        if planes > 1:
            found.notes.append(
                f"Commands pair over all planes of a chip; in MQSim over the {planes} of each of its dies."
            )
    return "queue" if planes > 1 else "off"


def _scheduling(given: _Parameters, found: Conversion) -> None:
    """What goes before what on a chip."""
    policy = given.text("Transaction_Scheduling_Policy", default="OUT_OF_ORDER").upper()
    found.set("host.read_priority", True)
    if policy not in ("OUT_OF_ORDER", "PRIORITY_OUT_OF_ORDER"):
        found.notes.append(f"Reads go before writes; the shares that {printable(policy)} gives to flows are left out.")
    found.notes.append("Collection goes before writes that arrived after it began; in MQSim before all that wait.")
    if given.text("CMD_Suspension_Support", default="NONE").upper() != "NONE":
        found.notes.append("Nothing is suspended: in MQSim at 7ec40e3 a suspended command loses requests.")


def _link(given: _Parameters, found: Conversion) -> None:
    """The link to the host, whose lanes carry so many 10^9 bytes a second each."""
    lane = given.number("PCIe_Lane_Bandwidth")
    found.set("host.link_mb_per_s", round(lane * given.number("PCIe_Lane_Count", int) * 1000, 9))


def _collection(given: _Parameters, found: Conversion) -> None:
    given.text("Address_Mapping", ("PAGE_LEVEL",))
    found.set("ftl.kind", "page")
    found.set("ftl.merge", "block-erase")
    found.set("ftl.allocation", "static")
    found.set("ftl.allocation_order", given.text("Plane_Allocation_Scheme"))
    found.set("ftl.over_provisioning", given.number("Overprovisioning_Ratio"))
    found.set("ftl.gc_free_threshold", given.number("GC_Exec_Threshold"))
    given.number("GC_Hard_Threshold", default="0")
    policy = _POLICIES[given.text("GC_Block_Selection_Policy", tuple(_POLICIES))]
    found.set("ftl.gc_policy", policy)
    if policy == "d-choices":
        # The whole part of the logarithm to base 2 of the blocks of a plane.
        found.set("ftl.d_choices", found.sections["geometry"]["blocks_per_plane"].bit_length() - 1)
    preemptible = given.truth("Preemptible_GC_Enabled")
    found.set("ftl.gc_mode", "preemptible" if preemptible else "blocking")
    if preemptible:
        found.notes.append(
            "Writes stop with the last free block, and one victim a plane is in work; in MQSim below 10."
        )
    levels = given.truth("Dynamic_Wearleveling_Enabled"), given.truth("Static_Wearleveling_Enabled")
    modes = {(False, False): "none", (True, False): "dynamic", (False, True): "static", (True, True): "both"}
    found.set("ftl.wear_leveling", modes[levels])
    threshold = given.number("Static_Wearleveling_Threshold", int)
    if levels[1]:
        found.set("ftl.wear_threshold", threshold)
    if not given.truth("Ideal_Mapping_Table"):
        found.notes.append("The map is all in RAM; for a cached one set ftl.map_place and ftl.map_cache_entries.")


def _generator(given: _Parameters, found: Conversion) -> None:
    access = _ACCESS[given.text("Address_Distribution", tuple(_ACCESS))]
    found.set("workload.kind", access)
    hot = given.number("Percentage_of_Hot_Region") / 100
    if access == "hot-cold":
        found.set("workload.hot_space", hot)
        found.set("workload.hot_share", round(1 - hot, 9))
    found.set("workload.read_fraction", given.number("Read_Percentage") / 100)
    given.text("Request_Size_Distribution", ("FIXED",))
    sectors = given.number("Average_Request_Size", int)
    found.set("workload.request_bytes", sectors * SECTOR_BYTES)
    aligned = given.text("Generated_Aligned_Addresses", ("true", "false"), default="false") == "true"
    unit = given.number("Address_Alignment_Unit", int, default="1") if aligned else 1
    if unit != sectors:
        found.notes.append(
            f"Requests begin at multiples of their size; in MQSim at multiples of {unit * SECTOR_BYTES} bytes."
        )
    found.set("workload.footprint", given.number("Working_Set_Percentage") / 100)
    found.set("initial.fill", given.number("Initial_Occupancy_Percentage") / 100)
    requests = given.number("Total_Requests_To_Generate", int)
    if requests > 0:
        found.set("workload.requests", requests)
    else:
        found.notes.append("Stop_Time ends the flow in MQSim; set workload.requests to a number of requests.")
    given.text("Synthetic_Generator_Type", ("QUEUE_DEPTH",), default="QUEUE_DEPTH")
    found.set("host.mode", "closed-loop")
    found.set("host.queue_depth", given.number("Average_No_of_Reqs_in_Queue", int))


def _trace(given: _Parameters, found: Conversion) -> None:
    found.set("workload.kind", "trace")
    found.set("workload.format", "ssdsim")
    found.set("workload.path", PureWindowsPath(given.text("File_Path")).as_posix())
    found.set("workload.address", "wrap")
    found.notes.append('workload.address = "wrap": addresses beyond the device start again at its beginning.')
    given.text("Time_Unit", ("NANOSECOND",))
    given.text("Relay_Count", ("1",))
    given.text("Percentage_To_Be_Executed", ("100",))
    found.set("initial.fill", given.number("Initial_Occupancy_Percentage") / 100)
    found.set("host.mode", "open-loop")


def _cache(device: _Parameters, flow: _Parameters, found: Conversion) -> None:
    mode = flow.text("Device_Level_Data_Caching_Mode", ("TURNED_OFF", "WRITE_CACHE", "READ_CACHE", "WRITE_READ_CACHE"))
    capacity = device.number("Data_Cache_Capacity", int)
    found.set("host.write_buffer_kib", 0)
    if mode.startswith("WRITE"):
        geometry = found.sections["geometry"]
        planes = math.prod(geometry[f"{name}"] for name in _LEVELS)
        in_flight = planes * geometry["page_bytes"]
        found.set("host.write_buffer_kib", max(min(capacity, in_flight), geometry["page_bytes"]) // 1024)
        if capacity > in_flight:
            found.notes.append(
                f"The write buffer has {planes} pages: MQSim's cache sends at most one a plane to flash at a time, "
                "and takes no more writes meanwhile."
            )
    if mode.endswith("READ_CACHE"):
        found.notes.append("A read cache has no counterpart.")


def _preconditioning(preconditioned: bool, found: Conversion) -> None:
    """The state of the device at the first request, and the free blocks that collection keeps."""
    sections = found.sections
    geometry, ftl, fill = sections["geometry"], sections["ftl"], sections["initial"]["fill"]
    if preconditioned:
        writes_all = not found.flows and sections["workload"].get("footprint", 0.0) >= fill
        aged_by = "drawn" if writes_all and ftl["gc_policy"] == "greedy" else "pages"
        found.set("initial.aged_by", aged_by)
        writes, words = _AGED[aged_by]
        found.set("initial.age_writes", writes)
        found.notes.append(
            f"Preconditioning: {words}; MQSim computes where pages lie, and stores pages outside the working set too."
        )
    else:
        # Without it MQSim's device is empty, whatever the flow says of its occupancy.
        found.set("initial.fill", 0.0)
    plane = mqsim_preconditioning.Plane(
        blocks=geometry["blocks_per_plane"],
        pages=geometry["pages_per_block"],
        threshold=ftl["gc_free_threshold"],
        stored=fill * (1 - ftl["over_provisioning"]),
        choices=ftl.get("d_choices", mqsim_preconditioning.GREEDY_CHOICES),
        flows=max(len(found.flows), 1),
    )
    kinds = {flow["kind"] for flow in found.flows} or {sections["workload"]["kind"]}
    uniform = kinds == {"uniform"}
    kept = mqsim_preconditioning.free_blocks(plane, preconditioned=preconditioned, uniform=uniform)
    found.notes.append(
        f"ftl.gc_free_threshold is {kept} of {plane.blocks} blocks: MQSim erases one for each that is written, so "
        f"a plane keeps as many as {'preconditioning' if preconditioned else 'its threshold'} left."
    )
    found.set("ftl.gc_free_threshold", round(kept / plane.blocks, 4))


def _sections(path: Path) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """The parameters of host, device and flash."""
    root = _root(path, "Execution_Parameter_Set")
    host, device = root.find("Host_Parameter_Set"), root.find("Device_Parameter_Set")
    flash = device.find("Flash_Parameter_Set") if device is not None else None
    if device is None or flash is None:
        raise SpecError(f"{path}: lacks Device_Parameter_Set or the Flash_Parameter_Set in it")
    return _values(host), _values(device), _values(flash)


def _flows(path: Path, scenario: int, flow: int | None) -> list[tuple[str, dict[str, str]]]:
    """Name and parameters of a scenario's flows, or of one of them."""
    scenarios = _root(path, "MQSim_IO_Scenarios").findall("IO_Scenario")
    if not 1 <= scenario <= len(scenarios):
        raise SpecError(f"{path}: has no scenario {scenario}; allowed: from 1 to {len(scenarios)}")
    flows = list(scenarios[scenario - 1])
    if (flow is not None and not 1 <= flow <= len(flows)) or not flows:
        raise SpecError(f"{path}: scenario {scenario} has no flow {flow or 1}; allowed: from 1 to {len(flows)}")
    chosen = flows if flow is None else flows[flow - 1 : flow]
    return [(one.tag, _values(one)) for one in chosen]


def _values(element: ElementTree.Element | None) -> dict[str, str]:
    children = list(element) if element is not None else []
    return {child.tag: (child.text or "").strip() for child in children if not len(child)}


def _root(path: Path, name: str) -> ElementTree.Element:
    content = files.read_bounded(path, BYTES_MAX)
    if b"<!DOCTYPE" in content or b"<!ENTITY" in content:
        raise SpecError(f"{path}: declares a document type, which no file of MQSim does")
    try:
        root = ElementTree.fromstring(content)
    except ElementTree.ParseError as error:
        raise SpecError(f"{path}: not XML: {one_line(error)}") from None
    if root.tag != name:
        raise SpecError(f"{path}: begins with {printable(root.tag)}; expected {name}")
    return root
