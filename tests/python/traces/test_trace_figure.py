"""The figure of a trace's statistics."""

from __future__ import annotations

import pytest
from matplotlib.figure import Figure

from pumice.traces.trace_figure import _footprint


@pytest.mark.parametrize(("end_s", "unit", "end"), [(359.0, "seconds", 359.0), (3_600.0, "hours", 1.0)])
def test_a_short_trace_is_drawn_over_seconds(end_s: float, unit: str, end: float) -> None:
    axes = Figure().subplots()
    _footprint(axes, [{"at_s": at_s, "read_bytes": 0, "written_bytes": 4096} for at_s in (0.0, end_s)])
    assert axes.get_xlabel() == unit
    assert axes.dataLim.x1 == pytest.approx(end)
