"""Figures of comparisons."""

from __future__ import annotations

from pathlib import Path

import pumice
from pumice.analysis.comparison_figures import BREAKDOWN, PART_COLOURS, draw
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
