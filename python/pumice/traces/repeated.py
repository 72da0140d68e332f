"""Recorded traces repeated until they are long enough to be measured.

A slice of a few minutes neither fills a device nor holds the reads that a tail needs. Repeated, it has the
trace's addresses, sizes, kinds and bursts, but every repetition overwrites what the one before it wrote: its
heat is that of one slice, its footprint does not grow. Every result says how often its trace was repeated.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv

from pumice import _engine, files
from pumice.errors import SpecError, TraceError, reason
from pumice.results.document import lookup
from pumice.traces.read_write import read_trace

#: 2000-01-01 in the ticks of 100 ns since 1601 in which the format counts.
_EPOCH_TICKS = 125_911_584_000_000_000

#: Requests beyond which no trace is repeated once more.
REQUESTS_MAX = 4_000_000


@dataclass(frozen=True)
class Source:
    """A trace file that can be repeated, with what decides how often."""

    path: Path
    reads: int
    writes: int
    written_bytes: int


@dataclass(frozen=True)
class Need:
    """What a repeated trace is to have at least."""

    reads: int
    written_bytes: int


def most_written(directory: Path, count: int) -> list[Source]:
    """The `count` traces of a directory with most writes, of those whose clock can be replayed; the most written
    first, and fewer if there are no more.

    Left out are traces without times, with times on a grain of a millisecond or more, and with a clock that jumps.

    Raises:
        SpecError: no such directory.
    """
    try:
        paths = sorted(path for path in directory.iterdir() if path.is_file() and not path.name.startswith("."))
    except OSError as error:
        raise SpecError(f"{directory}: {reason(error)}") from None
    found = [source for path in paths if path.suffix not in (".md", ".txt") and (source := _source(path)) is not None]
    return sorted(found, key=lambda source: (-source.writes, source.path.name))[:count]


def _source(path: Path) -> Source | None:
    """A file as a source; None if it is not a trace, its clock cannot be replayed or it lacks reads or writes."""
    try:
        info = json.loads(_engine.trace_info(path))
    except (SpecError, TraceError):
        return None
    notes = info["notes"]
    usable = not (notes["untimed"] or notes["clock_jumps"] or notes["coarse_clock_ns"])
    reads, writes = (int(lookup(info, f"{kind}.requests") or 0) for kind in ("read", "write"))
    return Source(path, reads, writes, int(lookup(info, "write.bytes") or 0)) if usable and reads and writes else None


def repetitions(source: Source, need: Need) -> int:
    """How often a trace is to be replayed to have what is needed; at most `REQUESTS_MAX` requests."""
    wanted = max(math.ceil(need.reads / source.reads), math.ceil(need.written_bytes / source.written_bytes))
    return max(1, min(wanted, REQUESTS_MAX // (source.reads + source.writes)))


def write_repeated(source: Source, times: int, path: Path) -> int:
    """Writes a trace `times` times over, one after the other, as an MSR file compressed with zstd.

    A repetition begins one mean inter-arrival time after the one before it ended. Volumes lie side by side; trims,
    flushes and commands to zones are left out, since the format has none.

    Returns:
        Requests written.
    """
    columns = read_trace(source.path, volumes="separate")
    has_data = ~(columns["is_trim"] | columns["is_flush"])
    if (commands := columns.pop("zone_command", None)) is not None:
        has_data &= commands == ""
    kept = {name: values[has_data] for name, values in columns.items()}
    arrival = kept["arrival_ns"].astype(np.int64) // 100
    period = int(arrival[-1]) + max(1, int(arrival[-1]) // len(arrival))
    table = pa.table(
        {
            "ticks": _EPOCH_TICKS + np.add.outer(period * np.arange(times), arrival).ravel(),
            "host": _constant("trace", times * len(arrival)),
            "disk": np.zeros(times * len(arrival), np.int8),
            "type": pa.array(["Read", "Write"]).take(pa.array(np.tile(kept["is_write"].astype(np.int8), times))),
            "offset": np.tile(kept["offset_bytes"], times),
            "bytes": np.tile(kept["bytes"], times),
            "response": np.zeros(times * len(arrival), np.int8),
        }
    )
    plain = csv.WriteOptions(include_header=False, quoting_style="none")
    with files.replacing(path) as partial, pa.CompressedOutputStream(str(partial), "zstd") as stream:
        csv.write_csv(table, stream, plain)
    return times * len(arrival)


def _constant(text: str, count: int) -> Any:
    return pa.array([text]).take(pa.array(np.zeros(count, np.int8)))


def names(sources: Sequence[Source]) -> list[str]:
    """A short name of each: its file's, up to the first point, or all of it where two would have the same."""
    short = [source.path.name.partition(".")[0] for source in sources]
    return [name if short.count(name) == 1 else source.path.name for name, source in zip(short, sources, strict=True)]
