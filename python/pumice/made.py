"""How a set of output files was made: which program, from which commit, by which command, where and when.

It stands in a file of its own beside the result, because a result document is the same on every machine.
"""

from __future__ import annotations

import json
import os
import platform
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pumice import _engine, files
from pumice.errors import SpecError
from pumice.text import printable

#: Format of the file.
FORMAT = "pumice.made/1"

#: Name of the file, and the longest one that is read, in bytes.
MADE, BYTES_MAX = "made.json", 1 << 20

_TEXTS = ("version", "commit", "command", "written", "system", "processor", "python")

#: The command line that is being run; None if pumice is used as a library.
_command: str | None = None


@contextmanager
def command_line(arguments: Sequence[str]) -> Iterator[None]:
    """Inside the block, what is written says that this command line wrote it."""
    global _command
    _command = shlex.join(["pumice", *arguments])
    try:
        yield
    finally:
        _command = None


def facts() -> dict[str, Any]:
    """What is known about this process and this machine. `commit` and `command` are None where nobody knows them."""
    return {
        "format": FORMAT,
        "version": _engine.version(),
        "commit": _engine.commit(),
        "command": _command,
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
    }


def write(directory: Path, names: Sequence[str]) -> None:
    """Writes `made.json`.

    Args:
        directory: where.
        names: the files of the set, as paths from there.

    Raises:
        OSError: it cannot be written.
    """
    files.write_text(directory / MADE, json.dumps({**facts(), "files": list(names)}, indent=1) + "\n")


def files_of(directory: Path, unlisted: Sequence[str]) -> list[str] | None:
    """The files of the set in a directory, as `write` listed them; `unlisted` if it is of an earlier version, which did
    not list them; None if nothing proves that there is a set."""
    try:
        found = json.loads(files.read_bounded(directory / MADE, BYTES_MAX))
    except (SpecError, ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        return None
    names = found.get("files", list(unlisted))
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else None


def read(directory: Path) -> dict[str, str]:
    """The texts that `write` wrote into a directory; none if there is no such file.

    Raises:
        SpecError: it cannot be read, or is something else.
    """
    path = directory / MADE
    if not path.is_file():
        return {}
    try:
        found = json.loads(files.read_bounded(path, BYTES_MAX))
    except (ValueError, RecursionError):
        raise SpecError(f"{path}: not JSON of this tool") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise SpecError(f"{path}: does not say how a result was made; expected format {FORMAT!r}")
    return {name: printable(found[name]) for name in _TEXTS if isinstance(found.get(name), str)}


def _processor() -> str | None:
    """The processor's name, where the system tells."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            named = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    except OSError:
        named = []
    return named[0] if named else platform.processor() or None
