"""Writers of the files that a run produces while it goes on."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self, TextIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pumice.outputs import FILES
from pumice.results.result import REQUEST_KINDS

#: Columns of `request_log.parquet`; times are simulated, latency is completion minus arrival.
REQUEST_SCHEMA = pa.schema(
    [
        ("arrival_ns", pa.int64()),
        ("done_ns", pa.int64()),
        ("kind", pa.dictionary(pa.int8(), pa.string())),
        ("offset_bytes", pa.int64()),
        ("bytes", pa.int64()),
        ("latency_us", pa.float64()),
    ]
)


class Writers:
    """The output files of one run, in a directory of their own."""

    def __init__(self, directory: Path, wanted: list[str], facts: dict[str, str]) -> None:
        self._paths = {key: directory / FILES[key] for key in wanted}
        self._facts = facts
        self._stack = ExitStack()
        self._requests: pq.ParquetWriter | None = None
        self._commands: Any = None
        self._timeline: TextIO | None = None

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            if (path := self._paths.get("request_log")) is not None:
                schema = REQUEST_SCHEMA.with_metadata(self._facts)
                file = stack.enter_context(open(path, "wb"))
                self._requests = stack.enter_context(pq.ParquetWriter(file, schema, compression="zstd"))
            if (path := self._paths.get("command_log")) is not None:
                file = stack.enter_context(open(path, "wb"))
                self._commands = stack.enter_context(pa.CompressedOutputStream(file, "zstd"))
            if (path := self._paths.get("timeline")) is not None:
                self._timeline = stack.enter_context(open(path, "w", encoding="utf-8", newline="\n"))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: Any) -> bool | None:
        return self._stack.__exit__(*error)

    def take(self, name: str, content: Any) -> None:
        """Writes a piece of the output `name` that the engine hands over."""
        if name == "request_log" and self._requests is not None:
            self._requests.write_table(_requests(content))
        elif name == "command_log" and self._commands is not None:
            self._commands.write(content)
        elif name == "timeline" and self._timeline is not None:
            self._timeline.write(content)
        elif name == "histograms":
            self._paths[name].write_bytes(content)
        elif name == "wear_map":
            erases = np.frombuffer(content["erases"], "<u4").reshape(content["blocks"], content["leaves"])
            with open(self._paths[name], "wb") as file:
                np.save(file, erases)


def _requests(columns: dict[str, bytes]) -> pa.Table:
    def numbers(name: str, kind: str) -> Any:
        return np.frombuffer(columns[name], kind)

    arrival, done = numbers("arrival_ns", "<i8"), numbers("done_ns", "<i8")
    kind = pa.DictionaryArray.from_arrays(pa.array(numbers("kind", "i1")), pa.array(REQUEST_KINDS))
    content = [
        arrival,
        done,
        kind,
        numbers("offset_bytes", "<i8"),
        numbers("bytes", "<u4").astype("i8"),
        (done - arrival) / 1_000.0,
    ]
    return pa.Table.from_arrays([pa.array(column) for column in content], schema=REQUEST_SCHEMA)
