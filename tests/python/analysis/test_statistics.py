"""Statistics of repeated runs."""

from __future__ import annotations

import pytest

from pumice.analysis.statistics import ratio_means, summary, t95, within_noise
from pumice.results.comparison import Variant, compare


def test_a_summary_of_known_values() -> None:
    found = summary([1.0, 2.0, 3.0])
    assert (found.count, found.mean, found.deviation) == (3, 2.0, 1.0)
    assert found.half_width == pytest.approx(4.303 / 3**0.5)
    assert summary([5.0]).half_width is None


def test_quantiles_fall_towards_the_normal_one() -> None:
    quantiles = [t95(freedom) for freedom in range(1, 40)]
    assert quantiles == sorted(quantiles, reverse=True)
    assert t95(1000) == 1.960


def test_noise_is_judged_by_pairs() -> None:
    assert within_noise([10.0, 20.0, 30.0], [11.0, 21.1, 30.9]) is False
    assert within_noise([10.0, 20.0, 30.0], [11.0, 19.0, 30.5]) is True
    assert within_noise([10.0], [20.0]) is None


def test_means_of_ratios() -> None:
    found = ratio_means([1.0, 4.0], [2.0, 2.0])
    assert found.arithmetic == 1.25
    assert found.geometric == pytest.approx(1.0)
    assert found.of_means == pytest.approx(0.8)
    assert ratio_means([], []).arithmetic is None
    assert ratio_means([0.0], [1.0]).arithmetic is None


def test_ratios_are_to_the_first_variant() -> None:
    documents = [{"write_amplification": value} for value in (4.0, 2.0)]
    ((metric, cells),) = compare([Variant("a", documents[:1]), Variant("b", documents[1:])])
    assert metric.path == "write_amplification"
    assert cells[0].ratio is None
    assert cells[1].ratio == 0.5
    assert cells[1].noise is None
