"""The fields of a result document, as the engine lists them: one row a field.

Columns of result tables, rows of comparisons and the lists of docs/RESULTS.md all come from here.
`python -m pumice.results.fields docs/RESULTS.md` writes the page's lists anew.
"""

from __future__ import annotations

import itertools
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from pumice import _engine, files

#: Kind of value. A "list" is one field, whatever its entries are; a "table" stands for all keys below it.
Type = Literal["text", "integer", "number", "list", "table"]

#: Lines of docs/RESULTS.md: an entry of a list of fields, and what stands above those of one kind of workload.
_ENTRY = re.compile(r"- `(\w+)[.`]")
_KIND = re.compile(r"Of (.+):")


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


def with_lists(page: str) -> str:
    """The text of docs/RESULTS.md with every list of fields written anew.

    A list keeps its place. It holds the fields of the sections (first parts of a path) that it
    held before, so that only a new section has to be put into the page by hand.

    Raises:
        ValueError: a field has no list in the page.
    """
    lines: list[str] = []
    kind = ""
    missing = list(fields())
    sections = {one.path.partition(".")[0] for one in missing}
    for is_list, group in itertools.groupby(page.splitlines(), lambda line: _section(line) in sections):
        block = list(group)
        if is_list:
            held = set(map(_section, block))
            listed = [one for one in fields() if one.workloads == kind and one.path.partition(".")[0] in held]
            missing = [one for one in missing if one not in listed]
            block = _entries(listed)
        else:
            above = _KIND.fullmatch(next((line for line in reversed(block) if line), ""))
            kind = above[1] if above else ""
        lines += block
    if missing:
        raise ValueError(f"fields without a list in docs/RESULTS.md: {', '.join(one.path for one in missing)}")
    return "\n".join([*lines, ""])


def _section(line: str) -> str:
    """The first part of the path that an entry of a list begins with; empty for other lines."""
    entry = _ENTRY.match(line)
    return entry[1] if entry else ""


def _entries(listed: Sequence[Field]) -> list[str]:
    """The entries of a list. Figures of one latency, and fields of one meaning, share one. The null condition of the
    list's first field holds for all and is not repeated, nor is that of the entry before."""
    entries: list[str] = []
    before = ""
    whole = "" if listed[0].null_when == "never" else listed[0].null_when
    for _, group in itertools.groupby(listed, _quantity):
        first, *others = group
        parent = first.path.rpartition(".")[0]
        names = f"`{parent}.{{{','.join(map(_name, [first, *others]))}}}`" if others else f"`{first.path}`"
        null = "" if first.null_when == "never" else first.null_when
        if entries and whole:
            for repeated in (whole, f"as `{listed[0].path}`", "as above"):
                null = null.removeprefix(repeated).removeprefix(";").removeprefix(", or").strip()
        shown = "same" if null == before else null
        before = null
        unit = f", {first.unit}" if first.unit else ""
        text = first.text.replace("Mean latency, from an exact sum", "Latency") if others else first.text
        entries.append(f"- {names}{unit}: {text}." + (f" *Null: {shown}.*" if null else ""))
    return entries


def _name(one: Field) -> str:
    """The last part of a field's path."""
    return one.path.rpartition(".")[2]


def _quantity(one: Field) -> tuple[str, ...]:
    """What fields of one row have in common: the mean, percentiles and maximum of a latency, or all but the name."""
    parent = one.path.rpartition(".")[0]
    return (parent,) if parent.endswith("latency_us") else (parent, one.unit, one.null_when, one.text)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        files.write_text(Path(name), with_lists(Path(name).read_text(encoding="utf-8")))
