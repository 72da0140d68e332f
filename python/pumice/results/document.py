"""Finding one's way in a nested result document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def lookup(document: dict[str, Any] | None, path: str) -> Any:
    """The field at a dotted path such as `host.write.latency_us.mean`, or None if it is absent."""
    node: Any = document
    for part in path.split("."):
        if not isinstance(node, dict) or part not in node:
            return None
        node = node[part]
    return node


def number(document: dict[str, Any] | None, path: str) -> float | None:
    """The number at a dotted path; None if it is absent or no number."""
    value = lookup(document, path)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def leaves(document: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """All `(dotted path, value)` pairs of a document, lists counting as values."""
    for key, value in document.items():
        path = f"{prefix}{key}"
        if isinstance(value, dict):
            yield from leaves(value, f"{path}.")
        else:
            yield path, value
