"""Devices made small by `geometry.capacity_gib`: what stays, what is refused, and what moves."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

import pumice
from conftest import Command
from pumice.errors import SpecError

GIB = 1 << 30

#: A page-level device of 2 GiB with 2,048 blocks a plane; short blocks, because their number decides here.
WHOLE: dict[str, dict[str, Any]] = {
    "geometry": {
        "channels": 4, "chips_per_channel": 1, "dies_per_chip": 1, "planes_per_die": 2,
        "blocks_per_plane": 2048, "pages_per_block": 32, "page_bytes": 4096, "program_order": "in-order",
    },
    "timing": {"t_r_us": 58.0, "t_prog_us": 575.0, "t_bers_us": 3500.0, "copyback": False},
    "partial_erase": {"unit": "none"},
    "ftl": {
        "kind": "page", "over_provisioning": 0.2, "gc_mode": "paced", "gc_free_threshold": 0.03,
        "gc_stop_threshold": 0.06,
    },
    "host": {"read_priority": True},
    "workload": {
        "kind": "uniform", "requests": 100_000, "request_bytes": 4096, "read_fraction": 0.7,
        "arrival": "poisson", "mean_interarrival_us": 800.0,
    },
    "initial": {"fill": 1.0, "age_writes": 2.0},
}  # fmt: skip


def device(**sections: Any) -> pumice.Spec:
    return pumice.Spec().with_(**WHOLE).with_(**sections)


def geometry(spec: pumice.Spec) -> dict[str, Any]:
    found: dict[str, Any] = spec.resolve()["config"]["geometry"]
    return found


def test_a_capacity_takes_blocks_and_leaves_the_rest() -> None:
    whole, small = geometry(device()), geometry(device(geometry={"capacity_gib": 0.3999}))
    assert {key for key in whole if whole[key] != small[key]} == {"blocks_per_plane", "capacity_gib"}
    assert small["blocks_per_plane"] == 512, "a quarter of 1.6 GiB"
    assert geometry(device(geometry={"capacity_gib": 0.3999, **{"blocks_per_plane": 512}})) == small, (
        "again, it is the same"
    )
    bad = geometry(device(geometry={"capacity_gib": 0.3999, "bad_blocks_per_plane": 40}))
    assert 9 <= bad["bad_blocks_per_plane"] <= 10, "bad blocks keep their share"


@pytest.mark.parametrize(("preset", "together"), [("zn540-like", 1), ("zn540", 12)])
def test_zones_keep_their_number_and_whole_programs(preset: str, together: int) -> None:
    whole = geometry(pumice.preset(preset))
    small = geometry(pumice.preset(preset).with_(geometry={"capacity_gib": 64}))
    assert {key for key in whole if whole[key] != small[key]} == {"pages_per_block", "capacity_gib"}
    assert small["pages_per_block"] % together == 0


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (100.0, "geometry.capacity_gib = 100 is more than the device has; allowed: at most 1.599998"),
        (
            0.0001,
            "geometry.capacity_gib = 0.0001 leaves too few blocks in a plane for the translation layer; allowed: 0.0",
        ),
    ],
)
def test_what_no_device_of_the_kind_has_is_refused(asked: float, told: str) -> None:
    with pytest.raises(SpecError) as refused:
        device(geometry={"capacity_gib": asked}).resolve()
    assert told in str(refused.value)


def test_a_capacity_and_a_scale_exclude_each_other(command: Command) -> None:
    done = command("run", "--preset", "client-tlc-240g", "--capacity", "16g", "--scale", "0.5")
    assert done.returncode == 2
    assert "both make the device small" in done.stderr


def test_write_amplification_and_percentiles_stay_at_a_quarter_and_a_sixteenth() -> None:
    """Within 1.5 % and 7 %, and 3 % and 10 %: what a plane keeps open is no share, and tails of one seed scatter."""

    def figures(**sections: Any) -> dict[str, float]:
        found = pumice.run(device(**sections)).document
        host = found["host"]
        ranks = {
            f"{kind} {rank}": host[kind]["latency_us"][rank]
            for kind in ("read", "write")
            for rank in ("mean", "p50", "p99")
        }
        return {"waf": found["write_amplification"], **ranks}

    whole = figures()
    for share, near, noise in ((4, 0.015, 0.07), (16, 0.03, 0.1)):
        small = figures(geometry={"capacity_gib": 1.6 / share - 1e-5})
        assert small["waf"] == pytest.approx(whole["waf"], rel=near), f"1/{share}"
        for name in whole:
            assert small[name] == pytest.approx(whole[name], rel=noise), f"{name} at 1/{share}"


@pytest.mark.parametrize("size", ["16g", "16GiB", "17.179869184GB", "16384m"])
def test_sizes_have_suffixes(command: Command, size: str) -> None:
    sets = ("run.max_requests=1", "run.warmup_requests=0", "initial.age_writes=0")
    done = command("run", "--capacity", size, *(f"--set={setting}" for setting in sets), "--json")
    assert json.loads(done.stdout)["config"]["geometry"]["capacity_gib"] == pytest.approx(16), done.stderr


def test_the_bare_command_runs_a_drive(command: Command) -> None:
    begun = time.perf_counter()
    done = command("run", "--json")
    assert time.perf_counter() - begun < 20, "about a second on a machine that does nothing else"
    found = json.loads(done.stdout)
    assert "this runs --preset client-tlc-240g --capacity 16g" in done.stderr
    assert 4.1 < found["write_amplification"] < 5.0, "4.12 by the closed form without blocks kept open or free"
    units, writes = found["flash"]["units"]["host"], found["host"]["write"]["requests"]
    assert units == pytest.approx(writes, rel=0.01), "the map's unit is what is written"
    assert 100 < found["host"]["read"]["latency_us"]["mean"] < 300
    assert 7 < found["host"]["write"]["latency_us"]["mean"] < 20, "4 KiB on the link: a write is done in RAM"
