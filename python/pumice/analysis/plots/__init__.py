"""All drawing, in one style (`style`): bars (`bars`), lines (`lines`), figures of several axes (`panels`)
and fields of ratios (`heat`)."""

from pumice.analysis.plots.bars import Bars, grouped_bars, stacked_bars, stacked_panels
from pumice.analysis.plots.heat import Field, Grid, fields
from pumice.analysis.plots.lines import Curve, Limits, Scale, line_panels, lines
from pumice.analysis.plots.panels import panels, wear_image
from pumice.analysis.plots.style import COLOURS, GREY, INK, PALE, Frame, Range

__all__ = [
    "COLOURS",
    "GREY",
    "INK",
    "PALE",
    "Bars",
    "Curve",
    "Field",
    "Frame",
    "Grid",
    "Limits",
    "Range",
    "Scale",
    "fields",
    "grouped_bars",
    "line_panels",
    "lines",
    "panels",
    "stacked_bars",
    "stacked_panels",
    "wear_image",
]
