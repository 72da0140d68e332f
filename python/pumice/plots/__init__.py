"""Every figure is drawn here, in one style (`style`), as bars (`bars`), lines (`lines`) or `panels`."""

from pumice.plots.bars import Bars, grouped_bars, stacked_bars, stacked_panels
from pumice.plots.lines import Curve, Scale, lines
from pumice.plots.panels import panels, wear_png
from pumice.plots.style import COLOURS, GREY, Frame

__all__ = [
    "COLOURS",
    "GREY",
    "Bars",
    "Curve",
    "Frame",
    "Scale",
    "grouped_bars",
    "lines",
    "panels",
    "stacked_bars",
    "stacked_panels",
    "wear_png",
]
