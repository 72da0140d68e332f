"""The figures of runs: how long requests took, when, and what the device did meanwhile."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pumice.analysis.comparison_figures import BREAKDOWN
from pumice.analysis.plots import wear_image
from pumice.analysis.statistics import summary
from pumice.report.drawing import Axis, Series, bars, curves, drawing, stacked_rows
from pumice.report.over_time import Window
from pumice.report.parts import Download, Figure, Numbers
from pumice.results.comparison import Variant
from pumice.results.document import lookup, number
from pumice.results.result import KINDS
from pumice.text import duration_us, unit_of_us

if TYPE_CHECKING:
    import numpy as np

#: Share of requests at each percentile of a result.
PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99_9": 0.999, "p99_99": 0.9999, "p99_9999": 0.999999}

#: More variants than this are not drawn into one figure.
VARIANTS_MAX = 8

#: More dies than this are drawn as a sorted curve rather than as bars.
BARS_MAX = 32

#: Cells of a wear map that a page offers as a file.
WEAR_CELLS_MAX = 200_000

_OF_FILLS = (
    " Below, how full the victims were: for a page-level layer the share of valid pages, for the others that of written"
    " pages of the update or log block."
)

_PERCENTILE_TICKS = {0.30103: "50 %", 1.0: "90 %", 2.0: "99 %", 3.0: "99.9 %", 4.0: "99.99 %", 6.0: "99.9999 %"}


def percentiles(variants: Sequence[Variant], kinds: Sequence[str], prefix: str) -> Figure | None:
    """Latency against the share of requests that were at least as fast: a curve for each variant, or of a single
    variant for each kind of request. None if there is nothing to draw."""
    named = {
        (kind if len(variants) == 1 else variant.label): points
        for variant in variants[:VARIANTS_MAX]
        for kind in kinds
        if (points := _percentile_points(variant.documents, kind))
    }
    if not named:
        return None
    unit, factor = unit_of_us(max(point[2] for points in named.values() for point in points))
    series = [
        Series(name, [x for x, _, _ in points], [y / factor for *_, y in points], places=[at for _, at, _ in points])
        for name, points in named.items()
    ]
    what = f"{kinds[0].capitalize()} latency" if len(kinds) == 1 else "Latency"
    last = max(point[0] for points in named.values() for point in points)
    ticks = {place: text for place, text in _PERCENTILE_TICKS.items() if place <= last + 0.05}
    with drawing() as drawn:
        curves(
            drawn, drawn.figure.add_subplot(), series, Axis("requests that were at least as fast", ticks=ticks),
            Axis(f"latency, {unit}", log=True),
        )  # fmt: skip
        svg = drawn.svg(f"{what} by percentile", prefix)
    rows = [[name, where, duration_us(value)] for name, points in named.items() for _, where, value in points]
    plain = [[name, where, f"{value:.1f}"] for name, points in named.items() for _, where, value in points]
    return Figure(
        svg,
        f"{what}, percentiles",
        "At 99 %, 1 request in 100 was slower than the value shown. Each curve ends at its slowest request. Both axes"
        " are logarithmic, so a step upwards is a multiple. Few requests stand behind the right end.",
        Numbers(["", "percentile", "latency"], rows, f"{what} by percentile"),
        Download.table(f"{prefix}-percentiles.csv", "these points", ["series", "percentile", "latency_us"], plain),
    )


def _percentile_points(documents: Sequence[Mapping[str, Any]], kind: str) -> list[tuple[float, str, float]]:
    """Place on the axis, name and mean over the runs of each percentile that has samples behind it, and the maximum."""
    requests = [number(document, f"host.{kind}.requests") or 0 for document in documents]
    if not requests or min(requests) < 2:
        return []
    end = math.log10(min(requests))
    places = {name: -math.log10(1 - share) for name, share in PERCENTILES.items()}
    points: list[tuple[float, str, float]] = []
    for name, place in {**{name: place for name, place in places.items() if place < end}, "max": end}.items():
        values = [number(document, f"host.{kind}.latency_us.{name}") for document in documents]
        known = [value for value in values if value is not None]
        if len(known) == len(values):
            points.append((round(place, 5), name.replace("_", "."), summary(known).mean))
    return points


def over_time(windows: Sequence[Window], prefix: str) -> Figure | None:
    """Mean and worst latency, and requests a second, over simulated time; None without windows."""
    if len(windows) < 2:
        return None
    at = [window.start_s for window in windows]
    unit, factor = unit_of_us(max(window.write_max_us or window.read_max_us or 0.0 for window in windows))
    latency = [
        Series(name, at, [None if (us := getattr(one, field)) is None else us / factor for one in windows])
        for name, field in (
            ("write, mean", "write_mean_us"),
            ("read, mean", "read_mean_us"),
            ("write, max", "write_max_us"),
            ("read, max", "read_max_us"),
        )
        if any(getattr(window, field) for window in windows)
    ]
    with drawing(4.6) as drawn:
        upper, lower = drawn.figure.subplots(2, 1, sharex=True, height_ratios=(2.0, 1.0))
        curves(drawn, upper, latency, Axis(""), Axis(f"latency, {unit}", log=True))
        load = Series("", at, [window.requests / window.length_s for window in windows])
        curves(drawn, lower, [load], Axis("simulated time, s"), Axis("requests/s"))
        svg = drawn.svg("Latency and requests over simulated time", prefix)
    head = ["start_s", "requests", "write_mean_us", "write_max_us", "read_mean_us", "read_max_us"]
    rows = [[getattr(window, name) for name in head] for window in windows]
    return Figure(
        svg,
        "Over time",
        "Above, the mean and the worst latency of the requests that were done in each stretch of time, on a"
        " logarithmic axis; below, how many were done. A latency that keeps growing says that the device does not keep"
        " up with its load; peaks that come and go are single events. Gaps are stretches without requests.",
        None,
        Download.table(f"{prefix}.csv", "the stretches of time", head, rows),
    )


def breakdown(variants: Sequence[Variant], prefix: str) -> Figure | None:
    """The parts of the mean write latency, a bar a variant; None if no run has them."""
    timed = [one for one in variants[:VARIANTS_MAX] if lookup(one.documents[0], "write_latency_breakdown_us")]
    if not timed:
        return None
    means = {part: [one.mean(f"write_latency_breakdown_us.{part}") or 0.0 for one in timed] for part in BREAKDOWN}
    unit, factor = unit_of_us(max(map(sum, zip(*means.values(), strict=True))))
    scaled = {BREAKDOWN[part]: [value / factor for value in values] for part, values in means.items()}
    parts = {part: values for part, values in scaled.items() if any(values)}
    labels = [one.label for one in timed]
    with drawing(1.9 + 0.42 * len(timed)) as drawn:
        axes = drawn.figure.add_subplot()
        stacked_rows(drawn, axes, labels if len(timed) > 1 else [""], parts)
        axes.set_xlabel(f"mean write latency, {unit}")
        svg = drawn.svg("Parts of the mean write latency", prefix)
    rows = [[name, *(duration_us(value * factor) for value in values)] for name, values in parts.items()]
    return Figure(
        svg,
        "Where a write waits",
        "The whole bar is the mean write latency. Program and transfer are the write's own work; queue is waiting"
        " behind other requests; the parts named GC are waiting while the die searched, read, wrote or erased for"
        " garbage collection.",
        Numbers(["", *labels], rows, "Parts of the mean write latency"),
    )


def utilisation(document: Mapping[str, Any], prefix: str) -> Figure | None:
    """How busy dies and channels were; None if the run had no clock."""
    shares = {what: lookup(document, f"utilisation.{what}") for what in ("die", "channel")}
    found = {what: [100 * one for one in values if one is not None] for what, values in shares.items() if values}
    if not any(found.values()):
        return None
    with drawing(3.6) as drawn:
        for axes, (what, values) in zip(drawn.figure.subplots(2, 1, squeeze=False)[:, 0], found.items(), strict=False):
            label = Axis(f"{what}s busy, %")
            if len(values) <= BARS_MAX:
                bars(drawn, axes, {f"{nth}": value for nth, value in enumerate(values)}, label, unit=" % busy")
                axes.set_xlabel(what)
            else:
                ordered = Series("", range(1, len(values) + 1), sorted(values))
                curves(drawn, axes, [ordered], Axis(f"{what}s, from least to most busy"), label)
        svg = drawn.svg("Time in which dies and channels were busy", prefix)
    rows = [[f"{what} {nth}", f"{value:.4g}"] for what, values in found.items() for nth, value in enumerate(values)]
    return Figure(
        svg,
        "How busy the device was",
        "The share of simulated time in which each die was held by a command, and each channel carried data. Bars of"
        " different height are work that is not spread evenly; 100 % is a part that limits the device. Mind the scales:"
        " the two axes differ.",
        Numbers(["", "busy, %"], rows, "Utilisation"),
    )


def collection(document: Mapping[str, Any], prefix: str) -> Figure | None:
    """Merges by kind, or what garbage collection reclaimed, and how full its victims were; None without any."""
    names = {
        "gc.merges.full": "full", "gc.merges.partial": "partial", "gc.merges.switch": "switch",
        "gc.merges.m_merge": "M-Merge", "gc.reclaimed_blocks": "blocks reclaimed",
        "gc.reclaimed_partial_blocks": "partial blocks", "gc.reclaimed_sub_blocks": "sub-blocks",
        "flash.erases.block": "block erases", "flash.erases.partial": "partial erases",
        "flash.erases.sub_block": "sub-block erases",
    }  # fmt: skip
    counted = {name: number(document, path) for path, name in names.items()}
    shown = {name: value for name, value in counted.items() if value}
    fills = lookup(document, "gc.victim_fill")
    if not shown:
        return None
    has_fills = isinstance(fills, list) and any(fills)
    with drawing(4.6 if has_fills else 2.8) as drawn:
        panels = drawn.figure.subplots(2 if has_fills else 1, 1, squeeze=False)[:, 0]
        bars(drawn, panels[0], shown, Axis("number"), colour=5)
        if has_fills:
            names_of_fill = {f"{10 * nth}": float(value or 0) for nth, value in enumerate(fills)}
            bars(drawn, panels[1], names_of_fill, Axis("victims"), colour=4)
            panels[1].set_xlabel("fill of the victim, % (from, up to ten more)")
        svg = drawn.svg("Merges, erases and victims of garbage collection", prefix)
    return Figure(
        svg,
        "Garbage collection",
        "Above, how often the device merged or reclaimed blocks, and what it erased."
        + (_OF_FILLS if has_fills else ""),
        Numbers(["", "number"], [[name, f"{value:,.0f}"] for name, value in shown.items()], "Garbage collection"),
    )  # fmt: skip


def wear_map(erases: np.ndarray[Any, Any], prefix: str) -> Figure:
    """Erases of every leaf of every block, as colour."""
    with drawing(3.0) as drawn:
        wear_image(drawn.figure, erases)
        svg = drawn.svg("Erases of each leaf of each block", prefix)
    per_block = erases.max(axis=1)
    rows = [
        ["blocks", f"{len(erases):,}"],
        ["leaves a block", f"{erases.shape[1]:,}"],
        ["erases of a leaf, least", f"{erases.min():,}"],
        ["erases of a leaf, mean", f"{erases.mean():,.4g}"],
        ["erases of a leaf, most", f"{erases.max():,}"],
        ["blocks never erased", f"{(per_block == 0).sum():,}"],
    ]
    downloads: Sequence[Download] = ()
    if erases.size <= WEAR_CELLS_MAX:
        head = ["block", *(f"leaf_{leaf}" for leaf in range(erases.shape[1]))]
        table = [[block, *row] for block, row in enumerate(erases.tolist())]
        downloads = Download.table(f"{prefix}.csv", "erases, a row a block and a column a leaf", head, table)
    return Figure(
        svg,
        "Wear map",
        "Each column is a block, each row a leaf: the smallest part that can be erased alone. Brighter leaves were"
        " erased more often in this run. Stripes from top to bottom are blocks that are erased whole; changes inside a"
        " column come from partial erases.",
        Numbers(["", "value"], rows, "Wear"),
        downloads,
    )


#: Kinds of request that have latencies worth a curve.
CURVES = KINDS[:3]
