"""Variants of a device side by side, with ratios to the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pumice.analysis.statistics import Summary, summary, within_noise
from pumice.results.document import number


@dataclass(frozen=True)
class Metric:
    """A field worth a row: its label, its place in the document, its unit and digits after the point."""

    label: str
    path: str
    unit: str = ""
    digits: int = 0


#: Rows of the comparison, in order. A row without a value in any variant is left out.
METRICS: tuple[Metric, ...] = (
    Metric("write latency, mean", "host.write.latency_us.mean", "µs", 1),
    Metric("write latency, p50", "host.write.latency_us.p50", "µs", 1),
    Metric("write latency, p99", "host.write.latency_us.p99", "µs", 1),
    Metric("write latency, p99.9", "host.write.latency_us.p99_9", "µs", 1),
    Metric("write latency, max", "host.write.latency_us.max", "µs", 1),
    Metric("read latency, mean", "host.read.latency_us.mean", "µs", 1),
    Metric("read latency, p99", "host.read.latency_us.p99", "µs", 1),
    Metric("service IOPS", "host.service_iops", "1/s", 1),
    Metric("write amplification", "write_amplification", "", 3),
    Metric("pages copied", "gc.copied_pages"),
    Metric("merges, full", "gc.merges.full"),
    Metric("merges, M-Merge", "gc.merges.m_merge"),
    Metric("block erases", "flash.erases.block"),
    Metric("partial erases", "flash.erases.partial"),
    Metric("spare reads", "flash.reads.spare"),
    Metric("AEP (erases per page)", "wear.aep", "", 4),
    Metric("VEP (their variance)", "wear.vep", "", 4),
    Metric("corrupt pages", "integrity.corrupt_pages"),
    Metric("wall time", "run.wall_s", "s", 1),
)


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
    for metric in METRICS:
        values = [_values(variant, metric.path) for variant in variants]
        if any(values):
            rows.append((metric, [_cell(values[0], own, first=place == 0) for place, own in enumerate(values)]))
    return rows


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
