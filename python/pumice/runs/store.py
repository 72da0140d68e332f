"""Results on disk, found again by what was simulated.

A result's key is a hash over the engine (its version and the bytes of its library), the resolved
configuration, the scale and, where a trace is replayed, the trace's content. So a stored result is
reused only where a new run would give the same one.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from pumice import files
from pumice.errors import StoreError, TraceError

#: Hexadecimal digits of a key in a file name: 128 bits.
KEY_DIGITS = 32


def result_key(engine: ModuleType, resolved: dict[str, Any]) -> str:
    """Key of the run that `engine` would make of a resolved request.

    Raises:
        TraceError: the trace to replay cannot be read.
    """
    parts = [
        engine.version(),
        _file_digest(str(engine.__file__)),
        resolved["config_sha256"],
        repr(float(resolved["scale"])),
        _trace_digest(resolved["config"]),
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:KEY_DIGITS]


def _trace_digest(config: dict[str, Any]) -> str:
    workload = config.get("workload", {})
    if workload.get("kind") != "trace":
        return ""
    path = str(workload.get("path") or "")
    try:
        return _file_digest(path)
    except OSError as error:
        raise TraceError(f"{path}: {(error.strerror or 'cannot be read').lower()}") from None


@cache
def _file_digest(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Store:
    """A directory of result documents, one JSON file a key."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def path(self, key: str) -> Path:
        """Path of the result of `key`, whether it exists or not."""
        return self.directory / f"{key}.json"

    def get(self, key: str) -> dict[str, Any] | None:
        """The stored document, or None if there is none that can be read."""
        try:
            document = json.loads(self.path(key).read_bytes())
        except (OSError, ValueError):
            document = None
        # An absent or foreign file: the run is simulated again and the file replaced.
        return document if isinstance(document, dict) and document else None

    def put(self, key: str, document: dict[str, Any]) -> None:
        """Stores a document, all of it or nothing.

        Raises:
            StoreError: it could not be written.
        """
        path = self.path(key)
        try:
            files.write_text(path, json.dumps(document) + "\n")
        except OSError as error:
            raise StoreError(f"{path}: the result could not be written: {error.strerror or error}") from error
