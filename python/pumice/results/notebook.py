"""Results and specs as a notebook shows them: small tables of HTML, with a curve of the latencies."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from typing import Any

from pumice.results.comparison import Variant, compare, scale_of
from pumice.results.document import lookup, number, subject
from pumice.results.notes import notes_of

#: Size of a curve, in pixels, and the room around it.
WIDTH, HEIGHT, MARGIN = 160, 32, 3

#: Points of the curve of latencies.
_PERCENTILES = ("p50", "p90", "p99", "p99_9", "p99_99", "max")


def result_html(document: Mapping[str, Any]) -> str:
    """The figures of a result, a curve of its write latencies, and what should be known about them."""
    rows = [
        (metric.label, scale.text(cell.value.mean), scale.unit)
        for metric, (cell,) in compare([Variant("", [dict(document)])])
        if cell.value is not None and (scale := scale_of(metric, [cell.value.mean]))
    ]
    cells = "".join(
        f"<tr><td style='text-align:left'>{html.escape(label)}</td><td style='text-align:right'>{value}</td>"
        f"<td style='text-align:left'>{html.escape(unit)}</td></tr>"
        for label, value, unit in rows
    )
    notes = "".join(
        f"<li>{html.escape(line)}</li>" for line in [*(document.get("warnings") or []), *notes_of(document)]
    )
    return (
        f"<div><b>{html.escape(subject(document))}</b>{_curves(document)}<table>{cells}</table>"
        f"{f'<ul>{notes}</ul>' if notes else ''}</div>"
    )


def spec_html(facts: Sequence[tuple[str, str]]) -> str:
    """What a spec starts from and what it sets."""
    rows = "".join(
        f"<tr><td style='text-align:left'>{html.escape(key)}</td><td style='text-align:left'>"
        f"<code>{html.escape(value)}</code></td></tr>"
        for key, value in facts
    )
    return f"<table><tr><th colspan='2' style='text-align:left'>pumice spec</th></tr>{rows}</table>"


def sparkline(values: Sequence[float], title: str) -> str:
    """A curve without axes as SVG, from left to right; `title` says what it shows and is read aloud.

    Args:
        values: at least two numbers.
        title: what they are.
    """
    low, high = min(values), max(values)
    across, up = (WIDTH - 2 * MARGIN) / (len(values) - 1), HEIGHT - 2 * MARGIN
    points = " ".join(
        f"{MARGIN + place * across:.1f},{MARGIN + up * (1 - ((value - low) / (high - low) if high > low else 0.5)):.1f}"
        for place, value in enumerate(values)
    )
    return (
        f"<svg role='img' width='{WIDTH}' height='{HEIGHT}' viewBox='0 0 {WIDTH} {HEIGHT}'>"
        f"<title>{html.escape(title)}</title>"
        f"<polyline points='{points}' fill='none' stroke='currentColor' stroke-width='1.5'/></svg>"
    )


def _curves(document: Mapping[str, Any]) -> str:
    """Latency over time where the run kept it, and the percentiles of writes and reads on a scale of logarithms."""
    shown: list[str] = []
    windows = document.get("time_series") or []
    for kind in ("write", "read"):
        means = [mean for window in windows if (mean := number(window, f"{kind}_mean_us")) is not None]
        if len(means) > 1:
            shown.append(sparkline(means, f"{kind} latency over time, {min(means):,.0f} to {max(means):,.0f} µs"))
        found = [lookup(document, f"host.{kind}.latency_us.{name}") for name in _PERCENTILES]
        values = [float(value) for value in found if value]
        if len(values) > 1:
            title = f"{kind} latency from p50 to max, {values[0]:,.0f} to {values[-1]:,.0f} µs"
            shown.append(f"{kind} {sparkline([math.log(value) for value in values], title)}")
    return f"<div>{' '.join(shown)}</div>" if shown else ""
