"""Results of finished runs on disk, by what they are results of.

The key of a run is a hash over the engine (its version and the bytes of its library), the resolved
configuration, the scale, the trace's content where a trace is replayed, and the policy and the
translation layer of the user's own where there are any. So a stored result is reused only where a new
run would give the same one. A stored document carries its key and a digest of its content, so that one
that was edited, damaged or put there by somebody else is noticed.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
from collections.abc import Collection
from pathlib import Path
from types import ModuleType
from typing import Any

from pumice import files
from pumice.errors import StoreError, TraceError, one_line, reason

#: Hexadecimal digits of a key in a file name: 128 bits.
KEY_DIGITS = 32

#: Field of a stored document that holds its key and digest. No result has it before it is stored.
STORED = "stored"

#: Age from which a file's time of change tells whether it changed again. File systems count in steps of up to
#: 2 seconds, and two changes within a step look like one.
_SETTLED_S = 3.0

#: Device, inode, size, and times of change of content and of inode, in nanoseconds.
_Identity = tuple[int, int, int, int, int]

#: Digests of files that are settled, by path, each with the file that it is of.
_digests: dict[str, tuple[_Identity, str]] = {}


class NotTheResult(Exception):
    """A stored file that is not a result of its key; the text is one line that says why."""


def result_key(engine: ModuleType, resolved: dict[str, Any]) -> str:
    """Key of the run that `engine` would make of a resolved request.

    Raises:
        TraceError: the trace to replay cannot be read, or not more than once.
    """
    parts = [
        engine.version(),
        file_digest(str(engine.__file__)),
        resolved["config_sha256"],
        repr(float(resolved["scale"])),
        trace_digest(resolved["config"]) or "",
        resolved.get("preset") or "",  # stands in the document
        *([f"policy {resolved['policy_sha256']}"] if resolved.get("policy_sha256") else []),
        *([f"plug-in {resolved['plugin_sha256']}"] if resolved.get("plugin_sha256") else []),
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:KEY_DIGITS]


def trace_digest(config: dict[str, Any]) -> str | None:
    """SHA-256 of the trace that a configuration replays; None if it replays none.

    Raises:
        TraceError: the trace cannot be read, or not more than once.
    """
    workload = config.get("workload", {})
    if workload.get("kind") != "trace":
        return None
    path = str(workload.get("path") or "")
    try:
        refuse_read_once(path, "repeated runs, comparisons and sweeps need")
        return file_digest(path)
    except OSError as error:
        raise TraceError(f"{path}: {reason(error)}") from None


def refuse_read_once(path: str, needs: str) -> None:
    """Refuses a trace that is gone once it was read: a pipe, a terminal, an open file of the process.

    Args:
        path: the trace.
        needs: who needs to read it more than once, with the verb, such as `sweeps need`.

    Raises:
        TraceError: it is one of these.
        OSError: it cannot be looked at.
    """
    mode = os.stat(path).st_mode
    if files.is_descriptor(path) or not (stat.S_ISREG(mode) or stat.S_ISBLK(mode) or stat.S_ISDIR(mode)):
        what = "standard input" if path in ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0") else "a pipe or device"
        raise TraceError(f"{path}: is {what}, which can be read once; {needs} a file")


def file_digest(path: str) -> str:
    """SHA-256 of a file. A file that has not changed since it was last read is not read again.

    Raises:
        OSError: it cannot be read.
    """
    with open(path, "rb") as file:
        identity = _identity(file.fileno())
        known = _digests.get(path)
        if known is not None and known[0] == identity:
            return known[1]
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        settled = time.time() - max(identity[3:]) / 1e9 > _SETTLED_S
        regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)  # a device keeps its times
        if settled and regular and _identity(file.fileno()) == identity:
            _digests[path] = identity, digest
        return digest


def _identity(handle: int) -> _Identity:
    found = os.fstat(handle)
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


class Store:
    """A directory of result documents, one JSON file a key."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        files.remove_abandoned(directory)

    def path(self, key: str) -> Path:
        """Path of the result of `key`, whether it exists or not."""
        return self.directory / f"{key}.json"

    def get(self, key: str) -> dict[str, Any] | None:
        """The stored document, or None if there is none.

        Raises:
            NotTheResult: there is a file, but it is not the result of `key` as it was stored.
        """
        path = self.path(key)
        if not os.path.lexists(path):
            return None
        try:
            if not path.is_file():
                raise NotTheResult(f"{path}: is not a file")
            document = json.loads(path.read_bytes())
        except OSError as error:
            raise NotTheResult(f"{path}: {reason(error)}") from None
        except (ValueError, RecursionError) as error:
            raise NotTheResult(f"{path}: not JSON: {one_line(error)}") from None
        mark = document.pop(STORED, None) if isinstance(document, dict) else None
        if not isinstance(mark, dict):
            raise NotTheResult(f"{path}: is not a stored result")
        if mark.get("key") != key:
            raise NotTheResult(f"{path}: is the result of another run")
        if mark.get("sha256") != _content_digest(document):
            raise NotTheResult(f"{path}: was changed after it was stored")
        return dict(document)

    def others(self, keys: Collection[str]) -> int:
        """How many results are here under other keys: of other specs, or of another engine."""
        return sum(path.stem not in keys for path in self.directory.glob("*.json"))

    def put(self, key: str, document: dict[str, Any]) -> None:
        """Stores a document, all of it or nothing.

        Raises:
            StoreError: it could not be written.
        """
        path = self.path(key)
        marked = {**document, STORED: {"key": key, "sha256": _content_digest(document)}}
        try:
            files.write_text(path, json.dumps(marked) + "\n")
        except OSError as error:
            raise StoreError(f"{path}: the result could not be written: {error.strerror or error}") from error


def _content_digest(document: dict[str, Any]) -> str:
    """SHA-256 of a document, whatever the order of its fields and the blanks between them."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
