"""Traces as arrays and as files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pumice import _engine, files
from pumice.runs.spec import Spec, check_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TYPES = {"arrival_ns": "<u8", "offset_bytes": "<u8", "bytes": "<u4", "is_write": "u1", "is_trim": "u1"}


def read_trace(
    path: str | os.PathLike[str], *, trace_format: str | None = None, volumes: str | None = None
) -> dict[str, NDArray[Any]]:
    """The requests of a trace as columns of equal length, in order of arrival.

    Args:
        path: trace file, plain or compressed with gzip, zstd or xz.
        trace_format: its format, if it should not be recognised by content.
        volumes: "overlay" (default), "separate", or the number or name of one volume.

    Returns:
        `arrival_ns` (uint64, from the first request), `offset_bytes` (uint64), `bytes` (uint32),
        `is_write` and `is_trim` (bool); what is neither is a read.

    Raises:
        TraceError: the trace cannot be read; the text names file and line.
        SpecError: format or volumes are no text.
    """
    import numpy as np  # loaded here: commands that read no trace start sooner without it

    check_reading(trace_format, volumes)
    columns = _engine.trace_read(os.fsdecode(path), trace_format, volumes)
    arrays = {name: np.frombuffer(columns[name], dtype=kind) for name, kind in _TYPES.items()}
    return arrays | {name: arrays[name].astype(bool) for name in ("is_write", "is_trim")}


def check_reading(trace_format: str | None, volumes: str | None) -> None:
    """Refuses options of reading that are no text.

    Raises:
        SpecError: one of them holds a byte that is not UTF-8.
    """
    check_text("format", trace_format or "")
    check_text("volumes", volumes or "")


def write_trace(spec: Spec, path: Path, trace_format: str) -> dict[str, Any]:
    """Writes the workload of `spec` as a trace to `path`, all of it or nothing. What is no regular file, such as a
    pipe or standard output (`-`), gets the trace piece by piece.

    A trace keeps its own addresses; other workloads have those of the spec's device. A path that
    ends in .gz, .zst or .xz is compressed.

    Returns:
        What was written: `format`, `lines`, `requests`, `bytes`, the format's grain of time and
        address, how many requests had to be rounded to it, and how many trims were left out because
        the format has none (fio alone has).

    Raises:
        SpecError, TraceError: the workload cannot be read or written.
        OSError: the file cannot be written.
    """
    check_text("format", trace_format)
    with files.streamed(path) as file:
        report: dict[str, Any] = json.loads(_engine.trace_write(spec.request(), trace_format, path, file.write))
    return report
