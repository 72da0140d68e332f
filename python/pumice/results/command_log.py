"""Command logs, as `output.command_log` writes them: read as an array, or checked against the chip's rules."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
import pyarrow as pa

from pumice import _engine
from pumice.errors import SpecError, one_line, reason

#: A record of a command log, see docs/OUTPUTS.md.
COMMAND_DTYPE = np.dtype(
    [
        ("start_ns", "<u8"), ("end_ns", "<u8"),
        ("block", "<u4"), ("source_block", "<u4"), ("lpn", "<u4"), ("sequence", "<u4"), ("operand", "<u4"),
        ("page", "<u2"), ("source_page", "<u2"), ("version", "u1"), ("kind", "u1"), ("cause", "u1"), ("zero", "u1"),
    ]
)  # fmt: skip

#: Names of the kinds of command and of their causes, by their numbers in a log.
COMMANDS = (
    "read", "spare search", "program", "copy", "erase", "partial erase", "sub-block erase", "pause",
)  # fmt: skip
CAUSES = ("host", "garbage collection", "map", "read before a partial write", "padding of a zone")

_MAGIC = b"PUMICLOG"


def verify_log(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Replays a command log into an array of its own. Checks every rule of the chip, the tag of every page that
    was read, and that no die took a command while it was busy.

    Args:
        path: what `output.command_log` wrote, compressed or not.

    Returns:
        `commands` replayed; `corrupt_pages`, distinct logical pages that returned corrupt data; `broken`,
        None or the first broken rule as `record` (its number in the log), `start_ns` and `text`; and
        the log's `header`.

    Raises:
        TraceError: the file is not a command log, or damaged; the text says at which byte.

    Example:
        >>> spec = pumice.preset("tiny").with_(run={"max_requests": 100}, output={"command_log": True})
        >>> _ = pumice.run(spec, out="logged")
        >>> pumice.verify_log("logged/command_log.bin.zst")["broken"] is None
        True
    """
    verdict: dict[str, Any] = json.loads(_engine.verify_log(os.fsdecode(path)))
    return verdict


def read_command_log(path: str | os.PathLike[str]) -> tuple[dict[str, Any], np.ndarray[Any, Any]]:
    """The header of a command log and its records as a structured array (see `COMMAND_DTYPE`), all in
    memory and unchecked; `verify_log` checks them.

    Raises:
        SpecError: the file cannot be read or is not a command log.

    Example:
        >>> spec = pumice.preset("tiny").with_(run={"max_requests": 100}, output={"command_log": True})
        >>> _ = pumice.run(spec, out="commands")
        >>> header, records = pumice.read_command_log("commands/command_log.bin.zst")
        >>> int((records["kind"] == 2).sum()) >= 100  # programs
        True
    """
    name = os.fsdecode(path)
    try:
        compression = "zstd" if name.endswith(".zst") else None
        with open(name, "rb") as file, pa.input_stream(file, compression=compression) as stream:
            content = stream.read()
    except OSError as error:
        raise SpecError(f"{name}: {reason(error)}") from None
    if content[:8] != _MAGIC or len(content) < 16:
        raise SpecError(f"{name}: is not a command log: it does not begin with {_MAGIC.decode()}")
    length = int.from_bytes(content[12:16], "little")
    try:
        header = json.loads(content[16:length])
        return header, np.frombuffer(content, COMMAND_DTYPE, offset=length)
    except (ValueError, RecursionError) as error:
        raise SpecError(f"{name}: is damaged: {one_line(error)}") from None
