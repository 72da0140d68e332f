"""Files of MQSim become specs that resolve; what has no counterpart is told, and what would be misread is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import pumice
from conftest import Command
from pumice.errors import SpecError
from pumice.other_simulators import mqsim, mqsim_preconditioning

DEVICE = {
    "PCIe_Lane_Bandwidth": "0.5", "PCIe_Lane_Count": "4",
    "Seed": "7", "Memory_Type": "FLASH", "Data_Cache_Capacity": "1048576", "Address_Mapping": "PAGE_LEVEL",
    "Ideal_Mapping_Table": "true", "Plane_Allocation_Scheme": "CWDP", "Overprovisioning_Ratio": "0.2",
    "GC_Exec_Threshold": "0.05", "GC_Block_Selection_Policy": "RGA", "Use_Copyback_for_GC": "false",
    "Preemptible_GC_Enabled": "false", "Dynamic_Wearleveling_Enabled": "true", "Static_Wearleveling_Enabled": "true",
    "Static_Wearleveling_Threshold": "100", "Flash_Channel_Count": "2", "Flash_Channel_Width": "2",
    "Channel_Transfer_Rate": "333", "Chip_No_Per_Channel": "1", "Flash_Comm_Protocol": "NVDDR2",
}  # fmt: skip
FLASH = {
    "Flash_Technology": "MLC", "Page_Read_Latency_LSB": "60000", "Page_Read_Latency_CSB": "1",
    "Page_Read_Latency_MSB": "80000", "Page_Program_Latency_LSB": "750000", "Page_Program_Latency_CSB": "1",
    "Page_Program_Latency_MSB": "750000", "Block_Erase_Latency": "3800000", "Die_No_Per_Chip": "1",
    "Plane_No_Per_Die": "2", "Block_No_Per_Plane": "64", "Page_No_Per_Block": "64", "Page_Capacity": "4096",
    "Page_Metadat_Capacity": "128",
}  # fmt: skip
GENERATED = {
    "Device_Level_Data_Caching_Mode": "WRITE_CACHE", "Initial_Occupancy_Percentage": "75",
    "Working_Set_Percentage": "50", "Synthetic_Generator_Type": "QUEUE_DEPTH", "Read_Percentage": "30",
    "Address_Distribution": "RANDOM_HOTCOLD", "Percentage_of_Hot_Region": "20", "Request_Size_Distribution": "FIXED",
    "Average_Request_Size": "8", "Average_No_of_Reqs_in_Queue": "16", "Total_Requests_To_Generate": "3000",
}  # fmt: skip
TRACED = {
    "Device_Level_Data_Caching_Mode": "TURNED_OFF", "Initial_Occupancy_Percentage": "70",
    "File_Path": "traces\\small.trace", "Percentage_To_Be_Executed": "100", "Relay_Count": "1",
    "Time_Unit": "NANOSECOND",
}  # fmt: skip


def tags(values: dict[str, str]) -> str:
    return "".join(f"<{name}>{value}</{name}>" for name, value in values.items())


def written(folder: Path, device: dict[str, str], *flows: tuple[str, dict[str, str]]) -> tuple[Path, Path]:
    """The two files of MQSim, with changes to the device and these flows."""
    own = {**DEVICE, **{name: value for name, value in device.items() if name not in FLASH}}
    flash = {**FLASH, **{name: value for name, value in device.items() if name in FLASH}}
    configuration, workload = folder / "ssd.xml", folder / "work.xml"
    host = {name: own.pop(name) for name in ("PCIe_Lane_Bandwidth", "PCIe_Lane_Count")}
    inner = f"{tags(own)}<Flash_Parameter_Set>{tags(flash)}</Flash_Parameter_Set>"
    sets = {"Host_Parameter_Set": tags(host), "Device_Parameter_Set": inner}
    configuration.write_text(f"<Execution_Parameter_Set>{tags(sets)}</Execution_Parameter_Set>")
    told = "".join(f"<{name}>{tags(values)}</{name}>" for name, values in flows)
    workload.write_text(f"<MQSim_IO_Scenarios><IO_Scenario>{told}</IO_Scenario></MQSim_IO_Scenarios>")
    return configuration, workload


SYNTHETIC = ("IO_Flow_Parameter_Set_Synthetic", GENERATED)
TRACE = ("IO_Flow_Parameter_Set_Trace_Based", TRACED)


def test_a_converted_spec_runs_and_says_what_is_left_out(command: Command, tmp_path: Path) -> None:
    written(tmp_path, {}, SYNTHETIC, TRACE)
    done = command("from-mqsim", "ssd.xml", "work.xml", "--flow", "1", "--out", "spec.toml")
    assert done.returncode == 0, done.stderr
    assert "Not taken over: Flash_Comm_Protocol." in done.stderr
    assert "a plane keeps as many as preconditioning left" in done.stderr
    config = pumice.Spec.from_file(tmp_path / "spec.toml").resolve()["config"]
    geometry, timing, ftl = config["geometry"], config["timing"], config["ftl"]
    assert (geometry["channels"], geometry["blocks_per_plane"], geometry["spare_bytes"]) == (2, 64, 128)
    assert (timing["t_r_us"], timing["t_prog_us"], timing["t_bers_us"]) == ([60.0, 80.0], 750.0, 3800.0)
    assert timing["channel_mb_per_s"] == 666.0
    assert (ftl["gc_policy"], ftl["d_choices"], ftl["over_provisioning"]) == ("d-choices", 6, 0.2)
    assert (ftl["wear_leveling"], ftl["wear_threshold"]) == ("both", 100)
    # One page of each of the four planes is on its way to flash at a time.
    assert (config["host"]["queue_depth"], config["host"]["write_buffer_kib"]) == (16, 16)
    assert config["host"]["read_priority"]
    assert config["initial"]["age_writes"] > 1.0
    assert (timing["multi_plane"], timing["read_command"], timing["read_transfer"]) == ("queue", "channel", "codewords")
    work = config["workload"]
    assert (work["kind"], work["request_bytes"], work["requests"]) == ("hot-cold", 4096, 3000)
    assert (work["hot_space"], work["hot_share"], work["read_fraction"]) == (0.2, 0.8, 0.3)
    assert config["seed"] == 7
    assert command("run", "spec.toml").returncode == 0


def found_fill(spec: Path) -> float:
    """The share of a spec's device that is stored before the first request."""
    return float(pumice.Spec.from_file(spec).resolve()["config"]["initial"]["fill"])


