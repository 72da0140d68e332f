"""Access to nested result documents: fields by dotted path, and warnings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

#: Stands in a warning between a key and the reason why its run does not read the key.
WITHOUT_EFFECT = " has no effect with "


def lookup(document: Mapping[str, Any] | None, path: str) -> Any:
    """The field at a dotted path such as `host.write.latency_us.mean`, or None if it is absent."""
    node: Any = document
    for part in path.split("."):
        if not isinstance(node, Mapping) or part not in node:
            return None
        node = node[part]
    return node


def number(document: Mapping[str, Any] | None, path: str) -> float | None:
    """The number at a dotted path; None if it is absent or no number."""
    value = lookup(document, path)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def leaves(document: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """All `(dotted path, value)` pairs of a document, lists counting as values."""
    for key, value in document.items():
        path = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from leaves(value, f"{path}.")
        else:
            yield path, value


def subject(document: Mapping[str, Any]) -> str:
    """What was run, in words: preset, workload and scale."""
    preset = document.get("preset")
    workload = lookup(document, "workload.kind") or "workload"
    return f"{f'{preset}: ' if preset else ''}{workload}, scale {document.get('scale')}"


def warnings_of(documents: Iterable[Mapping[str, Any] | None]) -> list[str]:
    """Each distinct warning of some result documents, in order. None stands for a run that failed.

    The warning that a key has no effect is kept only if every run has it: a sweep may well set keys
    that some of its runs do not read.
    """
    given = [_own_warnings(document) for document in documents if document is not None]
    silent = [{warning.partition(WITHOUT_EFFECT)[0] for warning in own if WITHOUT_EFFECT in warning} for own in given]
    everywhere = set.intersection(*silent) if silent else set()
    found: dict[str, str] = {}
    for warning in (warning for own in given for warning in own):
        key, between, _ = warning.partition(WITHOUT_EFFECT)
        if not between:
            found.setdefault(warning, warning)
        elif key in everywhere:
            found.setdefault(key, warning)
    return list(found.values())


def warnings_of_all(named: Iterable[tuple[str, Mapping[str, Any]]]) -> list[str]:
    """As `warnings_of`, with one line for warnings that differ in their numbers alone; it names the results that have
    them if not all do."""
    results = list(named)
    lines: dict[str, list[str]] = {}
    for line in warnings_of(document for _, document in results):
        lines.setdefault(_NUMBER.sub("#", line), []).append(line)
    return [_warning(like, alike, results) for like, alike in lines.items()]


#: A number in a warning.
_NUMBER = re.compile(r"\d[\d,.]*")


def _warning(like: str, alike: list[str], results: list[tuple[str, Mapping[str, Any]]]) -> str:
    """Equal warnings as one line, the first of them."""
    own = [name for name, found in results if any(_NUMBER.sub("#", line) == like for line in _own_warnings(found))]
    names = list(dict.fromkeys(own))
    if len(own) == len(results) or WITHOUT_EFFECT in like:
        who = f"all {len(names)}: " if len(alike) > 1 else ""
    else:
        who = f"{names_of(names, [name for name, _ in results])}: "
    return f"{who}{alike[0]}{' (numbers of the first)' if len(alike) > 1 else ''}"


#: What parts one key of a variant's name from the next.
_NEXT_PART = re.compile(r", (?=[^\s,=]+ = )| / ")


def names_of(names: Sequence[str], every: Sequence[str]) -> str:
    """The names of some variants in one text: what these and no others have in common, if there is such a thing.

    >>> names_of(["a = 1, b = x", "a = 1, b = y"], ["a = 1, b = x", "a = 1, b = y", "a = 2, b = x"])
    'a = 1'
    """
    common = [part for part in _NEXT_PART.split(names[0]) if all(part in _NEXT_PART.split(name) for name in names)]
    sharers = [name for name in every if set(common) <= set(_NEXT_PART.split(name))]
    return ", ".join(common) if common and set(sharers) == set(names) else "; ".join(names)


def _own_warnings(document: Mapping[str, Any]) -> list[str]:
    """The warnings of a document, and what was wrong with its snapshots."""
    faults = lookup(document, "run.snapshot_faults") or []
    return [*(document.get("warnings") or []), *faults]
