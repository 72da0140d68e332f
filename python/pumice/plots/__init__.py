"""Every figure is drawn here, in one style (`style`), as bars (`bars`) or lines (`lines`)."""

from pumice.plots.bars import Bars, grouped_bars, stacked_bars, stacked_panels
from pumice.plots.lines import Curve, Scale, lines
from pumice.plots.style import COLOURS, Frame

__all__ = ["COLOURS", "Bars", "Curve", "Frame", "Scale", "grouped_bars", "lines", "stacked_bars", "stacked_panels"]
