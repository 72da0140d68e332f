"""The experiment of the 2006 superblock FTL: worked examples, and figures from made-up runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from made_up import Make, drawer, drawn, outcomes
from pumice_papers.experiment import read_experiment
from pumice_papers.figures import Findings
from pumice_papers.scoreboard import verdict
from pumice_papers.superblock.figure_13 import size_rule
from pumice_papers.superblock.ftls import FTLS, KEEP
from pumice_papers.superblock.mixtures import BY_SIZE, BY_U_BLOCKS, STUDY

#: Figures over runs.
OVER_RUNS = ("9", "10", "11", "12", "13", "14")

#: Figures of the full mode over one key, and how many values they sweep.
CHOICES = {"fragmentation": 6, "flush": 7, "seeds": 5}

#: Mixtures of `pc`.
MIXTURES = 10

#: Made-up overheads in units of FAST's.
WEIGHT = {"log-block": 2.0, "fast": 1.0, "copy": 0.6, "keep": 0.4}


def made_up(_study: str, varied: dict[str, Any]) -> dict[str, Any]:
    """A document with the fields that the figures read."""
    name = varied["ftl.kind"]
    name = varied["ftl.superblock.valid_blocks"] if name == "superblock-2006" else name
    weight = WEIGHT[name] * 1024 / varied.get("ftl.u_blocks", 1024)
    weight *= {1: 2.0, 2: 1.2, 4: 1.0}.get(varied.get("ftl.superblock.logical"), 0.95)
    misses = 700 - 100 * [16, 32, 64, 128, 256, 512, 1024].index(varied.get("ftl.map_cache_entries", 16))
    full = {"log-block": 60, "fast": 70, "copy": 80, "keep": 90}[name]
    erases = {merge: {"block": 100 * weight} for merge in ("full", "partial", "dead")}
    gc = {
        "time_us": {"map": 2e6 * weight, "copy": 7e7 * weight, "erase": 2.8e7 * weight},
        "copied_pages": round(1e6 * weight),
        "victim_fill": [100 - full, *[0] * 9, full],
        "erases_by_merge": {**erases, "switch": {"block": 100 / weight}},
        "map": {"hits": 10_000 - misses, "misses": misses},
    }
    return {"gc": gc}


def drawing(directory: Path, make: Make) -> Callable[[str], Findings]:
    """Draws figures from all runs that the experiment plans, made up."""
    return drawer("superblock", "quick", outcomes("superblock", "quick", OVER_RUNS, make), directory)


def drawing_in_full(directory: Path, make: Make) -> Callable[[str], Findings]:
    """The same for the figures of the full mode."""
    return drawer("superblock", "full", outcomes("superblock", "full", [*CHOICES, STUDY], make), directory)


def test_worked_examples_are_the_papers(tmp_path: Path) -> None:
    expected = {row.id: row for row in read_experiment("superblock", "quick").expected}
    draw = drawer("superblock", "quick", [], tmp_path)
    for figure in ("4", "6"):
        for row, found in draw(figure).items():
            assert verdict(expected[row], found) == "reproduced", row
        drawn(tmp_path, f"fig{figure}")


def test_every_row_is_found_in_planned_runs(tmp_path: Path) -> None:
    draw = drawing(tmp_path, made_up)
    findings = {row: found for figure in OVER_RUNS for row, found in draw(figure).items()}
    assert all(found.values is not None for found in findings.values())
    assert findings["fig9_overhead"].values == [pytest.approx(0.6), pytest.approx(0.6)]
    assert "with keep: pic 0.400" in findings["fig9_overhead"].note
    assert findings["fig9_map_share"].values == [pytest.approx(0.02), pytest.approx(0.02)]
    assert findings["fig10_full_victims"].values == [pytest.approx(0.6), pytest.approx(0.7), pytest.approx(0.8)]
    assert findings["fig10_full_victims"].holds
    assert findings["fig11_switch_erases"].values == [pytest.approx(1 / 0.6)]
    assert findings["fig12_u_blocks"].values == [pytest.approx(0.6)] * 8
    assert findings["fig12_u_blocks"].holds
    assert findings["fig14_hit_ratio"].values == [pytest.approx(0.93), pytest.approx(0.06)]
    assert len(drawn(tmp_path, "fig9")) == 1 + 6 * len(FTLS)
    assert drawn(tmp_path, "fig9-copies")[-1][0] == KEEP
    for name, rows in (("fig10", 11), ("fig11", 4), ("fig12", 8), ("fig13", 8), ("fig14", 7)):
        assert len(drawn(tmp_path, name)) == 1 + rows, name


def test_failed_runs_leave_rows_without_values(tmp_path: Path) -> None:
    def make(study: str, varied: dict[str, Any]) -> dict[str, Any] | None:
        return None if varied["ftl.kind"] == "superblock-2006" else made_up(study, varied)

    draw = drawing(tmp_path, make)
    for figure in OVER_RUNS:
        assert all(found.values is None for found in draw(figure).values())


@pytest.mark.parametrize(
    ("seconds", "holds"),
    [
        ([10.0, 8.0, 6.0, 5.0, 5.5], True),
        ([10.0, 8.0, 8.0, 5.0, 5.5], False),  # does not fall throughout
        ([5.0, 8.0, 9.0, 9.0, 9.0], False),  # least at size 1
        ([10.0, 9.0, 8.0, 6.0, 5.0], False),  # gains more beyond size 4 than before
        ([10.0, 6.0, 7.0, 8.0, 9.0], True),
    ],
)
def test_the_rule_of_figure_13(seconds: list[float], holds: bool) -> None:
    assert size_rule(dict(zip([1, 2, 4, 8, 16], seconds, strict=True))) is holds


def test_rising_overhead_breaks_the_rule_of_figure_12(tmp_path: Path) -> None:
    def make(study: str, varied: dict[str, Any]) -> dict[str, Any]:
        document = made_up(study, varied)
        if study == "u-blocks" and varied["ftl.kind"] == "superblock-2006" and varied["ftl.u_blocks"] == 2048:
            document["gc"]["time_us"]["copy"] *= 10
        return document

    assert not drawing(tmp_path, make)("12")["fig12_u_blocks"].holds


def test_free_choices_are_drawn_in_full_mode(tmp_path: Path) -> None:
    draw = drawing_in_full(tmp_path, made_up)
    for name, values in CHOICES.items():
        assert draw(name) == {}
        rows = drawn(tmp_path, name)
        assert len([column for column in rows[0][1:] if ":" not in column]) == values
        pic = dict(zip(rows[0], rows[1], strict=True))
        assert pic.pop("workload") == "pic"
        assert set(pic.values()) == {"0.6"}, "the superblock FTL over FAST"
        drawn(tmp_path, f"{name}-keep")


def by_mixture(directory: Path) -> list[dict[str, str]]:
    """The rows of the figure of mixtures, by column."""
    header, *rows = drawn(directory, STUDY, STUDY, BY_U_BLOCKS, BY_SIZE)
    return [dict(zip(header, row, strict=True)) for row in rows]


def test_each_mixture_is_one_row_with_its_own_figures(tmp_path: Path) -> None:
    def make(study: str, varied: dict[str, Any]) -> dict[str, Any]:
        document = made_up(study, varied)
        if study == BY_SIZE and varied["workload.fat_update_kib"] == 4 and varied["ftl.superblock.logical"] == 1:
            document["gc"]["time_us"]["copy"] /= 100
        return document

    assert drawing_in_full(tmp_path, make)(STUDY) == {}
    found = by_mixture(tmp_path)
    assert len(found) == MIXTURES
    first = (found[0]["updates"], found[0]["longest update, KiB"])
    assert first == ("0.09", "64"), "that of pc itself comes first"
    assert {row["overhead, superblock / FAST"] for row in found} == {"0.6"}
    assert {row["16 U-blocks, superblock / FAST"] for row in found} == {"0.6"}
    assert all(row["rule of figure 13 holds"] == str(row["longest update, KiB"] != "4") for row in found)


def test_a_failed_run_leaves_a_gap_in_its_mixture(tmp_path: Path) -> None:
    def make(study: str, varied: dict[str, Any]) -> dict[str, Any] | None:
        return None if varied.get("workload.fat_update_kib") == 16 else made_up(study, varied)

    drawing_in_full(tmp_path, make)(STUDY)
    for row in by_mixture(tmp_path):
        assert (row["rule of figure 13 holds"] == "") == (row["longest update, KiB"] == "16")
