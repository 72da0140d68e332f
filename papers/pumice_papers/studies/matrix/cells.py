"""The matrix's cells: units of erase and write orders × erase schemes × suspension × workloads.

A combination that is impossible is a cell with the reason; no cell is missing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pumice.errors import SpecError
from pumice.runs.jobs import Job
from pumice.runs.spec import Spec
from pumice.runs.values import toml_text
from pumice.traces.repeated import Need, Source, most_written, names, repetitions, write_repeated
from pumice_papers.experiment import Experiment

SCHEME, SUSPENSION, ORDER = "erase.scheme", "erase.suspension", "geometry.write_sequence"


@dataclass(frozen=True)
class Device:
    """A row of the matrix: what is erased and in which order blocks are written."""

    unit: str
    order: str

    def __str__(self) -> str:
        return f"{self.unit}, {self.order.upper()}"


@dataclass(frozen=True)
class Erase:
    """A column of the matrix: how is erased, and where a read may interrupt it."""

    scheme: str
    suspension: str

    def __str__(self) -> str:
        return f"{self.scheme}, {'no suspension' if self.suspension == 'off' else f'suspended by {self.suspension}'}"


@dataclass(frozen=True)
class Load:
    """A workload: its name, the keys that it sets, and a note for readers. `why_not` says why it cannot run."""

    name: str
    recorded: bool
    sets: Mapping[str, Any]
    note: str = ""
    why_not: str | None = None


@dataclass(frozen=True)
class Cell:
    """A workload on a device: a run (`job`), or why there is none (`why_not`)."""

    load: Load
    device: Device
    erase: Erase
    job: Job | None = None
    why_not: str = ""


@dataclass(frozen=True)
class Plan:
    """Every cell, the baseline's device and columns first."""

    loads: list[Load]
    devices: list[Device]
    erases: list[Erase]
    cells: list[Cell]

    @property
    def jobs(self) -> list[Job]:
        """The runs of all cells that can run, in the cells' order."""
        return [cell.job for cell in self.cells if cell.job is not None]


@dataclass(frozen=True)
class Place:
    """Where recorded traces come from (None: none are at hand), and where their repetitions are written."""

    source: Path | None
    copies: Path


def read_plan(experiment: Experiment, place: Place) -> Plan:
    """The plan of the experiment in its mode.

    Raises:
        SpecError: a file is missing or not as described, or the folder of traces does not exist.
        OSError: the repeated traces cannot be written.
    """
    content = experiment.content
    try:
        base = Spec.from_file(experiment.directory / content["base"])
        loads = [*_twins(content, experiment.mode), *_recorded(content, experiment.mode, base, place)]
        return _plan(base, content, loads)
    except KeyError as error:
        raise SpecError(f"{experiment.directory / 'experiment.toml'}: {error} is missing") from None


def _plan(base: Spec, content: Mapping[str, Any], loads: list[Load]) -> Plan:
    erases = [Erase(scheme, how) for scheme in content["schemes"] for how in content["suspensions"]]
    devices: dict[Device, tuple[dict[str, Any], str]] = {}
    for unit in content["units"]:
        for order in [*unit["orders"], *unit.get("not_under", {})]:
            devices[Device(unit["name"], order)] = (unit["set"], unit.get("not_under", {}).get(order, ""))
    cells = []
    for load in loads:
        for device, (sets, why_not) in devices.items():
            for erase in erases:
                reason = why_not or load.why_not or ""
                job = None if reason else _job(base, sets, Cell(load, device, erase))
                cells.append(Cell(load, device, erase, job, reason))
    return Plan(loads, list(devices), erases, cells)


def _job(base: Spec, sets: Mapping[str, Any], cell: Cell) -> Job:
    varied = {ORDER: cell.device.order, SCHEME: cell.erase.scheme, SUSPENSION: cell.erase.suspension}
    settings = {**sets, **varied, **cell.load.sets}
    spec = base.with_sets([(key, toml_text(key, value)) for key, value in settings.items()])
    return Job(f"{cell.load.name}, {cell.device}, {cell.erase}", spec, {"load": cell.load.name, **varied})


def _twins(content: Mapping[str, Any], mode: str) -> list[Load]:
    scale = float(content["modes"][mode]["scale"])
    share = content["warm_up"]["share"]
    return [
        Load(
            twin["kind"].removeprefix("twin:"),
            recorded=False,
            sets={
                "workload.kind": twin["kind"],
                "run.warmup_requests": int(share * scale * twin["requests"]),
                "scale": scale,
            },
            note=f"twin, a week at scale {scale:g}",
        )
        for twin in content["twins"]
    ]


def _recorded(content: Mapping[str, Any], mode: str, base: Spec, place: Place) -> list[Load]:
    """The recorded traces; where there are too few, loads that say so in their place."""
    count = int(content["traces"]["count"])
    sources = most_written(place.source, count) if place.source is not None else []
    device = {**content["modes"][mode]["device"], **content["traces"]["set"]}
    need = Need(int(content["traces"]["reads"]), _user_bytes(base, device))
    share = content["warm_up"]["share"]
    loads = [_repeated(source, name, need, place.copies) for source, name in zip(sources, names(sources), strict=True)]
    found = [
        Load(name, True, {**device, **sets, "run.warmup_requests": int(share * requests)}, note)
        for name, sets, requests, note in loads
    ]
    lacking = "--traces DIR names a folder of traces" if place.source is None else f"{place.source} has no more"
    return [*found, *_absent(range(len(found) + 1, count + 1), f"no trace: {lacking}")]


def _repeated(source: Source, name: str, need: Need, copies: Path) -> tuple[str, dict[str, Any], int, str]:
    times = repetitions(source, need)
    path = copies / f"{name}.csv.zst"
    requests = write_repeated(source, times, path)
    sets = {"workload.kind": "trace", "workload.path": str(path)}
    return name, sets, requests, f"recorded, replayed {times} times over, {requests:,} requests"


def _absent(places: Sequence[int], why_not: str) -> list[Load]:
    return [Load(f"trace {place}", True, {}, "recorded", why_not) for place in places]


def _user_bytes(base: Spec, device: Mapping[str, Any]) -> int:
    """Bytes that the host can write to a device, but for rounding."""
    config = base.with_sets([(key, toml_text(key, value)) for key, value in device.items()]).resolve()["config"]
    geometry = config["geometry"]
    sizes = ("channels", "chips_per_channel", "dies_per_chip", "planes_per_die", "blocks_per_plane", "pages_per_block")
    total = math.prod(int(geometry[size]) for size in (*sizes, "page_bytes"))
    return int(total * (1 - config["ftl"]["over_provisioning"]))
