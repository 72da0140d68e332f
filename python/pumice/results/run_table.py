"""Results as rows of one Arrow table, whose columns are always the same.

Scalars of the document become columns named by their dotted path. Lists, and parts whose fields
differ from run to run, are kept as JSON text in one column each.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from pumice.results.document import lookup
from pumice.results.fields import Field, fields

COUNT, NUMBER, TEXT = pa.int64(), pa.float64(), pa.string()

_TYPES = {"integer": COUNT, "number": NUMBER, "text": TEXT}

#: Parts of the document whose fields differ from run to run, or with the size of the device.
_WHOLE = ("config", "workload", "flows", "device", "plugin.counts", "gc.erases_by_merge", "utilisation")


def _whole(field: Field) -> str | None:
    """The part of the document that a field is kept in as JSON text; None if it has a column of its own."""
    part = next((part for part in _WHOLE if field.path.startswith(f"{part}.")), None)
    return field.path if part is None and field.type == "list" else part


#: Columns of every result, in order: path and type.
RESULT_FIELDS: list[tuple[str, pa.DataType]] = [
    (field.path, _TYPES[field.type]) for field in fields() if _whole(field) is None
]

#: Parts of the document that are kept whole, as JSON text.
JSON_FIELDS: tuple[str, ...] = tuple(dict.fromkeys(part for field in fields() if (part := _whole(field)) is not None))


@dataclass(frozen=True)
class Row:
    """One run of a batch: what was varied, and either a result document or an error.

    Attributes:
        varied: value of each varied key, in the order of the columns.
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
        columns[key] = _varied_column([_own(row.varied[key]) for row in rows])
    columns["run_seed"] = pa.array([row.seed for row in rows], COUNT)
    columns["status"] = pa.array(["done" if row.document is not None else "failed" for row in rows], TEXT)
    columns["error"] = pa.array([row.error for row in rows], TEXT)
    for path, kind in RESULT_FIELDS:
        if path in columns:  # varied, as `seed` or `preset` can be; a failed run has its value there too
            continue
        columns[path] = pa.array([_scalar(row.document, path, kind) for row in rows], kind)
    for path in JSON_FIELDS:
        columns[path] = pa.array([_json_text(row.document, path) for row in rows], TEXT)
    return pa.table(columns)


def one_row(document: dict[str, Any]) -> pa.Table:
    """The table of a single result."""
    return build([Row(varied={}, seed=lookup(document, "seed"), document=document)])


def _own(value: Any) -> Any:
    """A scalar of numpy as Python's own."""
    return value.item() if getattr(value, "ndim", None) == 0 else value


def _varied_column(values: list[Any]) -> pa.Array:
    """Numbers stay numbers; a key whose values are of several types, or lists, becomes TOML-like text."""
    if all(isinstance(value, bool) for value in values):
        return pa.array(values, pa.bool_())
    if all(isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 for value in values):
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
