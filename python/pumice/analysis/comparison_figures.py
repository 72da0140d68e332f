"""Figures of a comparison: ratios to the first variant, and the parts of the write latency."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pumice.analysis import plots
from pumice.results.comparison import Variant
from pumice.results.document import lookup, subject
from pumice.text import unit_of_us

#: Parts of the mean write latency in the order in which they are stacked, and their names.
BREAKDOWN: dict[str, str] = {
    "program": "program",
    "transfer": "transfer",
    "link": "link and overhead",
    "controller": "controller",
    "queue": "queue",
    "map": "map",
    "rmw_read": "read-modify-write",
    "gc_spare_read": "GC spare read",
    "gc_read": "GC read",
    "gc_write": "GC write",
    "gc_erase": "GC erase",
}

#: Colour of each part in every figure: cold for what a write itself needs, warm for what GC adds.
PART_COLOURS: dict[str, str] = {
    **dict(zip(("program", "gc_write", "queue", "gc_spare_read"), plots.COLOURS[:4], strict=True)),
    **dict(zip(("transfer", "gc_erase", "gc_read", "rmw_read"), plots.COLOURS[4:], strict=True)),
    "link": plots.GREY,
    "map": plots.PALE,
    "controller": plots.INK,
}

#: Most variants that have a colour each in the figure of ratios, and most signs of their names.
SERIES_MAX, NAMES_LENGTH_MAX = 4, 70

#: Rows of the ratio figure.
RATIOS: dict[str, str] = {
    "write latency": "host.write.latency_us.mean",
    "read latency": "host.read.latency_us.mean",
    "pages copied": "gc.copied_pages",
    "write amplification": "write_amplification",
    "erases per page": "wear.aep",
}


def draw(variants: Sequence[Variant], directory: Path) -> list[Path]:
    """Draws the ratios to the first variant, and the parts of the write latency of timed runs."""
    complete = [variant for variant in variants if variant.documents]
    drawn: list[Path] = []
    if len(complete) > 1:
        drawn += _draw_ratios(complete, directory / "ratios")
    timed = [variant for variant in complete if lookup(variant.documents[0], "write_latency_breakdown_us")]
    if timed:
        drawn += _draw_breakdown(timed, directory / "write-latency-breakdown")
    return drawn


def _draw_ratios(variants: Sequence[Variant], path: Path) -> list[Path]:
    """Quantities side by side with a bar for each variant; where there are many variants or their names are long,
    variants side by side with a bar for each quantity."""
    base, *others = variants
    ratios: dict[str, list[float | None]] = {}
    for variant in others:
        pairs = [(base.mean(field), variant.mean(field)) for field in RATIOS.values()]
        ratios[variant.label] = [own / first if first and own is not None else None for first, own in pairs]
    bars = plots.Bars(list(RATIOS), ratios)
    is_short = len(others) <= SERIES_MAX and sum(map(len, ratios)) + len(base.label) <= NAMES_LENGTH_MAX
    if not is_short:
        series = {name: [values[place] for values in ratios.values()] for place, name in enumerate(RATIOS)}
        bars = plots.Bars([_in_lines(label) for label in ratios], series)
    what = f"{' and '.join(ratios)} / {base.label}" if is_short else f"ratios to {base.label}"
    title = f"{subject(base.documents[0])}: {what}"
    y_label = f"ratio to {base.label if is_short else 'the first'}"
    frame = plots.Frame(title, y_label, reference=(1.0, base.label if is_short else ""))
    return plots.grouped_bars(frame, bars, path)


def _in_lines(label: str) -> str:
    """A label below a bar, a line for each key that varies."""
    return label.replace(", ", ",\n")


def _draw_breakdown(variants: Sequence[Variant], path: Path) -> list[Path]:
    parts = {part: [v.mean(f"write_latency_breakdown_us.{part}") for v in variants] for part in BREAKDOWN}
    shown = [part for part, values in parts.items() if any(values)]
    totals = [sum(value or 0.0 for value in values) for values in zip(*parts.values(), strict=True)]
    unit, factor = unit_of_us(max(totals))
    series = {BREAKDOWN[part]: [value and value / factor for value in parts[part]] for part in shown}
    names = [_in_lines(variant.label) for variant in variants]
    bars = plots.Bars(names, series, [PART_COLOURS[part] for part in shown])
    frame = plots.Frame(
        f"{subject(variants[0].documents[0])}: where a write waits", f"mean write latency, {unit}", digits=1
    )
    return plots.stacked_bars(frame, bars, path)
