"""Lives of devices: the call, the command, and what they refuse."""

from __future__ import annotations

import json

import pytest

import pumice
from conftest import Command

#: A page-level device of 256 blocks that ends within a second.
WEARS = pumice.preset("tiny").with_(
    ftl={"kind": "page", "over_provisioning": 0.25},
    partial_erase={"unit": "none"},
    erase={"rber_requirement": 40},
    workload={"read_fraction": 0.0, "footprint": 1.0},
    run={"timed": False},
)

SETS = [
    f"--set={key}={value}"
    for key, value in {
        "ftl.kind": "page",
        "ftl.over_provisioning": 0.25,
        "partial_erase.unit": "none",
        "erase.rber_requirement": 40,
        "workload.read_fraction": 0.0,
        "workload.footprint": 1.0,
    }.items()
]


def test_a_device_lives_longer_under_a_gentler_scheme() -> None:
    ispe, aero = pumice.life(WEARS, "ispe"), pumice.life(WEARS, "aero-cons")
    assert ispe["end"]["host_bytes"] < aero["end"]["host_bytes"]
    for found in (ispe, aero):
        assert found["simulated_bytes"] < found["end"]["host_bytes"] / 20
        assert found["end"]["retired_blocks"] >= found["blocks"][1] / 2
        assert found["course"][-1] == found["end"]


def test_the_command_shows_each_scheme(command: Command) -> None:
    done = command("life", "--preset", "tiny", *SETS, "--schemes", "ispe,aero-cons", "--json")
    assert list(json.loads(done.stdout)) == ["ispe", "aero-cons"]
    shown = command("life", "--preset", "tiny", *SETS, "--schemes", "ispe").stdout
    assert "ispe" in shown
    assert "written" in shown


def test_what_cannot_end_is_refused_in_one_line() -> None:
    with pytest.raises(pumice.SpecError, match="erase scheme with loops"):
        pumice.life(WEARS)
    with pytest.raises(pumice.SpecError, match="workload writes nothing"):
        pumice.life(WEARS.with_(workload={"read_fraction": 1.0}), "ispe")
    with pytest.raises(pumice.SpecError, match=r'ftl\.kind = "page"'):
        pumice.life(pumice.preset("tiny"), "ispe")
