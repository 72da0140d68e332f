"""JSON files that this tool wrote, as they are read: bounded, and held against what they must have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pumice import files
from pumice.errors import SpecError, one_line
from pumice.results.document import lookup
from pumice.results.fields import Type, fields
from pumice.text import printable

#: Value of `format` in a result document that this version reads.
FORMAT = "pumice.result/1"

#: Sections that every result has.
SECTIONS = ("config", "workload", "host", "flash", "gc", "wear", "integrity", "run")

#: Longest JSON file that is read, in bytes.
JSON_BYTES_MAX = 1 << 30


#: Types of the values of each kind of field, and how messages name them.
_PYTHON: dict[str, Any] = {"text": str, "integer": int, "number": (int, float), "table": dict}
_KINDS = {
    "text": "a text", "integer": "a whole number", "number": "a number", "table": "an object",
    "list": "a list whose entries are alike",
}  # fmt: skip

#: The largest number of a result.
_NUMBER_MAX = 2**64

#: How much of a value is shown that is none of its field's.
_SHOWN = 60


#: What files are that are no results, by their endings.
_NOT_RESULTS = {
    ".json": "",
    ".toml": "; this is a spec: `pumice run` and `pumice sweep` make results of one",
}


def read_json(path: Path) -> Any:
    """The content of a JSON file.

    Raises:
        SpecError: it cannot be read or is not JSON.
    """
    content = files.read_bounded(path, JSON_BYTES_MAX)
    try:
        return json.loads(content)
    except RecursionError:
        raise SpecError(f"{path}: not JSON of this tool: nested too deeply") from None
    except ValueError as error:
        hint = _NOT_RESULTS.get(path.suffix, "; expected what run, compare or sweep write")
        raise SpecError(f"{path}: not JSON: {one_line(error)}{hint}") from None


def check_document(name: str, document: Any) -> dict[str, Any]:
    """`document`, if it is a whole result; `name` begins the message if it is not.

    Raises:
        SpecError: it is of another format, lacks a section that every result has, or has a field of another kind.
    """
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise SpecError(f"{name}: not a result document; expected format {FORMAT!r}")
    hollow = [section for section in SECTIONS if not isinstance(document.get(section), dict)]
    if hollow:
        raise SpecError(f"{name}: a result without {', '.join(hollow)}; expected every section of docs/RESULTS.md")
    for field in fields():
        path = field.path.removesuffix(".*")
        value = lookup(document, path)
        if value is not None and not _is(field.type, value):
            found = printable(json.dumps(value)[:_SHOWN])
            raise SpecError(f"{name}: {path} is {found}; expected {_KINDS[field.type]}")
    return document


def _is(kind: Type, value: Any) -> bool:
    """Whether a value is of the kind that its field has."""
    if kind == "list":
        return isinstance(value, list) and _are_alike(value)
    return isinstance(value, _PYTHON[kind]) and not isinstance(value, bool) and _is_bounded(value)


def _is_bounded(value: Any) -> bool:
    """Whether a value, if it is a number, is one that the engine counts or computes: finite, and no larger than a whole
    number of 64 bits."""
    return not isinstance(value, int | float) or abs(value) <= _NUMBER_MAX


def _are_alike(entries: list[Any]) -> bool:
    """Whether the entries of a list are of one kind: objects with the same names, and alike under each of them; lists;
    or texts or numbers, some of which may be null."""
    found = [entry for entry in entries if entry is not None]
    kinds = {"number" if isinstance(entry, int | float) else type(entry).__name__ for entry in found}
    if len(kinds) > 1 or any(isinstance(entry, bool) or not _is_bounded(entry) for entry in found):
        return False
    if kinds <= {"number", "str"}:
        return True
    if len(found) < len(entries):
        return False
    if kinds == {"list"}:
        return _are_alike([part for entry in found for part in entry])
    names = found[0].keys()
    same = all(entry.keys() == names for entry in found)
    return same and all(_are_alike([entry[name] for entry in found]) for name in names)
