"""The fields of a result document, as the engine lists them: one row a field.

Columns of result tables, rows of comparisons and the tables of docs/RESULTS.md all come from here.
`python -m pumice.results.fields docs/RESULTS.md` writes the page's tables anew.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from pumice import _engine, files

#: Kind of value. A "list" is one field, whatever its entries are; a "table" stands for all keys below it.
Type = Literal["text", "integer", "number", "list", "table"]

#: How the head of a table of fields begins in docs/RESULTS.md. Workloads that alone have the fields
#: follow after a comma.
_HEADS = ("| Path |", "| Path, ")


@dataclass(frozen=True)
class Field:
    """A field of the result document.

    Attributes:
        path: dotted path in the document; it ends in `.*` if it stands for all keys below it.
        unit: unit of the value; empty for a count without a unit, a name or a text.
        type: kind of the value.
        null_when: when the value is null or the field is absent; "never" if neither happens.
        text: what the field means, in Markdown.
        workloads: kinds of workload whose runs have the field; empty if all have it.
    """

    path: str
    unit: str
    type: Type
    null_when: str
    text: str
    workloads: str = ""


@cache
def fields() -> tuple[Field, ...]:
    """All fields, in the order of the document."""
    rows = json.loads(_engine.result_fields())
    return tuple(Field(**{**row, "null_when": row["null_when"] or "never"}) for row in rows)


def field(path: str) -> Field:
    """The field at a dotted path.

    Raises:
        KeyError: there is no such field.
    """
    for found in fields():
        if found.path == path:
            return found
    raise KeyError(path)


def names_below(path: str) -> tuple[str, ...]:
    """Names of the fields directly below a dotted path, in order."""
    lead = f"{path}."
    return tuple(found.path.removeprefix(lead) for found in fields() if found.path.startswith(lead))


def with_tables(page: str) -> str:
    """The text of docs/RESULTS.md with every table of fields written anew.

    A table keeps its place. It lists the fields of the sections (first parts of a path) that it
    listed before, so that only a new section has to be put into the page by hand.

    Raises:
        ValueError: a field has no table in the page.
    """
    lines: list[str] = []
    table: list[str] = []
    missing = list(fields())
    for line in [*page.splitlines(), ""]:
        if line.startswith("|"):
            table.append(line)
            continue
        if table and table[0].startswith(_HEADS):
            listed = _listed(table)
            missing = [one for one in missing if one not in listed]
            table[2:] = _rows(listed)
        lines += [*table, line]
        table = []
    if missing:
        raise ValueError(f"fields without a table in docs/RESULTS.md: {', '.join(one.path for one in missing)}")
    return "\n".join(lines)


def _listed(table: Sequence[str]) -> list[Field]:
    """The fields that belong into a table of the page, given as its lines: a head, a rule, then rows."""
    workloads = table[0].split("|")[1].strip().partition(", ")[2]
    sections = {row.split("`")[1].partition(".")[0] for row in table[2:]}
    return [one for one in fields() if one.workloads == workloads and one.path.partition(".")[0] in sections]


def _rows(listed: Sequence[Field]) -> list[str]:
    """The rows of a table. The figures of one latency share a row; "never" is left out, and what is said above too."""
    rows, above = [], ""
    for _, group in itertools.groupby(listed, _quantity):
        first, *others = group
        parent = first.path.rpartition(".")[0]
        names = f"`{parent}.{{{','.join(map(_name, [first, *others]))}}}`" if others else f"`{first.path}`"
        is_above = first.null_when in (above, "as above")
        null = "" if first.null_when == "never" else " ″" if is_above else f" {first.null_when}"
        above = above if is_above else first.null_when
        for one in others:
            if one.null_when != first.null_when and not one.null_when.startswith("as "):
                null += f"; `.{_name(one)}`: {one.null_when}"
        unit = f", {first.unit}" if first.unit else ""
        text = first.text.replace("Mean latency, from an exact sum", "Latency") if others else first.text
        rows.append(f"| {names}{unit} | {text} |{null} |")
    return rows


def _name(one: Field) -> str:
    """The last part of a field's path."""
    return one.path.rpartition(".")[2]


def _quantity(one: Field) -> str:
    """What fields of one row have in common: the mean, percentiles and maximum of a latency, else a field alone."""
    parent = one.path.rpartition(".")[0]
    return parent if parent.endswith("latency_us") else one.path


if __name__ == "__main__":
    for name in sys.argv[1:]:
        files.write_text(Path(name), with_tables(Path(name).read_text(encoding="utf-8")))
