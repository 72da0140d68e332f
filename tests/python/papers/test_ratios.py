"""Ratios over workloads: means, words and drawings."""

from __future__ import annotations

from pathlib import Path

import pytest

from made_up import drawn
from pumice.analysis import plots
from pumice.papers.ratios import Sweep, describe, draw_sweep, ratios


def test_a_sweep_with_gaps_is_drawn(tmp_path: Path) -> None:
    found = {1.0: ratios({"a": 1.0, "b": None}, {"a": 2.0, "b": 1.0}), 2.0: ratios({"a": 1.0}, {"a": 4.0})}
    draw_sweep(
        plots.Frame("t", "y", (9.0, "far"), x_label="x"), Sweep(found, name=("a", "b"), log_x=True), tmp_path / "s"
    )
    assert drawn(tmp_path, "s")[:2] == [["workload", "1", "2"], ["a", "0.5", "0.25"]]


def test_workloads_without_a_ratio_are_left_out_and_named() -> None:
    found = ratios(
        {"a": 1.0, "b": 0.0, "c": 1.0, "d": None, "e": 4.0}, {"a": 2.0, "b": 0.0, "c": 0.0, "d": 1.0, "e": 4.0}
    )
    assert found.means().arithmetic == 0.75
    assert found.means().geometric == pytest.approx(0.5**0.5)
    assert found.means().of_means == pytest.approx(5 / 6)
    text = describe(found, ["a"])
    assert "left out at 0/0: b" in text
    assert "left out at x/0: c" in text
    assert "failed: d" in text
    assert "high-write set 0.500" in text
