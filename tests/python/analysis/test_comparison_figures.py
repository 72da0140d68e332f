"""Figures of comparisons."""

from __future__ import annotations

from pathlib import Path

import pytest

import pumice
from pumice.analysis.comparison_figures import BREAKDOWN, PART_COLOURS, draw
from pumice.analysis.plots.bars import _DARK, Bars, grouped_bars
from pumice.analysis.plots.style import COLOURS, GREY, Frame
from pumice.results.comparison import Variant


def test_every_part_of_the_write_latency_is_drawn_in_a_colour_of_its_own(tmp_path: Path) -> None:
    spec = pumice.preset("tiny").with_(run={"max_requests": 50}, host={"overhead_us": 5.0})
    found = pumice.run(spec).to_dict()
    assert set(BREAKDOWN) == set(found["write_latency_breakdown_us"])
    assert set(PART_COLOURS) == set(BREAKDOWN)
    assert len(set(PART_COLOURS.values())) == len(BREAKDOWN)
    found["write_latency_breakdown_us"] = dict.fromkeys(BREAKDOWN, 7.0)
    draw([Variant("all", [found])], tmp_path)
    svg = (tmp_path / "write-latency-breakdown.svg").read_text()
    assert [name for name in BREAKDOWN.values() if name not in svg] == []


@pytest.mark.parametrize("many", [1, 3, 9, 15])
@pytest.mark.filterwarnings("error")  # matplotlib only warns where names leave no room for the data
def test_every_variant_is_named_in_the_figure_of_ratios(tmp_path: Path, many: int) -> None:
    found = pumice.run(pumice.preset("tiny").with_(run={"max_requests": 50})).to_dict()
    labels = [f"max_splits = {place}, over_provisioning = 0.{place}" for place in range(many + 1)]
    if many <= 3:
        labels = [f"max_splits = {place}" for place in range(many + 1)]
    draw([Variant(label, [found]) for label in labels], tmp_path)
    svg = " ".join((tmp_path / "ratios.svg").read_text().split())
    for label in labels:
        assert all(part in svg for part in label.split(", ")), label
    assert "write amplification" in svg


def test_white_letters_stand_on_the_darkest_colours() -> None:
    def contrast_with_white(colour: str) -> float:
        channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in channels]
        return 1.05 / (0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05)

    others = {*COLOURS, GREY} - {*_DARK}
    assert others
    assert min(map(contrast_with_white, _DARK)) > max(map(contrast_with_white, others))
    assert min(map(contrast_with_white, _DARK)) > 3.0, "WCAG 2.2, 1.4.3, large letters"


def test_every_range_with_a_length_is_a_line_on_its_bar(tmp_path: Path) -> None:
    ranges = {"x": [(0.5, 1.5), None, (2.5, 3.5)], "y": [(1.0, 3.0), (2.0, 4.0), (4.0, 4.0)]}
    bars = Bars(["a", "b", "c"], {"x": [1.0, 2.0, 3.0], "y": [2.0, 3.0, 4.0]}, ranges=ranges)
    grouped_bars(Frame("title", "value"), bars, tmp_path / "bars")
    assert (tmp_path / "bars.svg").read_text().count('id="LineCollection_') == 4