def test_several_flows_come_over_with_their_addresses_depths_and_priorities(command: Command, tmp_path: Path) -> None:
    deep = {
        **GENERATED,
        "Average_No_of_Reqs_in_Queue": "3",
        "Address_Distribution": "STREAMING",
        "Priority_Class": "LOW",
    }
    written(tmp_path, {}, SYNTHETIC, (SYNTHETIC[0], deep))
    done = command("from-mqsim", "ssd.xml", "work.xml", "--out", "spec.toml")
    assert done.returncode == 0, done.stderr
    assert "Priorities count where requests wait for the controller's cores" in done.stderr
    ftl = pumice.Spec.from_file(tmp_path / "spec.toml").resolve()["config"]["ftl"]
    assert (ftl["handles"], ftl["isolation"]) == (2, "initial")  # MQSim's static wear levelling is on
    first, second = pumice.Spec.from_file(tmp_path / "spec.toml").resolve()["config"]["workload"]["flow"]
    assert (first["name"], first["kind"], first["queue_depth"], first["range"]) == (
        "flow1",
        "hot-cold",
        16,
        [0.0, 0.25],
    )
    # Half of each flow's part is its working set; three quarters of all pages are stored.
    assert (second["kind"], second["queue_depth"], second["range"]) == ("sequential", 3, [0.25, 0.5])
    assert (first["footprint"], found_fill(tmp_path / "spec.toml")) == (1.0, 0.75)
    assert (first["priority"], second["priority"], first["mode"]) == ("high", "low", "closed-loop")
    assert command("run", "spec.toml").returncode == 0
    held = {**GENERATED, "Channel_IDs": "0"}
    found = mqsim.convert(*written(tmp_path, {}, SYNTHETIC, (SYNTHETIC[0], held)))
    assert any("Channel_IDs" in line for line in found.notes)


def test_a_flow_that_replays_a_trace(tmp_path: Path) -> None:
    found = mqsim.convert(*written(tmp_path, {}, SYNTHETIC, TRACE), flow=2)
    assert found.sections["workload"]["path"] == "traces/small.trace"
    assert found.sections["workload"]["format"] == "ssdsim"
    assert found.sections["host"]["write_buffer_kib"] == 0


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("RANDOM_UNIFORM", "uniform"),
        ("UNIFORM_RANDOM", "uniform"),
        ("RANDOM_HOTCOLD", "hot-cold"),
        ("HOTCOLD_RANDOM", "hot-cold"),
        ("STREAMING", "sequential"),
        ("streaming", "sequential"),
    ],
)
def test_addresses_by_the_names_of_every_version(name: str, kind: str, tmp_path: Path) -> None:
    flow = {**GENERATED, "Address_Distribution": name}
    found = mqsim.convert(*written(tmp_path, {}, (SYNTHETIC[0], flow)))
    assert found.sections["workload"]["kind"] == kind


