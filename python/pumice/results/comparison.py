"""A comparison on disk: its variants, its table as CSV, its figures."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pumice import files
from pumice.analysis import plots
from pumice.analysis.statistics import summary
from pumice.errors import SpecError
from pumice.results.compare import Variant, compare
from pumice.results.document import lookup, number
from pumice.results.result import check_document, read_json

#: Name of the file that makes a directory a comparison, and its format.
INDEX = "comparison.json"
FORMAT = "pumice.comparison/1"

#: Parts of the mean write latency in the order in which they are stacked, and their names.
BREAKDOWN: dict[str, str] = {
    "program": "program",
    "transfer": "transfer",
    "link": "link and overhead",
    "queue": "queue",
    "map": "map",
    "rmw_read": "read-modify-write",
    "gc_spare_read": "GC spare read",
    "gc_read": "GC read",
    "gc_write": "GC write",
    "gc_erase": "GC erase",
}

#: A part's colour in every figure: cold for what a write needs itself, warm for what GC adds.
PART_COLOURS: dict[str, str] = {
    **dict(zip(("program", "gc_write", "queue", "gc_spare_read"), plots.COLOURS[:4], strict=True)),
    **dict(zip(("transfer", "gc_erase", "gc_read", "rmw_read"), plots.COLOURS[4:], strict=True)),
    "link": plots.GREY,
    "map": plots.PALE,
}

#: Rows of the ratio figure.
RATIOS: dict[str, str] = {
    "write latency": "host.write.latency_us.mean",
    "read latency": "host.read.latency_us.mean",
    "pages copied": "gc.copied_pages",
    "write amplification": "write_amplification",
    "erases per page": "wear.aep",
}


def index(variants: Sequence[Variant]) -> dict[str, Any]:
    """A comparison as JSON can hold it: every variant with its documents, and every row of the table
    with each variant's mean, half-width of its 95 % interval, ratio to the first, and whether the
    difference may be chance."""
    rows = [
        {
            "metric": metric.label,
            "field": metric.path,
            "unit": metric.unit,
            "values": [
                {
                    "mean": cell.value.mean if cell.value else None,
                    "half_width": cell.value.half_width if cell.value else None,
                    "ratio": cell.ratio,
                    "within_noise": cell.noise,
                }
                for cell in cells
            ],
        }
        for metric, cells in compare(variants)
    ]
    shown = [{"label": variant.label, "documents": list(variant.documents)} for variant in variants]
    return {"format": FORMAT, "variants": shown, "rows": rows}


def write(variants: Sequence[Variant], directory: Path) -> None:
    """Writes index, CSV and figures of a comparison, each file all of it or nothing.

    Raises:
        OSError: a file cannot be written.
    """
    files.write_text(directory / INDEX, json.dumps(index(variants)) + "\n")
    files.write_text(directory / "comparison.csv", _csv(variants))
    draw(variants, directory / "figures")


def read(directory: Path) -> list[Variant]:
    """The variants of a comparison written by `write`.

    Raises:
        SpecError: the index cannot be read or is of another version.
    """
    path = directory / INDEX
    found = read_json(path)
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise SpecError(f"{path}: not a comparison; expected format {FORMAT!r}")
    entries = found.get("variants")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise SpecError(f"{path}: holds no list of variants")
    return [_variant(path, entry) for entry in entries]


def _variant(path: Path, entry: dict[str, Any]) -> Variant:
    label, documents = entry.get("label"), entry.get("documents")
    if not isinstance(label, str) or not isinstance(documents, list):
        raise SpecError(f"{path}: a variant lacks its label or its documents")
    return Variant(label, [check_document(f"{path}: {label}", document) for document in documents])


def draw(variants: Sequence[Variant], directory: Path) -> list[Path]:
    """Draws ratios to the first variant and the parts of the write latency, where there are any."""
    complete = [variant for variant in variants if variant.documents]
    drawn: list[Path] = []
    if len(complete) > 1:
        drawn += _draw_ratios(complete, directory / "ratios")
    timed = [variant for variant in complete if lookup(variant.documents[0], "write_latency_breakdown_us")]
    if timed:
        drawn += _draw_breakdown(timed, directory / "write-latency-breakdown")
    return drawn


def _mean(variant: Variant, path: str) -> float | None:
    values = [value for document in variant.documents if (value := number(document, path)) is not None]
    return summary(values).mean if values else None


def _draw_ratios(variants: Sequence[Variant], path: Path) -> list[Path]:
    base = variants[0]
    series: dict[str, list[float | None]] = {}
    for variant in variants[1:]:
        pairs = [(_mean(base, field), _mean(variant, field)) for field in RATIOS.values()]
        series[variant.label] = [own / first if first and own is not None else None for first, own in pairs]
    title = f"{_subject(base)}: {' and '.join(series)} / {base.label}"
    frame = plots.Frame(title, f"ratio to {base.label}", reference=(1.0, base.label))
    return plots.grouped_bars(frame, plots.Bars(list(RATIOS), series), path)


def _draw_breakdown(variants: Sequence[Variant], path: Path) -> list[Path]:
    parts = {part: [_mean(v, f"write_latency_breakdown_us.{part}") for v in variants] for part in BREAKDOWN}
    shown = [part for part, values in parts.items() if any(values)]
    series = {BREAKDOWN[part]: parts[part] for part in shown}
    bars = plots.Bars([variant.label for variant in variants], series, [PART_COLOURS[part] for part in shown])
    frame = plots.Frame(f"{_subject(variants[0])}: where a write waits", "mean write latency, µs", digits=1)
    return plots.stacked_bars(frame, bars, path)


def _subject(variant: Variant) -> str:
    document = variant.documents[0]
    return f"{lookup(document, 'workload.kind') or 'workload'}, scale {document.get('scale')}"


def _csv(variants: Sequence[Variant]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns: list[Any] = ["metric", "field", "unit"]
    for variant in variants:
        columns += [
            f"{variant.label} mean",
            f"{variant.label} ± 95 %",
            f"{variant.label} ratio",
            f"{variant.label} within noise",
        ]
    writer.writerow(columns)
    for metric, cells in compare(variants):
        row: list[Any] = [metric.label, metric.path, metric.unit]
        for cell in cells:
            value = (cell.value.mean, cell.value.half_width) if cell.value else (None, None)
            row += [*value, cell.ratio, cell.noise]
        writer.writerow(row)
    return text.getvalue()
