"""The parts of a report that show variants side by side."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pumice.analysis.comparison_figures import RATIOS
from pumice.report import figures
from pumice.report.drawing import Axis, Series, curves, drawing
from pumice.report.parts import Download, Downloads, Figure, Figures, Heading, Line, Numbers, Part
from pumice.report.run_parts import configuration, how_made, meanings, sentence, spec_files
from pumice.results.comparison import METRICS, Metric, Variant, as_text, ratio_text, result_in_a_sentence, shortened
from pumice.results.document import leaves, warnings_of_all
from pumice.results.notes import notes_of_all, notes_of_reserves, notes_of_seeds
from pumice.text import count, printable


def comparison_parts(
    name: str,
    variants: Sequence[Variant],
    about: Mapping[str, Any],
    prefix: str,
    metrics: Sequence[Metric] = METRICS,
) -> list[Part]:
    """The parts that show a comparison.

    Args:
        name: heading.
        variants: at least one, each with at least one document.
        about: how it was made (`pumice.made`); empty if nobody knows.
        prefix: begins names and ids of what is made here; unique in the page.
        metrics: what its table shows, and if they were chosen its figure of ratios.
    """
    sets_apart, variants = shortened(variants)
    head, rows = as_text(variants, metrics)
    found = result_in_a_sentence(variants)
    parts: list[Part] = [Heading(printable(name)), *([Line(found, "result")] if found else [])]
    parts.append(Line(f"{_what(variants)}{f' The variants are named by {sets_apart}.' if sets_apart else ''}"))
    every = [(variant.label, document) for variant in variants for document in variant.documents]
    parts += [Line(warning, "warning") for warning in warnings_of_all(every)]
    named = [(variant.label, variant.documents[0]) for variant in variants]
    seeds = notes_of_seeds((variant.label, variant.documents) for variant in variants)
    parts += [Line(line, "note") for line in [*notes_of_all(named), *notes_of_reserves(named), *seeds]]
    parts += [Heading("Side by side", 3)]
    if len(variants) > 1:
        parts.append(Line(_how_to_read(variants)))
    parts.append(Numbers(head, rows, "Comparison", sortable=True, hints=meanings()))
    parts.append(Downloads(Download.table(f"{prefix}-comparison.csv", "this table", head, rows)))
    parts += [Heading("Figures", 3), Figures(_figures(variants, prefix, metrics))]
    parts += [Heading("What differs", 3), differences(variants)]
    specs = [(f"spec of {one.label}", one.documents[0]) for one in variants[: figures.VARIANTS_MAX]]
    parts += [*how_made(about, [variant.documents[0] for variant in variants]), spec_files(specs, prefix)]
    return [*parts, configuration(variants[0].documents[0])]


def _what(variants: Sequence[Variant]) -> str:
    return f"{count(len(variants), 'variant')}, the first of them: {sentence(variants[0].documents)}"


def _how_to_read(variants: Sequence[Variant]) -> str:
    base = variants[0].label
    seeds = len(variants[0].documents)
    noise = (
        f" ± is the 95 % interval of the mean over {count(seeds, 'seed')}; ~ marks differences that may be chance."
        if seeds > 1
        else " Each variant was run once, so nothing says how much of a difference is chance."
    )
    return f"Each ratio is a variant's value divided by that of {base}: below 1 it is smaller.{noise}"


def _figures(variants: Sequence[Variant], prefix: str, metrics: Sequence[Metric]) -> list[Figure]:
    shown = RATIOS if metrics is METRICS else {metric.label: metric.path for metric in metrics}
    drawn = [
        _ratios(variants, shown, f"{prefix}-ratios"),
        figures.percentiles(variants, ["write"], f"{prefix}-write"),
        figures.percentiles(variants, ["read"], f"{prefix}-read"),
        figures.breakdown(variants, f"{prefix}-breakdown"),
    ]
    return [one for one in drawn if one is not None]


def _ratios(variants: Sequence[Variant], shown: Mapping[str, str], prefix: str) -> Figure | None:
    """Ratios to the first variant, a point a quantity."""
    base, others = variants[0], variants[1 : figures.VARIANTS_MAX]
    quantities = {name: path for name, path in shown.items() if base.mean(path)}
    if not others or not quantities:
        return None
    places = range(len(quantities))
    series = [
        Series(one.label, places, [_ratio(one.mean(path), base.mean(path)) for path in quantities.values()])
        for one in others
    ]
    with drawing(3.3) as drawn:
        axes = drawn.figure.add_subplot()
        short = {float(place): name.replace(" ", "\n", 1) for place, name in enumerate(quantities)}
        curves(drawn, axes, series, Axis("", ticks=short), Axis(f"ratio to {base.label}"))
        for line in axes.lines:
            line.set_linestyle("none")
        axes.axhline(1.0, color="#222222", linewidth=0.9, linestyle=(0, (4, 3)))
        axes.set_ylim(0.0, max(1.05, axes.get_ylim()[1]))
        axes.set_xlim(-0.5, len(quantities) - 0.5)
        svg = drawn.svg(f"Ratios to {base.label}", prefix)
    rows = [
        [name, *("–" if (ratio := one.y[place]) is None else ratio_text(ratio) for one in series)]
        for place, name in enumerate(quantities)
    ]
    better = " Lower is better everywhere." if shown is RATIOS else ""
    return Figure(
        svg,
        f"Ratios to {base.label}",
        f"Points below the dashed line are smaller than with {base.label}.{better}",
        Numbers(["", *(one.label for one in others)], rows, "Ratios"),
    )


def _ratio(value: float | None, base: float | None) -> float | None:
    return value / base if value is not None and base else None


def differences(variants: Sequence[Variant]) -> Numbers:
    """The keys of the configuration that are not the same everywhere, with each variant's value."""
    configs = [dict(leaves(variant.documents[0].get("config") or {})) for variant in variants]
    keys = [key for key in dict.fromkeys(key for config in configs for key in config) if key != "seed"]
    differ = [key for key in keys if len({json.dumps(config.get(key)) for config in configs}) > 1]
    rows = [[key, *(_shown(config.get(key)) for config in configs)] for key in differ]
    head = ["key", *(variant.label for variant in variants)]
    return Numbers(head, rows or [["nothing", *("" for _ in variants)]], "Differences of the configurations", text=True)


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.7g}"
    return "–" if value is None else value if isinstance(value, str) else json.dumps(value)
