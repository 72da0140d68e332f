"""The house style of figures."""

from __future__ import annotations

import re
from pathlib import Path

from pumice.analysis import plots
from pumice.analysis.plots.style import COLOURS, DARK


def test_a_line_figure_has_a_dark_colour_for_every_colour_that_it_draws_with(tmp_path: Path) -> None:
    curves = [plots.Curve(f"curve {nth}", [0, 1], [nth, nth + 1], colour=nth) for nth in range(len(COLOURS))]
    plots.lines(plots.Frame("a figure", "a quantity"), curves, tmp_path / "lines")
    svg = (tmp_path / "lines.svg").read_text("utf-8")
    drawn = re.sub("<style.*?</style>", "", svg, count=1, flags=re.DOTALL)
    sheet = svg.partition("@media")[2]
    rules = set(re.findall(r'\[style\*="((?:fill|stroke): #[0-9a-f]{6})"\]', sheet))
    used = set(re.findall(r"(?:fill|stroke): #[0-9a-f]{6}", drawn))
    assert {f"stroke: {colour.lower()}" for colour in COLOURS} <= used <= rules
    assert len(set(DARK.values())) == len(DARK)


def test_bars_keep_their_colours(tmp_path: Path) -> None:
    """Letters stand on bars, so a dark page does not change them."""
    plots.grouped_bars(plots.Frame("a figure", "a quantity"), plots.Bars(["a"], {"one": [1.0]}), tmp_path / "bars")
    assert "prefers-color-scheme" not in (tmp_path / "bars.svg").read_text("utf-8")
