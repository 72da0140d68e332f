"""Requests out of tables: Parquet and Arrow files, and tables of a program.

A table becomes the engine's own text in memory: time in nanoseconds, operation, first byte, length in bytes, volume
and, if the table has a column for it, stream, one line a row. The engine decides by its rules which column is what;
this module converts the columns.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from pumice import _engine
from pumice.errors import SpecError, TraceError, one_line

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

#: Requests as the engine takes them: text, origin as results name it, and which column of the origin is what.
Content = tuple[bytes, str, str]

#: Columns of `read_trace` that tell the operation together, each with its word; a row without any is a read. The column
#: of commands to zones has the words itself.
_FLAGS = {"is_write": "W", "is_trim": "D", "is_flush": "F"}
_ZONE_COMMAND = "zone_command"

#: The engine's words of commands to zones whose length says nothing.
_WITHOUT_LENGTH = ("ZO", "ZC", "ZF", "ZR")

#: Beginnings of files, and what they are.
_MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow", b"FEA1": "feather", b"\xff\xff\xff\xff": "arrow stream"}

#: What messages and results call a program's table.
TABLE_NAME = "requests"

#: Bytes to which any file may unfold, how much more for each byte of the file, and those of a plain cell.
_UNFOLDED_LEAST, _UNFOLDED_RATIO, _CELL_BYTES = 256 << 20, 64, 8

_BYTES_MAX = 2**32 - 1
_STREAM_MAX = 255
_UINT64_MAX = 2**64 - 1

#: Names of columns whose text may be dates and times.
_TIME_NAME = re.compile(r"(?i)(time|date|timestamp|arrival|ts$|when)")

#: Bits of a float that hold its digits, by its size.
_MANTISSA_BITS = {16: 11, 32: 24, 64: 53}


def decode(path: str | os.PathLike[str], trace_format: str | None, columns: str | None) -> Content:
    """The requests of a Parquet, Feather or Arrow file. The engine calls this for every trace that begins as one.

    Args:
        path: the file.
        trace_format: format whose names of columns the file has, if they do not tell everything.
        columns: which column is what, as `workload.columns`.

    Raises:
        TraceError: the file is damaged, or a column is missing or holds what is not allowed; the text names file
            and row, counted from 1.
    """
    import pyarrow as pa  # loaded here: it starts slowly, and text needs none of it

    name = os.fsdecode(path)
    try:
        with open(name, "rb") as file:
            head = file.read(6)
        kind = next(kind for magic, kind in _MAGIC.items() if head.startswith(magic))
        table = _read(name, kind)
        table.validate(full=True)  # damage may lead anywhere in memory otherwise
        text, layout = _text(_with_operations(table, name), name, trace_format, columns)
    except TraceError:
        raise
    except (pa.ArrowException, OSError, EOFError, ValueError, MemoryError) as error:
        raise TraceError(f"{name}: damaged or cut off Parquet or Arrow file: {one_line(error)}") from None
    return text, kind.split()[0], layout["text"]


def _read(name: str, kind: str) -> pa.Table:
    import pyarrow as pa

    if kind == "parquet":
        return _read_parquet(name)
    if kind == "feather":
        import pyarrow.feather

        return pa.feather.read_table(name)
    with pa.OSFile(name, "rb") as source:
        reader = pa.ipc.open_file(source) if kind == "arrow" else pa.ipc.open_stream(source)
        if kind == "arrow":
            batches = (reader.get_batch(nth) for nth in range(reader.num_record_batches))
        else:
            batches = iter(reader)
        kept, unfolded = [], 0
        for batch in batches:
            unfolded += batch.nbytes
            _refuse_bomb(name, unfolded)
            kept.append(batch)
        table = pa.Table.from_batches(kept, schema=reader.schema)
    _refuse_words(name, table)
    return table


def _read_parquet(name: str) -> pa.Table:
    """A Parquet file. Its rows may take next to no room in it, and a text that many rows have stands in it once: how
    much it unfolds to is reckoned before it does."""
    import pyarrow as pa
    import pyarrow.parquet

    about = pa.parquet.ParquetFile(name)
    texts = [field.name for field in about.schema_arrow if pa.types.is_string(field.type)]
    groups = [about.metadata.row_group(nth) for nth in range(about.metadata.num_row_groups)]
    claimed = sum(group.column(nth).total_uncompressed_size for group in groups for nth in range(group.num_columns))
    rows, columns = about.metadata.num_rows, len(about.schema_arrow)
    _refuse_bomb(name, max(claimed, rows * columns * _CELL_BYTES))
    table = pa.parquet.ParquetFile(name, read_dictionary=texts).read()
    _refuse_words(name, table)
    return table.cast(about.schema_arrow)


def _refuse_words(name: str, table: pa.Table) -> None:
    """Refuses a table in which many rows have a text that stands in it once, if they unfold to too much.

    Raises:
        TraceError: they do.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    for column in table.columns:
        if pa.types.is_dictionary(column.type) and pa.types.is_string(column.type.value_type):
            longest = [pc.max(pc.binary_length(chunk.dictionary)).as_py() or 0 for chunk in column.chunks]
            _refuse_bomb(name, table.num_rows * max(longest, default=0))


