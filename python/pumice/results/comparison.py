"""Comparisons: variants of a device side by side, with ratios to the first, and their files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pumice import files
from pumice.analysis.statistics import Summary, summary, within_noise
from pumice.errors import SpecError
from pumice.outputs import COMPARISON, COMPARISON_TABLE
from pumice.results.document import number
from pumice.results.fields import field
from pumice.results.stored import check_document, read_json

#: Format of the file that makes a directory a comparison.
FORMAT = "pumice.comparison/1"


#: Units as a comparison shows them; other units stand in the labels.
_SHOWN_UNITS = {"us": "µs", "requests/s": "1/s", "s": "s"}


@dataclass(frozen=True)
class Metric:
    """A field of the result document that has a row in comparisons.

    Attributes:
        label: name of the row.
        path: dotted path of the field (see `results.fields`).
        digits: digits after the point.
        unless: a field that tells the same where no variant differs from it by more than half a per cent; the row is
            left out then.
        where: a counter; the row is left out where it is 0 in every variant.
        of_flow: unit of a figure of one flow, whose path is no field of its own; None for every other.
    """

    label: str
    path: str
    digits: int = 0
    unless: str = ""
    where: str = ""
    of_flow: str | None = None

    @property
    def unit(self) -> str:
        """Unit as it is shown; empty for counts and ratios."""
        return _SHOWN_UNITS.get(field(self.path).unit if self.of_flow is None else self.of_flow, "")


#: Rows of the comparison, in order. A row without a value in any variant is left out.
METRICS: tuple[Metric, ...] = (
    Metric("write latency, mean", "host.write.latency_us.mean", 1),
    Metric("write latency, p50", "host.write.latency_us.p50", 1),
    Metric("write latency, p99", "host.write.latency_us.p99", 1),
    Metric("write latency, p99.9", "host.write.latency_us.p99_9", 1),
    Metric("write latency, max", "host.write.latency_us.max", 1),
    Metric("read latency, mean", "host.read.latency_us.mean", 1),
    Metric("read latency, p99", "host.read.latency_us.p99", 1),
    Metric("service IOPS", "host.service_iops", 1),
    Metric("write amplification", "write_amplification", 3),
    Metric("write amplification, bytes", "write_amplification_bytes", 3, unless="write_amplification"),
    Metric("pages copied", "gc.copied_pages"),
    Metric("merges, full", "gc.merges.full"),
    Metric("merges, M-Merge", "gc.merges.m_merge"),
    Metric("block erases", "flash.erases.block"),
    Metric("partial erases", "flash.erases.partial", where="flash.erases.partial"),
    Metric("spare reads", "flash.reads.spare", where="flash.reads.spare"),
    Metric("AEP (erases per page)", "wear.aep", 4, where="flash.erases.partial"),
    Metric("VEP (their variance)", "wear.vep", 4, where="flash.erases.partial"),
    Metric("power cuts", "power.cuts"),
    Metric("recovery, mean", "power.recovery_us.mean", 1),
    Metric("broken promises", "power.broken_promises"),
    Metric("corrupt pages", "integrity.corrupt_pages"),
    Metric("wall time", "run.wall_s", 1),
)


#: Rows of each flow, behind its name: label, path below the flow, digits and unit.
_OF_FLOW: tuple[tuple[str, str, int, str], ...] = (
    ("IOPS", "iops", 0, "requests/s"),
    ("write latency, mean", "write.latency_us.mean", 1, "us"),
    ("write latency, p99", "write.latency_us.p99", 1, "us"),
    ("read latency, mean", "read.latency_us.mean", 1, "us"),
    ("read latency, p99", "read.latency_us.p99", 1, "us"),
)


def flows_of(documents: Iterable[dict[str, Any]]) -> tuple[Metric, ...]:
    """The rows of all flows of some documents, flow by flow."""
    names = dict.fromkeys(name for document in documents for name in document.get("flows") or {})
    return tuple(
        Metric(f"{name}: {label}", f"flows.{name}.{path}", digits, of_flow=unit)
        for name in names
        for label, path, digits, unit in _OF_FLOW
    )


def slowdowns(together: Variant, alone: Mapping[str, Variant]) -> list[Variant]:
    """Two variants of the flows only: each flow alone, and beside the others. Their ratio is what the others cost it.

    Args:
        together: the runs of all flows, one a seed.
        alone: the runs of each flow alone, by its name, with the same seeds.
    """
    seeds = range(min(len(one.documents) for one in (together, *alone.values())))
    single = [{"flows": {name: one.documents[seed]["flows"][name] for name, one in alone.items()}} for seed in seeds]
    beside = [{"flows": {name: document["flows"][name] for name in alone}} for document in together.documents]
    return [Variant("alone", single), Variant("together", beside)]


@dataclass(frozen=True)
class Variant:
    """A label and the documents of its runs, one a seed."""

    label: str
    documents: Sequence[dict[str, Any]]


@dataclass(frozen=True)
class Cell:
    """A metric of one variant: its summary, its ratio to the first variant, and whether the
    difference may be chance (None where runs are not repeated)."""

    value: Summary | None
    ratio: float | None
    noise: bool | None


def compare(variants: Sequence[Variant]) -> list[tuple[Metric, list[Cell]]]:
    """One row a metric, one cell a variant. Ratios are variant / first variant."""
    rows: list[tuple[Metric, list[Cell]]] = []
    flows = flows_of(document for variant in variants for document in variant.documents)
    for metric in (*METRICS, *flows):
        values = [_values(variant, metric.path) for variant in variants]
        if any(values) and not _tells_nothing(metric, variants):
            rows.append((metric, [_cell(values[0], own, first=place == 0) for place, own in enumerate(values)]))
    return rows


def _tells_nothing(metric: Metric, variants: Sequence[Variant]) -> bool:
    """Whether another row shows a metric's values, or its mechanism was at work in no variant."""
    documents = [document for variant in variants for document in variant.documents]
    if metric.where and not any(number(document, metric.where) for document in documents):
        return True
    pairs = [
        (number(document, metric.path), number(document, metric.unless)) for document in documents if metric.unless
    ]
    return bool(pairs) and all(a is None or b is None or abs(a - b) <= 0.005 * abs(b) for a, b in pairs)


