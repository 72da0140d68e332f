"""Traces as arrays and as files."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pumice import _engine, files
from pumice.errors import SpecError
from pumice.results.document import lookup
from pumice.runs.run import with_options
from pumice.runs.spec import Spec
from pumice.runs.values import check_text
from pumice.traces import columnar
from pumice.traces.formats import TABLES, format_to_write

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FLAGS = ("is_write", "is_trim", "is_flush", "is_fua")
_TYPES = {"arrival_ns": "<u8", "offset_bytes": "<u8", "bytes": "<u4"} | dict.fromkeys((*_FLAGS, "stream"), "u1")


def read_trace(
    path: str | os.PathLike[str],
    *,
    trace_format: str | None = None,
    columns: str | None = None,
    volumes: str | None = None,
) -> dict[str, NDArray[Any]]:
    """The requests of a trace as columns of equal length, in order of arrival.

    Args:
        path: trace file: text, plain or compressed with gzip, zstd or xz; Parquet, Feather or Arrow.
        trace_format: its format, if it should not be recognised by content.
        columns: which column of delimited text or of a table is what, as `workload.columns`.
        volumes: "overlay" (default), "separate", or the number or name of one volume.

    Returns:
        `arrival_ns` (uint64, from the first request), `offset_bytes` (uint64), `bytes` (uint32),
        `is_write`, `is_trim` and `is_flush` (bool; what is none of them, and no command to a zone, is a read), and
        `is_fua` (bool, of writes: done only once the data is on flash). A flush has 0 bytes. A trace that names
        streams also gives `stream` (uint8): the one of each write, else 0. One with commands to zones also gives
        `zone_command` (text): "append", "open", "close", "finish" or "reset", else "".

    Raises:
        TraceError: the trace cannot be read; the text names file and line.
        SpecError: format, columns or volumes are no text, or `columns` is no list of columns.

    Example:
        >>> text = "time_us,op,offset_bytes,size_bytes\\n0,W,0,4096\\n10,R,0,4096\\n"
        >>> _ = pathlib.Path("two.csv").write_text(text)
        >>> pumice.read_trace("two.csv")["is_write"].tolist()
        [True, False]
    """
    import numpy as np  # loaded here: commands that read no trace start sooner without it

    read = _engine.trace_read(os.fsdecode(path), reading(trace_format, columns, volumes))
    arrays = {name: np.frombuffer(read[name], dtype=kind) for name, kind in _TYPES.items() if name in read}
    if "zone_command" in read:
        codes = np.frombuffer(read["zone_command"], dtype="u1")
        arrays["zone_command"] = np.array(["", *read["zone_commands"]])[codes]
    return arrays | {name: arrays[name].astype(bool) for name in _FLAGS}


def reading(trace_format: str | None, columns: str | None, volumes: str | None) -> str:
    """Options of reading, as the engine takes them.

    Raises:
        SpecError: one of them holds a byte that is not UTF-8.
    """
    given = {"format": trace_format, "columns": columns, "volumes": volumes}
    for name, value in given.items():
        check_text(name, value or "")
    return json.dumps(given)


def write_trace(
    requests: Any,
    path: str | os.PathLike[str],
    *,
    trace_format: str | None = None,
    columns: str | None = None,
) -> dict[str, Any]:
    """Writes a table of requests as a trace, all of it or nothing.

    Args:
        requests: a table as `pumice.run` takes it.
        path: the file to write. A name that ends in .gz, .zst or .xz is compressed.
        trace_format: its format; the name says it otherwise, such as x.spc.gz, x.csv or x.parquet.
        columns: which column of the table is what, as `pumice.run` takes it.

    Returns:
        What was written; see `write_workload`.

    Raises:
        SpecError: `requests` is not a table, or no format can be told.
        TraceError: a column is missing or holds what is not allowed, or the format cannot hold a request.
        OSError: the file cannot be written.

    Example:
        >>> table = {"time_us": [0, 10], "op": ["W", "R"], "offset_bytes": [0, 0], "size_bytes": [4096, 4096]}
        >>> facts = pumice.write_trace(table, "requests.csv")
        >>> pumice.read_trace("requests.csv")["bytes"].tolist()
        [4096, 4096]
    """
    place = Path(os.fsdecode(path))
    chosen = format_to_write(place, trace_format)
    spec = with_options(Spec(), trace=columnar.TABLE_NAME)
    return write_workload(spec, place, chosen, columnar.content(requests, None, columns))


def write_workload(
    spec: Spec, path: Path, trace_format: str, requests: columnar.Content | None = None
) -> dict[str, Any]:
    """Writes the workload of `spec` as a trace to `path`, all of it or nothing. What is no regular file, such as a
    pipe or standard output (`-`), gets the trace piece by piece.

    A trace keeps its own addresses; other workloads have those of the spec's device. A path that
    ends in .gz, .zst or .xz is compressed. `requests` are read in place of the spec's trace file.

    Returns:
        What was written: `format`, `lines`, `requests`, `bytes`, the format's grain of time and
        address, how many requests had to be rounded to it, and how many trims and flushes were left out
        because the format has none, and writes that lost their force unit access or their stream.

    Raises:
        SpecError, TraceError: the workload cannot be read or written.
        OSError: the file cannot be written.
    """
    check_text("format", trace_format)
    if requests is None:
        _refuse_source(spec, path)
    if trace_format in TABLES.values():
        return _write_table(spec, path, trace_format, requests)
    with files.streamed(path) as file:
        report: dict[str, Any] = json.loads(
            _engine.trace_write(spec.request(), trace_format, path, file.write, requests)
        )
    return report


def _refuse_source(spec: Spec, path: Path) -> None:
    """Refuses to write a trace over the file that it is read from.

    Raises:
        SpecError: the file is the same one, under whatever name.
    """
    source = lookup(spec.resolve(), "config.workload.path")
    if isinstance(source, str) and not files.is_written_through(path):
        with contextlib.suppress(OSError):
            if os.path.samefile(source, path):
                raise SpecError(f"{path}: is the trace that is read; name another file to write")


def _write_table(spec: Spec, path: Path, trace_format: str, requests: columnar.Content | None) -> dict[str, Any]:
    """Writes a workload as a Parquet or Arrow file with the columns of the format csv."""
    import pyarrow as pa  # loaded here: it starts slowly
    import pyarrow.csv
    import pyarrow.feather
    import pyarrow.parquet

    text = pa.BufferOutputStream()
    report: dict[str, Any] = json.loads(_engine.trace_write(spec.request(), "csv", "trace", text.write, requests))
    whole = pa.uint64()
    types = {
        "time_ns": whole,
        "op": pa.string(),
        "offset_bytes": whole,
        "size_bytes": pa.uint32(),
        "stream": pa.uint8(),
    }
    convert = pa.csv.ConvertOptions(column_types=types, strings_can_be_null=False)
    table = pa.csv.read_csv(pa.BufferReader(text.getvalue()), convert_options=convert)
    with files.atomic(path) as file:
        if trace_format == "parquet":
            pa.parquet.write_table(table, file, compression="zstd")
        else:
            pa.feather.write_feather(table, file, compression="zstd")
    return report | {"format": trace_format, "lines": table.num_rows}
