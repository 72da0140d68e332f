"""Which format a trace is written in."""

from __future__ import annotations

import os
from pathlib import Path

from pumice import _engine
from pumice.errors import SpecError, nearest

#: Endings of compressed files.
_COMPRESSED = (".gz", ".zst", ".xz")

#: Formats of tables, by the ending of the file's name; Python writes them.
TABLES = {"parquet": "parquet", "arrow": "arrow", "feather": "arrow"}

#: Endings that say nothing of a format, so that the ending before them does: `x.msr.csv`.
_NEUTRAL = ("txt", "trace", "log", "ascii", "dat")


def writable() -> list[str]:
    """Names of the formats in which traces can be written."""
    return [*_engine.trace_formats(), *sorted(set(TABLES.values()))]


def format_to_write(path: str | os.PathLike[str], given: str | None) -> str:
    """The format to write `path` in: `given`, or what the name of the file says, such as `x.spc.gz`.

    Raises:
        SpecError: an unknown format, a name that says none, or a compressed table.
    """
    known = writable()
    name = Path(os.fsdecode(path)).name
    if given is None:
        found = _of_name(name)
        if found is None:
            raise SpecError(
                f"{os.fsdecode(path)}: the name does not say the format; end it in one of .{', .'.join(known)}, and"
                " then in .gz, .zst or .xz if it is to be compressed, or give the format (--to)"
            )
    else:
        found = given
        if found not in known:
            raise SpecError(
                f"format '{given}' is unknown or only read{nearest(given, known)}; allowed: {', '.join(known)}"
            )
    if found in TABLES.values() and name.lower().endswith(_COMPRESSED):
        raise SpecError(f"{os.fsdecode(path)}: {found} compresses its columns itself; leave out the last ending")
    return found


def _of_name(name: str) -> str | None:
    """The format that a file's name says; None if it says none."""
    lower = name.lower()
    for ending in _COMPRESSED:
        lower = lower.removesuffix(ending)
    endings = lower.split(".")[1:]
    while endings and endings[-1] in _NEUTRAL:
        endings.pop()
    formats = {name: name for name in _engine.trace_formats()} | {"iolog": "fio"} | TABLES
    if len(endings) > 1 and endings[-1] == "csv" and endings[-2] in formats:
        return formats[endings[-2]]
    return formats.get(endings[-1]) if endings else None
