"""The experiment of SFWS: worked examples, and figures from made-up runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from made_up import Make, drawer, drawn, outcomes
from pumice_papers.experiment import read_experiment
from pumice_papers.figures import Findings
from pumice_papers.scoreboard import verdict
from pumice_papers.sfws.price import DEVICES, RETRIES, SHOWN, retries_a_read

#: Figures over runs.
OVER_RUNS = ("5a", "5b", "5c", "steady", "sub-blocks", "modes", "price")

#: Made-up copies of sub-block first writing in units of layer first's, by workload.
COPIED = {"w10": 0.6, "w20": 0.8, "w30": 0.9, "w40": 1.0}


def made_up(study: str, varied: dict[str, Any]) -> dict[str, Any]:
    """A document with the fields that the figures read: sub-block first everything is a sixteenth a
    collection, and responses are halved where collecting blocks."""
    order = varied.get("geometry.write_sequence", "sfws" if study.endswith("sfws") else "lfws")
    share = COPIED[varied["workload.kind"]] if order == "sfws" and "workload.kind" in varied else 1.0
    erases = 16_000 if order == "sfws" else 1_000
    by_sub_block = study in ("sub-blocks", "price-sub-blocks")
    response = 500.0 if order == "sfws" and varied.get("ftl.gc_mode", "blocking") == "blocking" else 1_000.0
    latency = {"mean": response, "p99": 3 * response, "p99_9": 5 * response}
    retries = varied.get("erase.initial_pec", 0) * (2 if order == "sfws" else 1)
    return {
        "gc": {"copied_pages": 100_000 * share},
        "flash": {
            "erases": {"block": 0 if by_sub_block else erases, "sub_block": erases if by_sub_block else None},
            "reads": {"host": 8_000, "gc": 2_000, "rmw": None, "map": None},
            "read_retries": retries,
        },
        "host": {"read": {"latency_us": latency}, "write": {"latency_us": latency}},
        "write_amplification": 1 + share,
        "wear": {"m_rber": 16.0},
    }


def drawing(directory: Path, make: Make, mode: str = "full") -> Callable[[str], Findings]:
    """Draws figures from all runs that the experiment plans, made up."""
    return drawer("sfws", mode, outcomes("sfws", mode, OVER_RUNS, make), directory)


def test_worked_examples_are_the_papers(tmp_path: Path) -> None:
    expected = {row.id: row for row in read_experiment("sfws", "quick").expected}
    draw = drawer("sfws", "quick", [], tmp_path)
    for figure in ("2", "3"):
        for row, found in draw(figure).items():
            assert verdict(expected[row], found) == "reproduced", row
    assert len(drawn(tmp_path, "fig2")) == 1 + 16
    assert len(drawn(tmp_path, "fig3", "fig3c", "fig3d")) == 1 + 2 * 1024


def test_every_row_is_found_in_planned_runs(tmp_path: Path) -> None:
    draw = drawing(tmp_path, made_up)
    findings = {row: found for figure in OVER_RUNS for row, found in draw(figure).items()}
    assert findings["fig5a_copies_per_gc"].values == [pytest.approx(0.825 / 16)]
    assert findings["fig5b_total_copied"].values == [pytest.approx(0.825)]
    assert findings["fig5c_response"].values == [pytest.approx(0.5)]
    assert "w10 0.600" in findings["fig5b_total_copied"].note
    for name in ("fig5a", "fig5b", "fig5c"):
        assert len(drawn(tmp_path, name)) == 1 + 4 + 3, name


def test_responses_are_judged_at_full_scale_only(tmp_path: Path) -> None:
    draw = drawing(tmp_path, made_up, "quick")
    assert draw("5c") == {}
    assert set(draw("5a")) == {"fig5a_copies_per_gc"}


def test_the_figures_beside_the_papers_are_drawn(tmp_path: Path) -> None:
    draw = drawing(tmp_path, made_up)
    assert all(draw(name) == {} for name in ("steady", "sub-blocks", "modes", "price"))
    steady = drawn(tmp_path, "steady")
    assert [row[0] for row in steady[1:]] == ["0.07", "0.1", "0.12", "0.2"]
    assert all(float(row[1]) == pytest.approx(0.825) for row in steady[1:])
    assert len(drawn(tmp_path, "sub-blocks")) == 1 + 4 * 4
    modes = drawn(tmp_path, "modes")
    means = next(row for row in modes if row[0] == "arithmetic mean")
    assert [float(cell) for cell in means[3::5]] == [0.5, 1.0]


def test_the_price_is_told_by_device_and_age(tmp_path: Path) -> None:
    drawing(tmp_path, made_up)("price")
    rows = drawn(tmp_path, "price", *(f"price-{end}" for end in ("mean", "p99", "retries", "gain")))
    assert rows[0] == ["device", "P/E cycles", RETRIES, *SHOWN]
    assert len(rows) == 1 + len(DEVICES) * 6
    by_device = {(row[0], row[1]): float(row[2]) for row in rows[1:]}
    assert by_device["SFWS, sub-blocks", "5000"] == 1.0  # 10,000 retries of 10,000 pages, copies included
    assert by_device["LFWS, blocks", "5000"] == 0.5
    assert retries_a_read(None) is None


def test_a_failed_run_leaves_rows_without_values(tmp_path: Path) -> None:
    def make(study: str, varied: dict[str, Any]) -> dict[str, Any] | None:
        return None if varied.get("workload.kind") == "w20" or study.startswith("price") else made_up(study, varied)

    draw = drawing(tmp_path, make)
    findings = [found for figure in OVER_RUNS for found in draw(figure).values()]
    assert len(findings) == 3
    assert all(found.values is None and "failed: w20" in found.note for found in findings)
