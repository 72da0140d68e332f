"""Ratios over workloads and seeds: means, words and drawings."""

from __future__ import annotations

from pathlib import Path

import pytest

from made_up import drawn
from pumice.analysis import plots
from pumice_papers.over_seeds import Spread, judged
from pumice_papers.ratios import SeedRatios, Sweep, describe, draw_sweep, means_finding, ratios


def test_a_sweep_with_gaps_is_drawn(tmp_path: Path) -> None:
    first = SeedRatios([ratios({"a": 1.0, "b": None}, {"a": 2.0, "b": 1.0})])
    found = {1.0: first, 2.0: SeedRatios([ratios({"a": 1.0}, {"a": 4.0})])}
    draw_sweep(
        plots.Frame("t", "y", (9.0, "far"), x_label="x"), Sweep(found, name=("a", "b"), log_x=True), tmp_path / "s"
    )
    assert drawn(tmp_path, "s")[:2] == [
        ["workload", "1", "1: least", "1: largest", "2", "2: least", "2: largest"],
        ["a", "0.5", "0.5", "0.5", "0.25", "0.25", "0.25"],
    ]


def test_workloads_without_a_ratio_are_left_out_and_named() -> None:
    found = ratios(
        {"a": 1.0, "b": 0.0, "c": 1.0, "d": None, "e": 4.0}, {"a": 2.0, "b": 0.0, "c": 0.0, "d": 1.0, "e": 4.0}
    )
    assert found.means().arithmetic == 0.75
    assert found.means().geometric == pytest.approx(0.5**0.5)
    assert found.means().of_means == pytest.approx(5 / 6)
    text = describe(SeedRatios([found]), ["a"])
    assert "left out at 0/0: b" in text
    assert "left out at x/0: c" in text
    assert "failed: d" in text
    assert "high-write set 0.500" in text


def two_seeds(**by_workload: tuple[float, float]) -> SeedRatios:
    """Ratios over 1 with two seeds."""
    return SeedRatios(
        [ratios({n: v[seed] for n, v in by_workload.items()}, dict.fromkeys(by_workload, 1.0)) for seed in (0, 1)]
    )


def test_numbers_over_seeds_are_means_with_least_and_largest() -> None:
    found = two_seeds(a=(0.2, 0.4), b=(0.6, 1.0))
    assert found.ratio("a") == Spread(pytest.approx(0.3), 0.2, 0.4)
    assert found.mean() == Spread(pytest.approx(0.55), pytest.approx(0.4), pytest.approx(0.7))
    assert found.mean("geometric", ["b"]) == Spread(pytest.approx(0.8), pytest.approx(0.6), pytest.approx(1.0))
    assert describe(found, ["a"]).startswith("arithmetic 0.550 (0.400 … 0.700), geometric")


def test_a_mean_names_the_workloads_on_the_other_side_of_one() -> None:
    assert "above 1: b 1.500" in describe(two_seeds(a=(0.5, 0.5), b=(1.4, 1.6), c=(0.5, 0.5)), [])
    assert "below 1: a 0.500" in describe(two_seeds(a=(0.5, 0.5), b=(1.4, 1.6), c=(1.1, 1.1)), [])
    assert " 1: " not in describe(two_seeds(a=(0.5, 0.5), b=(0.4, 0.6)), [])


def test_a_rule_is_judged_on_the_means_over_seeds() -> None:
    """It holds for the means 2 and 3, though at the second seed it does not."""
    found = judged([[1.0, 4.0], [3.0, 2.0]], lambda values: values[1] > values[0], "n")
    assert (found.values, found.holds, found.spread) == ([2.0, 3.0], True, [(1.0, 3.0), (2.0, 4.0)])
    assert found.note == (
        "n; means over 2 seeds: 2.000 (1.000 … 3.000); 3.000 (2.000 … 4.000); by itself the rule holds at 1 of 2 seeds"
    )
    one = judged([[1.0, 4.0]], lambda values: values[1] > values[0], "n", of_row=1)
    assert (one.values, one.holds, one.spread, one.note) == ([1.0], True, None, "n")
    assert judged([[1.0], [None]], None).values is None
    assert judged([], None).values is None


def test_means_over_fewer_workloads_are_no_value() -> None:
    failed = SeedRatios([*two_seeds(a=(0.5, 0.5)).seeds, ratios({"a": None}, {"a": 1.0})])
    assert means_finding([failed], lambda _values: True, "").values is None
    assert failed.failed == ["a"]
    assert failed.workloads == []