def _refuse_bomb(name: str, unfolded: int) -> None:
    """Refuses a file that takes far more memory than a table of requests of its size.

    Raises:
        TraceError: it does.
    """
    allowed = _UNFOLDED_LEAST + _UNFOLDED_RATIO * os.path.getsize(name)
    if unfolded > allowed:
        raise TraceError(
            f"{name}: unfolds to {unfolded:,} bytes; allowed: {allowed:,}, which is {_UNFOLDED_LEAST >> 20} MiB and"
            f" {_UNFOLDED_RATIO} times its size; as text (csv.gz) it is read piece by piece"
        )


def content(requests: Any, trace_format: str | None, columns: str | None) -> Content:
    """A program's table as the engine takes it. Warns of columns that nobody named and that tell nothing of a request.

    Raises:
        SpecError: it is not a table.
        TraceError: there are no rows, or a column is missing or holds what is not allowed; the text names the row,
            counted from 1.
    """
    table = _with_operations(as_arrow(requests), TABLE_NAME)
    if table.num_rows == 0:
        raise TraceError(f"{TABLE_NAME}: the table has no rows; allowed: one request and more")
    text, layout = _text(table, TABLE_NAME, trace_format, columns)
    unread = [name for place, name in enumerate(table.column_names) if place not in _places(layout)]
    if unread and columns is None:
        named = ", ".join(json.dumps(name) for name in unread)
        warnings.warn(f"{TABLE_NAME}: columns that are not read: {named}", stacklevel=4)
    return text, "table", layout["text"]


def _places(layout: Mapping[str, Any]) -> set[int]:
    """Numbers of the columns that are read."""
    columns = [layout[role]["column"] for role in ("time", "offset", "size") if layout[role] is not None]
    columns += [layout[role] for role in ("op", "fua", "stream") if layout[role] is not None]
    first, last = layout["volume"] or (0, -1)
    return {*columns, *range(first, last + 1)}


def as_arrow(requests: Any) -> pa.Table:
    """A table of pandas, polars or Arrow, a structured array of numpy, or columns by name, as an Arrow table.

    Raises:
        SpecError: it is none of these, or its columns cannot be put side by side.
    """
    import pyarrow as pa

    names = getattr(getattr(requests, "dtype", None), "names", None)
    try:
        if type(requests).__module__.partition(".")[0] == "polars" and hasattr(requests, "collect"):
            requests = requests.collect()
        if isinstance(requests, pa.Table):
            return requests
        if names is not None:
            return pa.table({name: requests[name] for name in names})
        if isinstance(requests, Mapping):
            return pa.table({str(name): values for name, values in requests.items()})
        if type(requests).__module__.partition(".")[0] == "pandas" and hasattr(requests, "columns"):
            # An index of times is the column of times; another one counts the rows.
            has_times = type(requests.index).__name__ in ("DatetimeIndex", "TimedeltaIndex")
            return pa.Table.from_pandas(requests.reset_index() if has_times else requests, preserve_index=False)
        if hasattr(requests, "__arrow_c_stream__") or isinstance(requests, pa.RecordBatch):
            return pa.table(requests)
        if hasattr(requests, "to_arrow"):
            return pa.table(requests.to_arrow())
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise SpecError(f"requests: no table can be made of them: {one_line(error)}") from None
    raise SpecError(
        f"requests: {type(requests).__name__} is not a table; allowed: a table of pandas, polars or Arrow, a structured"
        " array of numpy, or a dictionary of columns"
    )