@pytest.mark.parametrize(
    ("policy", "working_set", "aged_by"),
    [("GREEDY", "75", "drawn"), ("GREEDY", "50", "pages"), ("FIFO", "75", "pages")],
)
def test_a_steady_state_with_a_closed_form_is_drawn(
    policy: str, working_set: str, aged_by: str, command: Command, tmp_path: Path
) -> None:
    flow = {**GENERATED, "Working_Set_Percentage": working_set, "Address_Distribution": "RANDOM_UNIFORM"}
    device = {"GC_Block_Selection_Policy": policy, "Overprovisioning_Ratio": "0.35"}
    written(tmp_path, device, (SYNTHETIC[0], flow))
    assert command("from-mqsim", "ssd.xml", "work.xml", "--out", "spec.toml").returncode == 0
    assert pumice.Spec.from_file(tmp_path / "spec.toml").resolve()["config"]["initial"]["aged_by"] == aged_by
    assert command("run", "spec.toml").returncode == 0


@pytest.mark.parametrize(
    ("aligned", "unit", "said"), [("true", "16", "8192"), ("true", "8", ""), ("false", "16", "512")]
)
def test_where_requests_begin_is_told_where_it_differs(aligned: str, unit: str, said: str, tmp_path: Path) -> None:
    flow = {**GENERATED, "Generated_Aligned_Addresses": aligned, "Address_Alignment_Unit": unit}
    notes = " ".join(mqsim.convert(*written(tmp_path, {}, (SYNTHETIC[0], flow))).notes)
    assert ("multiples" in notes) == bool(said)
    assert f"{said} bytes" in notes or not said


@pytest.mark.parametrize(
    ("dynamic", "static", "mode"),
    [("false", "false", "none"), ("true", "false", "dynamic"), ("false", "true", "static"), ("true", "true", "both")],
)
def test_wear_is_levelled_as_the_file_says(dynamic: str, static: str, mode: str, tmp_path: Path) -> None:
    switches = {"Dynamic_Wearleveling_Enabled": dynamic, "Static_Wearleveling_Enabled": static}
    found = mqsim.convert(*written(tmp_path, switches, SYNTHETIC)).sections["ftl"]
    assert found["wear_leveling"] == mode
    assert ("wear_threshold" in found) == (static == "true")


def test_the_lanes_of_the_link_are_its_rate(tmp_path: Path) -> None:
    lanes = {"PCIe_Lane_Bandwidth": "0.100000", "PCIe_Lane_Count": "4"}
    found = mqsim.convert(*written(tmp_path, lanes, SYNTHETIC))
    assert found.sections["host"]["link_mb_per_s"] == 400.0
    assert not any("PCIe" in note for note in found.notes)


@pytest.mark.parametrize(
    ("device", "flow", "text"),
    [
        ({"Address_Mapping": "HYBRID"}, SYNTHETIC, "Address_Mapping is 'HYBRID'; allowed: PAGE_LEVEL"),
        ({"Flash_Channel_Count": "two"}, SYNTHETIC, "Flash_Channel_Count is 'two'; allowed: a number"),
        ({"GC_Block_Selection_Policy": "BEST"}, SYNTHETIC, "GC_Block_Selection_Policy is 'BEST'"),
        ({}, (SYNTHETIC[0], {**GENERATED, "Request_Size_Distribution": "NORMAL"}), "is 'NORMAL'; allowed: FIXED"),
        ({}, (SYNTHETIC[0], {**GENERATED, "Synthetic_Generator_Type": "BANDWIDTH"}), "allowed: QUEUE_DEPTH"),
        ({}, (SYNTHETIC[0], {**GENERATED, "Address_Distribution": "MIXED_STREAMING_RANDOM"}), "allowed: RANDOM_"),
        ({}, (TRACE[0], {**TRACED, "Time_Unit": "MICROSECOND"}), "allowed: NANOSECOND"),
        ({}, (TRACE[0], {**TRACED, "Relay_Count": "3"}), "Relay_Count is '3'; allowed: 1"),
    ],
)
def test_what_no_spec_can_say_is_refused(
    device: dict[str, str], flow: tuple[str, dict[str, str]], text: str, tmp_path: Path
) -> None:
    with pytest.raises(SpecError, match=text):
        mqsim.convert(*written(tmp_path, device, flow))


