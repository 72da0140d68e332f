"""What cuts cost in erases, sub-blocks and M-Merge: figures from made-up runs, number by number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from made_up import Make, drawer, drawn, outcomes
from pumice_papers.studies.power.safety import ByCuts, gain_left, ratio_by_cuts, written_between_cuts

#: The first three cells of a row: the device, cuts of its runs, and user capacities written between two of them.
HEAD = 3


def made_up(latency_of: dict[str, float]) -> Make:
    """Documents in which a device takes a thousandth longer for each cut. `latency_of` says how long without cuts, by
    part of what its run varies."""

    def make(study: str, varied: dict[str, Any]) -> dict[str, Any]:
        words = " ".join([study, *map(str, varied.values())])
        latency = next(value for name, value in latency_of.items() if name in words)
        latency *= 1.0 + varied["power.cuts"] / 1000.0
        return {
            "wear": {"mean_erase_latency_us": latency},
            "host": {"write": {"latency_us": {"mean": latency}}},
            "write_amplification": latency / 100.0,
            "flash": {"programs": {"host": 500}},
            "device": {"user_bytes": 800.0, "raw_bytes": 1000.0, "pages": 100.0},
            "power": {"cuts": varied["power.cuts"], "recovery_us": {"mean": 7.0}},
        }

    return make


def table(
    tmp_path: Path, figure: str, latency_of: dict[str, float], *pictures: str
) -> dict[tuple[str, int], list[float]]:
    """The table of a figure drawn from made-up runs, by device and cuts."""
    made = outcomes("power", "quick", [figure], made_up(latency_of))
    assert drawer("power", "quick", made, tmp_path)(figure) == {}
    rows = drawn(tmp_path, figure, *pictures)[1:]
    return {(row[0], int(row[1])): [float(cell or "nan") for cell in row[HEAD:]] for row in rows}


def test_schemes_are_shown_by_what_they_remember(tmp_path: Path) -> None:
    times = {"i-ispe False": 9000.0, "i-ispe True": 6000.0, "aero False": 5000.0, "aero True": 4000.0, "ispe": 10000.0}
    found = table(tmp_path, "erase-memory", times)
    assert found["i-ispe, memory in spare areas", 64][0] == 6384.0
    assert found["aero, memory lost", 0] == [5000.0] * 3 + [1.0] * 3
    assert found["aero, memory in spare areas", 16][:HEAD] == [4064.0] * 3
    assert len(found) == 5 * 4


def test_sub_blocks_that_disturb_each_other_are_runs_of_their_own(tmp_path: Path) -> None:
    latencies = {"sub-blocks-disturbed": 300.0, "sub-blocks sub-block": 200.0, "sub-blocks block": 400.0}
    found = table(tmp_path, "sub-blocks", latencies, "sub-blocks", "sub-blocks-latency")
    first = {name: row[0] for (name, cuts), row in found.items() if cuts == 0}
    assert first == {"blocks": 4.0, "sub-blocks": 2.0, "sub-blocks that disturb each other": 3.0}
    assert found["blocks", 4] == pytest.approx([4.016] * 3 + [401.6] * 3 + [7.0] * 3)


def test_m_merge_is_set_beside_full_merges_of_its_own_layer(tmp_path: Path) -> None:
    latencies = {
        "pen-1tb m-merge": 100.0,
        "pen-1tb block-erase": 400.0,
        "pen-superblock-4-5 m-merge": 300.0,
        "pen-superblock-4-5 block-erase": 600.0,
    }
    found = table(tmp_path, "m-merge", latencies, "m-merge", "m-merge-amplification")
    assert {name: row[0] for (name, _), row in found.items()} == {"nftl": 0.25, "superblock 4:5": 0.5}


def test_what_is_left_of_a_gain_is_counted_for_each_seed() -> None:
    over: ByCuts = {0: {1: 5.0, 2: 9.0, 3: 12.0}, 4: {1: 7.5, 2: None, 3: 5.0}, 9: {1: 11.0, 2: 10.0, 3: 5.0}}
    under: ByCuts = {cuts: dict.fromkeys((1, 2, 3), 10.0) for cuts in over}
    left = gain_left(ratio_by_cuts(over, under))
    assert left[0] == {1: 1.0, 2: 1.0, 3: None}
    assert left[4] == {1: 0.5, 2: None, 3: None}
    assert left[9] == {1: pytest.approx(-0.2), 2: 0.0, 3: None}


def test_what_is_written_between_cuts_is_counted_in_user_capacities() -> None:
    device = {"user_bytes": 800.0, "raw_bytes": 1000.0, "pages": 100.0}
    document = {"flash": {"programs": {"host": 320}}, "device": device, "power": {"cuts": 3}}
    assert written_between_cuts(document) == 1.0
    assert written_between_cuts({**document, "power": {"cuts": 0}}) == 4.0
    assert written_between_cuts(None) is None
