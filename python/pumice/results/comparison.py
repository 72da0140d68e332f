"""Comparisons: variants of a device side by side, with ratios to the first, and their files."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pumice import files
from pumice.analysis.statistics import Summary, summary, within_noise
from pumice.errors import SpecError
from pumice.outputs import COMPARISON, COMPARISON_TABLE
from pumice.results.document import number
from pumice.results.fields import field
from pumice.results.names import field_called
from pumice.results.stored import check_document, read_json
from pumice.text import unit_of_us

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
    Metric("read latency, p99.9", "host.read.latency_us.p99_9", 1),
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


@dataclass(frozen=True)
class Scale:
    """How the values of a row are shown: in which unit, divided by what, with how many digits behind the point."""

    unit: str
    factor: float
    digits: int

    def text(self, value: float) -> str:
        """A value in this unit, without it."""
        return f"{value / self.factor:,.{self.digits}f}"


def scale_of(metric: Metric, means: Iterable[float]) -> Scale:
    """The unit that suits the largest of some values, and as many digits as the smallest needs; where that
    would be more than four, the unit that suits a value between the two."""
    known = [abs(mean) for mean in means if mean]
    unit, factor = unit_of_us(max(known)) if known and metric.unit == "µs" else (metric.unit, 1.0)
    if factor > 1 and min(known) < 0.01 * factor:
        unit, factor = unit_of_us(math.sqrt(min(known) * max(known)))
    digits = metric.digits
    if factor > 1:
        digits = min(max(digits, 2 - math.floor(math.log10(min(known) / factor))), 4)
    return Scale(unit, factor, digits)


def chosen_metrics(names: str | None) -> tuple[Metric, ...]:
    """The metrics that a user names, separated by commas: numbers of the result by their paths or as `names` knows
    them, labels of rows such as `write latency p99` among these; all of `METRICS` for None.

    Raises:
        SpecError: there is no such metric, or it is no number.
    """
    if names is None:
        return METRICS
    known = {metric.path: metric for metric in METRICS}
    paths = dict.fromkeys(field_called(name.strip()) for name in names.split(","))
    for path in paths:
        if field(path).type not in ("number", "integer"):
            raise SpecError(f"{path} is no number, so no table can show it")
    return tuple(known.get(path) or Metric(path, path, 3) for path in paths)


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

    def values(self, path: str) -> list[float]:
        """A number of each run that has it."""
        return [value for document in self.documents if (value := number(document, path)) is not None]

    def mean(self, path: str) -> float | None:
        """The mean of a number over the runs; None if none has it."""
        values = self.values(path)
        return summary(values).mean if values else None


@dataclass(frozen=True)
class Cell:
    """A metric of one variant: its summary, its ratio to the first variant, and whether the
    difference may be chance (None where runs are not repeated)."""

    value: Summary | None
    ratio: float | None
    noise: bool | None


def compare(variants: Sequence[Variant], metrics: Sequence[Metric] = METRICS) -> list[tuple[Metric, list[Cell]]]:
    """One row a metric, one cell a variant. Ratios are variant / first variant. Unless metrics are chosen, those of
    flows come behind them."""
    rows: list[tuple[Metric, list[Cell]]] = []
    flows = flows_of(document for variant in variants for document in variant.documents) if metrics is METRICS else ()
    for metric in (*metrics, *flows):
        values = [variant.values(metric.path) for variant in variants]
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


def _cell(base: list[float], own: list[float], *, first: bool) -> Cell:
    if not own:
        return Cell(None, None, None)
    value = summary(own)
    if first or not base:
        return Cell(value, None, None)
    base_mean = summary(base).mean
    ratio = value.mean / base_mean if base_mean else None
    return Cell(value, ratio, within_noise(base, own) if len(base) == len(own) else None)


def as_text(variants: Sequence[Variant], metrics: Sequence[Metric] = METRICS) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the comparison as they are shown: label, unit, then each variant's value, and from the
    second variant on its ratio. `~` marks ratios that may be chance."""
    head = ["", "unit", variants[0].label]
    for variant in variants[1:]:
        head += [variant.label, "ratio"]
    rows: list[list[str]] = []
    for metric, cells in compare(variants, metrics):
        scale = scale_of(metric, (cell.value.mean for cell in cells if cell.value is not None))
        row = [metric.label, scale.unit, value_text(scale, cells[0].value)]
        for cell in cells[1:]:
            row += [value_text(scale, cell.value), _ratio_text(cell)]
        rows.append(row)
    return head, rows