def test_files_that_are_none_of_mqsims_are_refused(tmp_path: Path) -> None:
    configuration, workload = written(tmp_path, {}, SYNTHETIC)
    with pytest.raises(SpecError, match="has no flow 2; allowed: from 1 to 1"):
        mqsim.convert(configuration, workload, flow=2)
    with pytest.raises(SpecError, match="begins with MQSim_IO_Scenarios; expected Execution_Parameter_Set"):
        mqsim.convert(workload, None)
    for content, text in (
        ("<a", "not XML"),
        ("<!DOCTYPE a><a/>", "document type"),
        ("<Execution_Parameter_Set/>", "lacks"),
    ):
        configuration.write_text(content)
        with pytest.raises(SpecError, match=text):
            mqsim.convert(configuration, None)


def test_page_types_keep_their_times_and_their_order(tmp_path: Path) -> None:
    for technology, order, times in (("MLC", "one-shot", [60.0, 80.0]), ("TLC", "interleaved", [60.0, 75.0, 80.0])):
        device = {
            "Flash_Technology": technology,
            "Page_Read_Latency_CSB": "75000",
            "Page_Program_Latency_CSB": "750000",
        }
        found = mqsim.convert(*written(tmp_path, device, SYNTHETIC)).sections
        assert (found["geometry"]["bits_per_cell"], found["geometry"]["page_types"]) == (len(times), order)
        assert (found["timing"]["t_r_us"], found["timing"]["t_prog_us"]) == (times, 750.0)
    found = mqsim.convert(*written(tmp_path, {"Flash_Technology": "SLC"}, SYNTHETIC)).sections
    assert found["timing"]["t_r_us"] == 60.0
    assert "page_types" not in found["geometry"]


def test_dies_of_a_chip_become_planes_that_work_one_at_a_time(tmp_path: Path) -> None:
    for dies, planes, mode, said in ((1, 2, "queue", 0), (2, 1, "off", 1), (2, 2, "queue", 2), (1, 1, "off", 0)):
        device = {"Die_No_Per_Chip": str(dies), "Plane_No_Per_Die": str(planes)}
        found = mqsim.convert(*written(tmp_path, device, SYNTHETIC))
        geometry, timing = found.sections["geometry"], found.sections["timing"]
        assert (geometry["dies_per_chip"], geometry["planes_per_die"]) == (1, dies * planes)
        assert timing["multi_plane"] == mode
        assert sum("of a chip" in note or "planes of a chip" in note for note in found.notes) == said


def test_a_cache_is_a_buffer_of_what_it_has_on_its_way_to_flash(tmp_path: Path) -> None:
    small = mqsim.convert(*written(tmp_path, {"Data_Cache_Capacity": "8192"}, SYNTHETIC))
    large = mqsim.convert(*written(tmp_path, {"Data_Cache_Capacity": "67108864"}, SYNTHETIC))
    sizes = [found.sections["host"]["write_buffer_kib"] for found in (small, large)]
    assert sizes == [8, 16]
    assert ["MQSim's cache" in " ".join(found.notes) for found in (small, large)] == [False, True]


def test_what_a_device_that_starts_empty_keeps_free_is_its_threshold(tmp_path: Path) -> None:
    found = mqsim.convert(*written(tmp_path, {"Enabled_Preconditioning": "false"}, SYNTHETIC))
    assert (found.sections["initial"], found.sections["workload"]["footprint"]) == ({"fill": 0.0}, 0.5)
    # The threshold is never below ten blocks.
    assert round(found.sections["ftl"]["gc_free_threshold"] * 64) == 11


def test_free_blocks_of_preconditioned_planes_are_those_that_were_measured_in_mqsim() -> None:
    # Free at a look, the map's and the new open block, and victims in work, on average, of an instrumented MQSim.
    plane = mqsim_preconditioning.Plane(blocks=256, pages=128, threshold=0.12, stored=0.81, choices=30)
    for changed, measured in (
        ({}, 15.4),
        ({"choices": 8}, 16.4),
        ({"stored": 0.72}, 19.5),
        ({"blocks": 512, "pages": 256, "threshold": 0.06}, 20.6),
    ):
        kept = mqsim_preconditioning.free_blocks(replace(plane, **changed), preconditioned=True, uniform=True)
        assert abs(kept - measured) < 0.6, (changed, kept)
