"""Results as rows of one table whose columns are always the same.

Scalars of the document become columns named by their dotted path. What has no fixed length
(histograms, utilisation of each die) and the configuration are kept as JSON text in one column each.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from pumice.results.document import lookup

COUNT, NUMBER, TEXT = pa.int64(), pa.float64(), pa.string()

#: Names of a latency's fields, µs.
LATENCY_FIELDS = ("mean", "p50", "p90", "p99", "p99_9", "p99_99", "p99_9999", "max")
_BREAKDOWN = (
    "transfer", "program", "queue", "link", "map", "rmw_read", "gc_spare_read", "gc_read", "gc_write", "gc_erase",
)  # fmt: skip


def _fields(prefix: str, names: Sequence[str], kind: pa.DataType) -> list[tuple[str, pa.DataType]]:
    return [(f"{prefix}.{name}", kind) for name in names]


def _host_fields() -> list[tuple[str, pa.DataType]]:
    fields: list[tuple[str, pa.DataType]] = []
    for kind in ("read", "write", "trim"):
        fields += _fields(f"host.{kind}", ["requests", "bytes"], COUNT)
        fields += _fields(f"host.{kind}.latency_us", LATENCY_FIELDS, NUMBER)
    return (
        fields
        + _fields("host", ["iops", "service_iops", "throughput_mib_per_s", "simulated_s"], NUMBER)
        + [("host.buffer_hits", COUNT)]
    )


#: Columns of every result, in order. A test holds them against a real document.
RESULT_FIELDS: list[tuple[str, pa.DataType]] = [
    ("format", TEXT),
    ("version", TEXT),
    ("config_sha256", TEXT),
    ("scale", NUMBER),
    ("seed", COUNT),
    *_host_fields(),
    *_fields("flash.reads", ["host", "gc", "spare", "map", "rmw"], COUNT),
    ("flash.spare_searches", COUNT),
    *_fields("flash.programs", ["host", "gc", "map"], COUNT),
    *_fields("flash.erases", ["block", "partial", "sub_block"], COUNT),
    *_fields("flash", ["multi_plane_commands", "suspensions", "read_retries"], COUNT),
    ("write_amplification", NUMBER),
    ("write_amplification_bytes", NUMBER),
    ("gc.invocations", COUNT),
    *_fields("gc.merges", ["full", "partial", "switch", "m_merge"], COUNT),
    *_fields("gc.triggers", ["full", "unpaired", "intra", "inter", "free_blocks"], COUNT),
    ("gc.copied_pages", COUNT),
    ("gc.urgent", COUNT),
    *_fields("gc.wear_leveling", ["erases", "copied_pages"], COUNT),
    *_fields("gc.time_us", ["map", "copy", "erase"], NUMBER),
    *_fields("gc", ["reclaimed_blocks", "reclaimed_partial_blocks", "reclaimed_sub_blocks", "u_blocks_max"], COUNT),
    *_fields("gc.map", ["ram_bytes", "hits", "misses", "write_backs", "erases"], COUNT),
    *_fields("write_latency_breakdown_us", _BREAKDOWN, NUMBER),
    *_fields("wear", ["aep", "vep", "max_erases_per_page", "mean_erase_latency_us"], NUMBER),
    *_fields("wear", ["mispredictions", "retired_blocks"], COUNT),
    *_fields("wear", ["m_rber", "pec_at_ecc", "pec_at_requirement"], NUMBER),
    *_fields("integrity", ["pages_checked", "corrupt_pages", "lost_pages"], COUNT),
    *_fields("run", ["requests", "flash_commands"], COUNT),
    *_fields("run", ["wall_s", "requests_per_s", "flash_commands_per_s", "peak_rss_mib", "bytes_per_page"], NUMBER),
]

#: Parts of the document that are kept whole, as JSON text.
JSON_FIELDS: tuple[str, ...] = (
    "gc.erases_by_merge", "gc.victim_fill", "wear.loops", "utilisation", "time_series", "device", "workload", "config",
    "warnings",
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One run of a study: what was varied, and either a result document or an error.

    Attributes:
        varied: value of each varied key, in the order of the study.
        seed: seed of the run.
        document: the result, or None if the run failed.
        error: one line that says why it failed, or None.
    """

    varied: Mapping[str, Any]
    seed: int | None
    document: dict[str, Any] | None
    error: str | None = None


def build(rows: Sequence[Row]) -> pa.Table:
    """A table of one row a run: the varied keys, status, error, then RESULT_FIELDS and JSON_FIELDS."""
    varied = list(rows[0].varied) if rows else []
    columns: dict[str, pa.Array] = {}
    for key in varied:
        columns[key] = _varied_column([row.varied[key] for row in rows])
    columns["run_seed"] = pa.array([row.seed for row in rows], COUNT)
    columns["status"] = pa.array(["done" if row.document is not None else "failed" for row in rows], TEXT)
    columns["error"] = pa.array([row.error for row in rows], TEXT)
    for path, kind in RESULT_FIELDS:
        columns[path] = pa.array([_scalar(row.document, path, kind) for row in rows], kind)
    for path in JSON_FIELDS:
        columns[path] = pa.array([_json_text(row.document, path) for row in rows], TEXT)
    return pa.table(columns)


def one_row(document: dict[str, Any]) -> pa.Table:
    """The table of a single result."""
    return build([Row(varied={}, seed=lookup(document, "seed"), document=document)])


def _varied_column(values: list[Any]) -> pa.Array:
    """Numbers stay numbers; a key whose values are of several types, or lists, becomes TOML-like text."""
    if all(isinstance(value, bool) for value in values):
        return pa.array(values, pa.bool_())
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return pa.array(values, COUNT)
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return pa.array([float(value) for value in values], NUMBER)
    return pa.array([value if isinstance(value, str) else json.dumps(value) for value in values], TEXT)


def _scalar(document: dict[str, Any] | None, path: str, kind: pa.DataType) -> Any:
    value = lookup(document, path)
    if value is None or isinstance(value, dict | list):
        return None
    if kind == TEXT:
        return str(value)
    return int(value) if kind == COUNT else float(value)


def _json_text(document: dict[str, Any] | None, path: str) -> str | None:
    value = lookup(document, path)
    return None if value is None else json.dumps(value, sort_keys=True)
