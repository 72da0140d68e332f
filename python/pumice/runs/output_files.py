"""Files that a run writes besides its result document, and how to read them back.

What the keys of `[output]` ask for lands in one directory under fixed names. Every file is there
completely or not at all: it is written under another name and renamed when the run has ended well.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pumice import _engine, files
from pumice.errors import SpecError
from pumice.runs.spec import Spec

#: Name of the file that each key of `[output]` asks for.
FILES = {
    "request_log": "request_log.parquet",
    "command_log": "command_log.bin.zst",
    "histograms": "latency.hlog",
    "wear_map": "wear_map.npy",
}

#: Kinds of a request, by their numbers in the engine.
KINDS = ("read", "write", "trim")

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

#: A record of a command log, see docs/OUTPUTS.md.
COMMAND_DTYPE = np.dtype(
    [
        ("start_ns", "<u8"), ("end_ns", "<u8"),
        ("block", "<u4"), ("source_block", "<u4"), ("lpn", "<u4"), ("sequence", "<u4"), ("operand", "<u4"),
        ("page", "<u2"), ("source_page", "<u2"), ("version", "u1"), ("kind", "u1"), ("cause", "u1"), ("zero", "u1"),
    ]
)  # fmt: skip

_MAGIC = b"PUMICLOG"


def run_to_text(spec: Spec, progress: Callable[..., Any] | None, out: Path | None) -> str:
    """Runs `spec` and returns the result document as JSON text.

    With `out` the document is also written there, as `result.json`, beside the files that the spec's
    `[output]` asks for. After an error or an interruption none of them is there.

    Raises:
        SpecError: as `simulate.run`; also if files are asked for and `out` is None.
        OSError: a file cannot be written.
    """
    request = spec.request()
    if out is None:
        return _engine.run(request, progress)
    resolved = spec.resolve()
    wanted = [key for key in FILES if resolved["config"]["output"][key]]
    facts = {"pumice.config_sha256": resolved["config_sha256"], "pumice.scale": repr(resolved["scale"])}
    files.prepare(out)
    with _Writers(out, wanted, facts) as writers:
        text = _engine.run(request, progress, writers.take)
    files.write_text(out / "result.json", text if text.endswith("\n") else f"{text}\n")
    return text


class _Writers:
    """The files of one run while it goes on."""

    def __init__(self, directory: Path, wanted: list[str], facts: dict[str, str]) -> None:
        self._paths = {key: directory / FILES[key] for key in wanted}
        self._facts = facts
        self._stack = ExitStack()
        self._requests: pq.ParquetWriter | None = None
        self._commands: Any = None

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for key, path in self._paths.items():
                partial = stack.enter_context(files.replacing(path))
                if key == "request_log":
                    schema = REQUEST_SCHEMA.with_metadata(self._facts)
                    self._requests = stack.enter_context(pq.ParquetWriter(partial, schema, compression="zstd"))
                elif key == "command_log":
                    plain = stack.enter_context(pa.OSFile(str(partial), "wb"))
                    self._commands = stack.enter_context(pa.CompressedOutputStream(plain, "zstd"))
                self._paths[key] = partial
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: Any) -> bool | None:
        return self._stack.__exit__(*error)

    def take(self, name: str, content: Any) -> None:
        """Takes a piece of an output from the engine."""
        if name == "request_log" and self._requests is not None:
            self._requests.write_table(_requests(content))
        elif name == "command_log" and self._commands is not None:
            self._commands.write(content)
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
    kind = pa.DictionaryArray.from_arrays(pa.array(numbers("kind", "i1")), pa.array(KINDS))
    content = [
        arrival,
        done,
        kind,
        numbers("offset_bytes", "<i8"),
        numbers("bytes", "<u4").astype("i8"),
        (done - arrival) / 1_000.0,
    ]
    return pa.Table.from_arrays([pa.array(column) for column in content], schema=REQUEST_SCHEMA)


def verify_log(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Replays a command log into an array of its own and checks every rule of the chip, every tag that
    a command was after, and that no die took a command while it was busy.

    Args:
        path: what `output.command_log` wrote, compressed or not.

    Returns:
        `commands` replayed; `corrupt_pages`, distinct logical pages that returned corrupt data; `broken`,
        None or the first broken rule as `record` (its number in the log), `start_ns` and `text`; and
        the log's `header`.

    Raises:
        TraceError: the file is no command log, or damaged; the text says at which byte.
    """
    verdict: dict[str, Any] = json.loads(_engine.verify_log(os.fspath(path)))
    return verdict


def read_command_log(path: str | os.PathLike[str]) -> tuple[dict[str, Any], np.ndarray[Any, Any]]:
    """The header of a command log and its records as a structured array (see `COMMAND_DTYPE`), all in
    memory and unchecked; `verify_log` checks them.

    Raises:
        SpecError: the file cannot be read or is no command log.
    """
    name = os.fspath(path)
    try:
        compression = "zstd" if name.endswith(".zst") else None
        with pa.input_stream(name, compression=compression) as stream:
            content = stream.read()
    except OSError as error:
        raise SpecError(f"{name}: {(error.strerror or str(error)).lower()}") from None
    if content[:8] != _MAGIC or len(content) < 16:
        raise SpecError(f"{name}: is no command log: it does not begin with {_MAGIC.decode()}")
    length = int.from_bytes(content[12:16], "little")
    try:
        header = json.loads(content[16:length])
        return header, np.frombuffer(content, COMMAND_DTYPE, offset=length)
    except ValueError as error:
        raise SpecError(f"{name}: is damaged: {error}") from None