def _values(variant: Variant, path: str) -> list[float]:
    found = [number(document, path) for document in variant.documents]
    return [value for value in found if value is not None]


def _cell(base: list[float], own: list[float], *, first: bool) -> Cell:
    if not own:
        return Cell(None, None, None)
    value = summary(own)
    if first or not base:
        return Cell(value, None, None)
    base_mean = summary(base).mean
    ratio = value.mean / base_mean if base_mean else None
    return Cell(value, ratio, within_noise(base, own) if len(base) == len(own) else None)


def as_text(variants: Sequence[Variant]) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the comparison as they are shown: label, unit, then each variant's value, and from the
    second variant on its ratio. `~` marks ratios that may be chance."""
    head = ["", "unit", variants[0].label]
    for variant in variants[1:]:
        head += [variant.label, "ratio"]
    rows: list[list[str]] = []
    for metric, cells in compare(variants):
        row = [metric.label, metric.unit, _value_text(metric, cells[0])]
        for cell in cells[1:]:
            row += [_value_text(metric, cell), _ratio_text(cell)]
        rows.append(row)
    return head, rows


def _value_text(metric: Metric, cell: Cell) -> str:
    if cell.value is None:
        return "–"
    text = f"{cell.value.mean:,.{metric.digits}f}"
    if cell.value.half_width is not None:
        text += f" ± {cell.value.half_width:,.{metric.digits}f}"
    return text


def _ratio_text(cell: Cell) -> str:
    return "–" if cell.ratio is None else f"{'~' if cell.noise else ''}{cell.ratio:.3f}"


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
    """Writes index and CSV of a comparison, each file all of it or nothing.

    Raises:
        OSError: a file cannot be written.
    """
    files.write_text(directory / COMPARISON, json.dumps(index(variants)) + "\n")
    _write_csv(variants, directory / COMPARISON_TABLE)


def read(directory: Path) -> list[Variant]:
    """The variants of a comparison written by `write`.

    Raises:
        SpecError: the index cannot be read or is of another version.
    """
    path = directory / COMPARISON
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


def _write_csv(variants: Sequence[Variant], path: Path) -> None:
    columns = ["metric", "field", "unit"]
    for variant in variants:
        columns += [f"{variant.label} {what}" for what in ("mean", "± 95 %", "ratio", "within noise")]
    rows: list[list[Any]] = []
    for metric, cells in compare(variants):
        row: list[Any] = [metric.label, metric.path, metric.unit]
        for cell in cells:
            value = (cell.value.mean, cell.value.half_width) if cell.value else (None, None)
            row += [*value, cell.ratio, cell.noise]
        rows.append(row)
    files.write_csv(path, columns, rows)