def _text(table: pa.Table, name: str, trace_format: str | None, columns: str | None) -> tuple[bytes, dict[str, Any]]:
    """The engine's text of a table, and which column of the table is what: `TableLayout` of the engine."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv

    twice = next((known for known in table.column_names if table.column_names.count(known) > 1), None)
    if twice is not None:
        raise TraceError(f'{name}: two columns are called "{twice}"; allowed are different names')
    table = _with_times(table)
    is_time = [pa.types.is_timestamp(field.type) or pa.types.is_duration(field.type) for field in table.schema]
    reading = json.dumps({"format": trace_format, "columns": columns})
    try:
        layout = json.loads(_engine.table_layout(list(zip(table.column_names, is_time, strict=True)), reading))
    except (TraceError, SpecError) as error:
        raise TraceError(f"{name}: {error}") from None
    reader = _Columns(table, name)
    operations = reader.operations(layout)
    carries = operations != "F"
    is_bare = np.isin(operations, _WITHOUT_LENGTH)
    with_length = reader.whole("size", layout["size"], carries & ~is_bare, 1, _BYTES_MAX)
    parts = {
        "time": reader.times(layout["time"]),
        "op": pa.array(operations),
        "offset": reader.whole("offset", layout["offset"], carries, 0, _UINT64_MAX),
        "size": pc.coalesce(with_length, reader.whole("size", layout["size"], is_bare, 0, _BYTES_MAX)),
        "volume": reader.volumes(layout["volume"]),
    }
    if layout["stream"] is not None:
        is_write = (operations == "W") | (operations == "WF")
        place = {"column": layout["stream"], "unit": 1}
        parts["stream"] = pc.fill_null(reader.whole("stream", place, is_write, 0, _STREAM_MAX), 0)
    sink = pa.BufferOutputStream()
    options = pa.csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none")
    pa.csv.write_csv(pa.table(parts), sink, options)
    return sink.getvalue().to_pybytes(), layout


def _with_times(table: pa.Table) -> pa.Table:
    """`table` with timestamps in place of text that is dates and times as ISO 8601 writes them, in columns of times."""
    import pyarrow as pa

    for place, field in enumerate(table.schema):
        is_text = pa.types.is_string(field.type) or pa.types.is_large_string(field.type)
        if not is_text or not _TIME_NAME.match(field.name):
            continue
        for zone in (None, "UTC"):
            with contextlib.suppress(pa.ArrowInvalid):
                times = table.column(place).cast(pa.timestamp("ns", zone))
                table = table.set_column(place, field.name, times)
                break
    return table


def _with_operations(table: pa.Table, name: str) -> pa.Table:
    """`table` with a column `op` in place of the flags of `read_trace`, if it has several of them.

    Raises:
        TraceError: a row has two of them.
    """
    import numpy as np
    import pyarrow as pa

    columns = [column for column in (*_FLAGS, _ZONE_COMMAND) if column in table.column_names]
    if len(columns) < 2 or "op" in table.column_names:
        return table
    words = np.full(table.num_rows, "R", dtype="<U6")
    for column in columns:
        if column == _ZONE_COMMAND:
            own = table[column].cast(pa.string()).fill_null("").to_numpy()
            is_set = own != ""
        else:
            own = _FLAGS[column]
            is_set = np.asarray(table[column].cast(pa.bool_()).fill_null(False).to_numpy())
        if (twice := is_set & (words != "R")).any():
            raise TraceError(
                f"{name}:{int(twice.argmax()) + 1}: {', '.join(columns)}: two say true; allowed is one a row"
            )
        words = np.where(is_set, own, words)
    return table.drop_columns(columns).append_column("op", pa.array(words))


class _Columns:
    """The columns of a table, checked and in the engine's units."""

    def __init__(self, table: pa.Table, name: str) -> None:
        self._table = table
        self._name = name

    def times(self, place: dict[str, int] | None) -> NDArray[Any]:
        """Nanoseconds; all 0 without a column."""
        import numpy as np
        import pyarrow as pa

        if place is None:
            return np.zeros(self._table.num_rows, dtype=np.uint64)
        column = self._table.column(place["column"])
        if pa.types.is_timestamp(column.type) or pa.types.is_duration(column.type):
            kind = pa.timestamp("ns", column.type.tz) if pa.types.is_timestamp(column.type) else pa.duration("ns")
            try:
                column = column.cast(kind).cast(pa.int64())
            except pa.ArrowException as error:
                raise TraceError(f"{self._name}: {self._label('time', place)}: {one_line(error)}") from None
        everywhere = np.ones(self._table.num_rows, dtype=bool)
        if pa.types.is_floating(column.type):
            # From here on the steps of a float are wider than the unit: arrivals would fall together.
            coarse = 2 ** _MANTISSA_BITS[column.type.bit_width]
            limits = f"finite, below {coarse} where they are of type {column.type}"
            allowed = f"numbers of 0 and more, {limits}, in units of {place['unit']} ns"
            values = self._floats("time", place, column, everywhere, allowed)
            self._refuse(values >= coarse, "time", place, allowed)
            scaled = np.rint(values * place["unit"])
            self._refuse(scaled >= 2.0**63, "time", place, f"times up to {2**63 - 1} ns")
            return np.asarray(scaled.astype(np.uint64))
        return np.asarray(self._scaled("time", place, column, everywhere, (0, _UINT64_MAX)))

    def whole(self, role: str, place: dict[str, int], carries: NDArray[Any], low: int, high: int) -> pa.Array:
        """Bytes of an address or a length, or numbers of streams; null where a row carries no data."""
        import pyarrow as pa

        column = self._table.column(place["column"])
        if pa.types.is_floating(column.type):
            # From here on a float has no room for every whole number: what it holds may have been rounded.
            rounded = 2 ** _MANTISSA_BITS[column.type.bit_width]
            allowed = f"whole numbers, below {rounded} where they are of type {column.type}"
            values = self._floats(role, place, column, carries, allowed)
            self._refuse(carries & ((values % 1 != 0) | (values >= rounded)), role, place, allowed)
            column = pa.chunked_array([pa.array(values.astype("uint64"))])
        return pa.array(self._scaled(role, place, column, carries, (low, high)), mask=~carries)

    def operations(self, layout: dict[str, Any]) -> NDArray[Any]:
        """The engine's words of the operations, with what a column of force unit access says."""
        import numpy as np

        words = self._by_word("op", layout["op"], dict(layout["words"]), "")
        if layout["fua"] is None:
            return words
        is_marked = self._by_word("fua", layout["fua"], dict(layout["truths"]), False)
        is_write = (words == "W") | (words == "WF")
        self._refuse(is_marked & ~is_write, "fua", {"column": layout["fua"]}, "0 and false, of writes also 1 and true")
        return np.where(is_marked, "WF", words)

    def _by_word(self, role: str, place: int, meanings: dict[str, Any], filler: Any) -> NDArray[Any]:
        """What the words of a column stand for; `filler` is of the same type."""
        import numpy as np
        import pyarrow as pa

        column = self._table.column(place)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        try:
            encoded = column.combine_chunks().dictionary_encode()
        except pa.ArrowNotImplementedError:  # lists and the like
            self._mistyped(role, {"column": place}, "text, whole numbers and truth values")
        values = encoded.dictionary.to_pylist()
        found = [meanings.get(self._word(value)) for value in values]
        indices = encoded.indices.fill_null(len(values)).to_numpy(zero_copy_only=False)
        known = np.array([meaning is not None for meaning in found] + [False])
        self._refuse(~known[indices], role, {"column": place}, ", ".join(meanings))
        return np.asarray(np.array([filler if meaning is None else meaning for meaning in [*found, None]])[indices])

    def volumes(self, place: list[int] | None) -> pa.Array:
        """Names of volumes; `0` without a column."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if place is None:
            return pa.repeat("0", self._table.num_rows)
        names = []
        for number in range(place[0], place[1] + 1):
            column = self._table.column(number)
            if pa.types.is_dictionary(column.type):
                column = column.cast(column.type.value_type)
            try:
                names.append(column.cast(pa.string()).combine_chunks())
            except pa.ArrowException:
                self._mistyped("volume", {"column": number}, "text and whole numbers")
        joined = names[0] if len(names) == 1 else pc.binary_join_element_wise(*names, ",")
        wrong = pc.or_(pc.match_substring_regex(joined, r"[\x00-\x1f\x7f\"]"), pc.equal(joined, ""))
        allowed = "names without control characters and quotes"
        self._refuse(pc.fill_null(wrong, True).to_numpy(zero_copy_only=False), "volume", {"column": place[0]}, allowed)
        return joined

    @staticmethod
    def _word(value: Any) -> str:
        """An operation's word: text without the blanks around it, a whole number or a truth value, in lower case."""
        plain = int(value) if isinstance(value, float) and value.is_integer() else value
        return str(plain).strip().lower()

    def _floats(self, role: str, place: dict[str, int], column: Any, where: NDArray[Any], allowed: str) -> NDArray[Any]:
        """Numbers that are finite and not negative; 0 where they do not matter."""
        import numpy as np

        values = np.where(where, column.cast("float64").fill_null(float("nan")).to_numpy(), 0.0)
        self._refuse(~(np.isfinite(values) & (values >= 0)), role, place, allowed)
        return np.asarray(values)

    def _scaled(
        self, role: str, place: dict[str, int], column: Any, where: NDArray[Any], limits: tuple[int, int]
    ) -> NDArray[Any]:
        """Whole numbers times the column's unit; 0 where they do not matter."""
        import numpy as np
        import pyarrow as pa

        unit, (low, high) = place["unit"], limits
        if not pa.types.is_integer(column.type):
            self._mistyped(role, place, "whole numbers" if role != "time" else "numbers, timestamps and durations")
        what = f"{'1' if low else '0'} to {high // unit}" + (f" in units of {unit}" if unit > 1 else "")
        missing = column.is_null().to_numpy()
        signed = column.fill_null(0).to_numpy()
        self._refuse(where & (missing | (signed < low) | (signed > high // unit)), role, place, what)
        return np.asarray(np.where(where, signed, 0).astype(np.uint64) * np.uint64(unit))

    def _label(self, role: str, place: dict[str, int]) -> str:
        return f'{role} (column "{self._table.column_names[place["column"]]}")'

    def _mistyped(self, role: str, place: dict[str, int], allowed: str) -> NoReturn:
        column = self._table.column(place["column"])
        kind, hint = str(column.type), ""
        if kind.removeprefix("large_") == "string":
            kind = f"text such as {json.dumps(column[0].as_py())}" if len(column) else "text"
            hint = ", as pandas.to_numeric makes them" if role != "time" else ""
        raise TraceError(f"{self._name}: {self._label(role, place)} holds {kind}; allowed are {allowed}{hint}")

    def _refuse(self, wrong: NDArray[Any], role: str, place: dict[str, int], allowed: str) -> None:
        """Refuses the first row that is wrong, if there is one."""
        if not wrong.any():
            return
        row = int(wrong.argmax())
        value = self._table.column(place["column"])[row].as_py()
        found = "nothing" if value is None else json.dumps(value, default=str)
        raise TraceError(f"{self._name}:{row + 1}: {self._label(role, place)} {found} found; allowed are {allowed}")