def value_text(scale: Scale, value: Summary | None) -> str:
    """A mean, and the half-width of its interval if it has one; a dash without a value."""
    if value is None:
        return "–"
    return " ± ".join(scale.text(one) for one in (value.mean, value.half_width) if one is not None)


#: Where one key of a label ends and the next begins.
_NEXT_KEY = re.compile(r", (?=[^\s,=]+ = )")


def shortened(variants: Sequence[Variant]) -> tuple[str, list[Variant]]:
    """The variants under what sets them apart alone, and what that is: the values of the keys that differ, and these
    keys. Labels that are no lists of keys and values stay as they are, under an empty text."""
    parts = [_NEXT_KEY.split(variant.label) for variant in variants]
    pairs = [[tuple(part.split(" = ", 1)) for part in own] for own in parts]
    if len(variants) < 2 or any(len(pair) < 2 for own in pairs for pair in own):
        return "", list(variants)
    keys = [[pair[0] for pair in own] for own in pairs]
    if any(own != keys[0] for own in keys):
        return "", list(variants)
    differ = [place for place in range(len(keys[0])) if len({own[place][1] for own in pairs}) > 1]
    short = [" / ".join(value_label(*own[place]) for place in differ) for own in pairs]
    if len(set(short)) < len(short):
        return "", list(variants)
    named = [replace(variant, label=label) for variant, label in zip(variants, short, strict=True)]
    return " / ".join(keys[0][place] for place in differ), named


def value_label(key: str, value: str) -> str:
    """A value as a label; one that is no word says of which key."""
    return value if re.search("[a-z]{2}", value) and value not in ("true", "false") else f"{key} {value}"


#: What a comparison is summed up by: words and field.
_SUMMED_UP = (
    ("mean write latency", "host.write.latency_us.mean"), ("p99", "host.write.latency_us.p99"),
    ("read p99", "host.read.latency_us.p99"), ("write amplification", "write_amplification"),
)  # fmt: skip


def result_in_a_sentence(variants: Sequence[Variant]) -> str:
    """What came out of a comparison: the ratios of the one other variant to the first, or of the one with the least
    first quantity. Empty if there is nothing to compare, `~` marks what may be chance."""
    rows = {metric.path: cells for metric, cells in compare(variants)}
    told = [(words, rows[path]) for words, path in _SUMMED_UP if path in rows and any(c.ratio for c in rows[path])]
    if not told:
        return ""
    ratios = [(cell.ratio, place) for place, cell in enumerate(told[0][1]) if cell.ratio is not None]
    _, best = min(ratios)
    (words, lead), *rest = [(words, _ratio_text(cells[best])) for words, cells in told if cells[best].ratio is not None]
    which = f"{variants[best].label} ({'the lowest' if len(variants) > 2 else 'ratios'})"
    others = "".join(f", {name} {ratio}" for name, ratio in rest)
    return f"{which}: {words} {lead} of that with {variants[0].label}{others}."


def _ratio_text(cell: Cell) -> str:
    return "–" if cell.ratio is None else f"{'~' if cell.noise else ''}{ratio_text(cell.ratio)}"


def ratio_text(ratio: float) -> str:
    """A ratio with three digits behind the point; one that would look like 0, as a power of ten: `3.1e-06`."""
    return f"{ratio:.3f}" if ratio == 0 or ratio >= 0.0005 else f"{ratio:.1e}"


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
