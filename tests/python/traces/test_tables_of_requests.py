"""Tables as traces: Parquet and Arrow files, and tables of pandas, polars, Arrow and numpy."""

from __future__ import annotations

import datetime
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet
import pytest

import pumice
from pumice.results.document import lookup

SMALL = pumice.preset("small").with_(run={"check": "integrity"})

#: Requests as columns that tell everything by their names.
COLUMNS: dict[str, list[Any]] = {
    "time_us": [0, 10, 25, 25, 40],
    "op": ["W", "r", "write", "D", "F"],
    "offset_bytes": [8192, 8192, 0, 4096, 0],
    "size_bytes": [4096, 512, 16384, 4096, 0],
}


def at(result: pumice.Result, path: str) -> Any:
    """A value of a result document."""
    return lookup(result.document, path)


def written(columns: dict[str, list[Any]], path: Path) -> Path:
    table = pa.table(columns)
    if path.suffix == ".parquet":
        pa.parquet.write_table(table, path)
    elif path.suffix == ".feather":
        pa.feather.write_feather(table, path, compression="lz4")
    else:
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    return path


def expected() -> dict[str, Any]:
    return {
        "arrival_ns": [0, 10_000, 25_000, 25_000, 40_000],
        "offset_bytes": [8192, 8192, 0, 4096, 0],
        "bytes": [4096, 512, 16384, 4096, 0],
        "is_write": [True, False, True, False, False],
        "is_trim": [False, False, False, True, False],
        "is_flush": [False, False, False, False, True],
        "is_fua": [False] * 5,
    }


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.arrows", "t.parquet.bin"])
def test_a_file_of_columns_is_a_trace(tmp_path: Path, name: str) -> None:
    path = written(COLUMNS, tmp_path / name.removesuffix(".bin")).rename(tmp_path / name)
    found = pumice.read_trace(path)
    assert {key: values.tolist() for key, values in found.items()} == expected()
    result = pumice.run(SMALL, trace=path)
    assert at(result, "workload.sha256") == pumice._engine.file_digest(path)
    assert at(result, "workload.columns") == "time=0:us,op=1,offset=2:bytes,size=3:bytes"


def structured() -> Any:
    kinds = [("time_us", "<f8"), ("op", "U5"), ("offset_bytes", "<i8"), ("size_bytes", "<u2")]
    rows = list(zip(*COLUMNS.values(), strict=True))
    return np.array(rows, dtype=kinds)


TABLES = {
    "pandas": lambda: pandas.DataFrame(COLUMNS),
    "polars": lambda: polars.DataFrame(COLUMNS),
    "arrow": lambda: pa.table(COLUMNS),
    "batch": lambda: pa.record_batch(COLUMNS),
    "numpy": structured,
    "columns": lambda: COLUMNS,
    "categories": lambda: pandas.DataFrame(COLUMNS).astype({"op": "category", "offset_bytes": "float64"}),
    "stamps": lambda: pandas.DataFrame(
        COLUMNS | {"time_us": pandas.Timestamp("2024-05-01T12:00:00Z") + pandas.to_timedelta(COLUMNS["time_us"], "us")}
    ).rename(columns={"time_us": "timestamp"}),
}


@pytest.mark.parametrize("kind", TABLES)
def test_tables_of_every_library_give_one_result(tmp_path: Path, kind: str) -> None:
    results = [pumice.run(SMALL, requests=table) for table in (TABLES[kind](), COLUMNS)]
    assert at(results[0], "workload.format") == "table"
    for field in ("host", "flash", "gc", "wear"):
        assert at(results[0], field) == at(results[1], field)
    report = pumice.write_trace(TABLES[kind](), tmp_path / "t.csv.zst")
    assert (report["requests"], report["trims_left_out"], report["fua_left_out"]) == (5, 0, 0)
    assert pumice.read_trace(tmp_path / "t.csv.zst")["bytes"].tolist() == COLUMNS["size_bytes"]


def test_the_digest_of_a_table_is_that_of_its_requests() -> None:
    sizes, operations = [4096, 512, 16384, 8192, 0], ["W", "W", "W", "D", "F"]
    changes: list[dict[str, Any]] = [{}, {"size_bytes": sizes}, {"op": operations}, {"note": [1] * 5}]
    digests = {
        at(pumice.run(SMALL, requests=COLUMNS | change), "workload.sha256")
        for change in changes
        if "note" not in change
    }
    with pytest.warns(UserWarning, match='requests: columns that are not read: "note", "x y"'):
        digests.add(at(pumice.run(SMALL, requests=COLUMNS | changes[-1] | {"x y": [1] * 5}), "workload.sha256"))
    assert len(digests) == 3, "a column that is not read changes nothing"


def test_what_read_trace_gives_is_a_table(tmp_path: Path) -> None:
    fua = COLUMNS | {"op": ["WF", "r", "W", "D", "F"]}
    pumice.write_trace(fua, tmp_path / "a.parquet")
    read = pumice.read_trace(tmp_path / "a.parquet")
    assert read["is_fua"].tolist() == [True, False, False, False, False]
    for name in ("b.csv", "c.parquet", "d.arrow"):
        pumice.write_trace(read, tmp_path / name)
        again = pumice.read_trace(tmp_path / name)
        assert all((again[key] == read[key]).all() for key in read), name


def test_commands_to_zones_come_back_from_every_kind_of_table(tmp_path: Path) -> None:
    table = {
        "time_us": [0, 10, 20, 30],
        "op": ["ZO", "append", "ZF", "ZR"],
        "offset_bytes": [0, 0, 0, 65536],
        "size_bytes": [0, 4096, 0, 1],
    }
    pumice.write_trace(table, tmp_path / "a.csv")
    read = pumice.read_trace(tmp_path / "a.csv")
    assert read["zone_command"].tolist() == ["open", "append", "finish", "reset"]
    assert not (read["is_write"] | read["is_trim"] | read["is_flush"]).any()
    for name in ("b.csv", "c.parquet", "d.arrow"):
        pumice.write_trace(read, tmp_path / name)
        again = pumice.read_trace(tmp_path / name)
        assert all((again[key] == read[key]).all() for key in read), name
    with pytest.raises(pumice.TraceError, match=r"requests:2: size .* 0 found"):
        pumice.write_trace(table | {"size_bytes": [0] * 4}, tmp_path / "e.csv")


@pytest.mark.parametrize("flag", [{"is_trim": [True, False]}, {"zone_command": ["reset", ""]}])
def test_a_row_is_of_one_operation(flag: dict[str, Any]) -> None:
    rows = {"time_us": [0, 1], "offset_bytes": [0, 8192], "size_bytes": [4096, 4096], "is_write": [True, True]}
    with pytest.raises(pumice.TraceError, match=r"requests:1: is_write, .*: two say true; allowed is one a row"):
        pumice.run(SMALL, requests=rows | flag)


def test_columns_are_named_by_number_or_name() -> None:
    other = {"lba": [16, 16, 0], "rw": [0, 1, 0], "when": [5.0, 5.5, 6.25], "n": [8, 1, 32]}
    lists = ("time=2:s,op=1:1/0,offset=0:sectors,size=3:sectors", "time=when:s,op=rw:1/0,offset=LBA:512,size=n:512")
    results = [pumice.run(SMALL, requests=other, columns=columns) for columns in lists]
    assert at(results[0], "workload.sha256") == at(results[1], "workload.sha256")
    assert at(results[0], "host.write.requests") == 2
    alibaba = {"timestamp": [7, 9], "opcode": ["R", "W"], "length": [512, 512], "offset": [0, 0], "device_id": [3, 4]}
    result = pumice.run(SMALL, requests=alibaba)
    assert at(result, "workload.columns") == "time=0:us,op=1:R/W,offset=3:bytes,size=2:bytes,volume=4"
    assert at(result, "workload.volumes_seen") == 2


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"op": ["W", "r", "x", "D", "F"]}, 'requests:3: op (column "op") "x" found; allowed are r, w, read'),
        ({"op": ["W", None, "W", "D", "F"]}, "requests:2: op"),
        (
            {"size_bytes": [4096, 0, 1, 1, 0]},
            'size (column "size_bytes") 0 found; allowed are 1 to 4294967295',
        ),
        ({"offset_bytes": [0, 0, -4096, 0, 0]}, "requests:3: offset"),
        ({"offset_bytes": [0, 0.5, 0, 0, 0]}, "requests:2: offset"),
        ({"offset_bytes": [0, None, 0, 0, 0]}, 'requests:2: offset (column "offset_bytes") nothing found'),
        # Not every whole number has a float of its own: 2^24 + 1 was read as 2^24.
        (
            {"offset_bytes": np.array([0, 2**24 - 1, 2**24 + 1, 0, 0], np.float32)},
            'requests:3: offset (column "offset_bytes") 16777216.0 found; allowed are whole numbers, below 16777216',
        ),
        ({"offset_bytes": [0.0, 2.0**53 - 1, 2.0**53, 0.0, 0.0]}, "requests:3: offset"),
        ({"op": [["W"], ["R"], ["W"], ["D"], ["F"]]}, "holds list<item: string>; allowed are text, whole numbers and"),
        ({"time_us": [0, 1, -1, 2, 3]}, "requests:3: time"),
        ({"time_us": [0.0, float("nan"), 1, 2, 3]}, "requests:2: time"),
        # From 2^24 on the steps of a float of 32 bits are wider than 1 us.
        (
            {"time_us": np.array([0, 1, 2**24 - 1, 2**24, 2**24 + 1], np.float32)},
            'requests:4: time (column "time_us") 16777216.0 found; allowed are numbers of 0 and more, finite, below'
            " 16777216 where they are of type float, in units of 1000 ns",
        ),
        ({"time_us": [0.0, 1.5, 2.0**53 - 1, 2.0**53, 2.0**53]}, "requests:4: time"),
        ({"time_us": pa.array([0, 1, 2, 2**63, 3], pa.uint64())}, "requests:4: time"),
        ({"time_us": list("abcde")}, 'holds text such as "a"; allowed are numbers, timestamps and durations'),
        ({"size_bytes": [4096, 2**33, 1, 1, 0]}, "requests:2: size"),
        ({"volume": ["a", "b", "", "c", "d"]}, "requests:3: volume"),
        ({"volume": ["a", "b\tc", "a", "c", "d"]}, "requests:2: volume"),
    ],
)
def test_what_a_column_may_not_hold_is_one_line(change: dict[str, list[Any]], part: str) -> None:
    with pytest.raises(pumice.TraceError) as caught:
        pumice.run(SMALL, requests=pa.table(COLUMNS | change))
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_columns_and_things_that_are_no_table_are_named() -> None:
    without = {name: values for name, values in COLUMNS.items() if name != "op"}
    with pytest.raises(pumice.TraceError, match="none of them is known to mean op"):
        pumice.run(SMALL, requests=without)
    with pytest.raises(pumice.TraceError, match='"time" does not end in a unit'):
        pumice.run(SMALL, requests=pandas.DataFrame(COLUMNS).rename(columns={"time_us": "time"}))
    for wrong in (3, "t.csv", [1, 2], np.zeros(3), {"a": [1], "b": [1, 2]}):
        with pytest.raises((pumice.SpecError, pumice.TraceError), match="requests:"):
            pumice.run(SMALL, requests=wrong)
    with pytest.raises(pumice.SpecError, match="not several"):
        pumice.run(SMALL, requests=COLUMNS, trace="x.csv")
    for empty in (pa.table(COLUMNS).slice(0, 0), {name: [] for name in COLUMNS}):
        with pytest.raises(pumice.TraceError, match=r"^requests: the table has no rows; allowed: one request"):
            pumice.run(SMALL, requests=empty)
    beyond = COLUMNS | {"offset_bytes": [2**50] * 5}
    with pytest.raises(pumice.TraceError, match=r"^requests:1: "):
        pumice.run(SMALL, requests=beyond)


FUA = [True, False, True, False, False]


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"fua": FUA}, "op"),
        ({"fua": FUA}, "kind"),
        ({"is_fua": FUA}, "kind"),
        ({"FUA": [1, 0, 1, 0, 0]}, "type"),
        ({"Force Unit Access": ["true", "False", "TRUE", "false", "false"]}, "op"),
        ({"fua": [1.0, 0.0, 1.0, 0.0, 0.0]}, "op"),
    ],
)
def test_force_unit_access_is_taken_in_every_spelling(change: dict[str, list[Any]], name: str, tmp_path: Path) -> None:
    spelled = COLUMNS | {"op": ["WF", "r", "WF", "D", "F"]}
    buffered = SMALL.with_(host={"write_buffer_kib": 4096})
    requests = {name if key == "op" else key: values for key, values in (COLUMNS | change).items()}
    results = [pumice.run(buffered, requests=table) for table in (spelled, requests)]
    assert [at(result, "host.write.fua_requests") for result in results] == [2, 2]
    assert at(results[0], "workload.sha256") == at(results[1], "workload.sha256")
    text = tmp_path / "t.csv"
    pandas.DataFrame(requests).to_csv(text, index=False)
    if not any(isinstance(value, float) for value in next(iter(change.values()))):  # text of truth values has no point
        assert pumice.read_trace(text)["is_fua"].tolist() == FUA
    given = "time=time_us,op=OP,offset=offset_bytes,size=size_bytes".replace("OP", name)
    listed = pumice.run(buffered, requests=requests, columns=f"{given},fua={next(iter(change))}")
    assert at(listed, "host.write.fua_requests") == 2


def test_force_unit_access_of_what_is_no_write_is_refused() -> None:
    for values, row in (([False, True, False, False, False], 2), ([0, 0, 0, 1, 0], 4), ([0, 0, 0, 0, 1], 5)):
        with pytest.raises(pumice.TraceError, match=f"^requests:{row}: fua .* of writes also 1 and true$"):
            pumice.run(SMALL, requests=COLUMNS | {"fua": values})
    for values in (["no"] * 5, [None] * 5, [2] * 5):
        with pytest.raises(
            pumice.TraceError, match=r'^requests:1: fua \(column "fua"\) .* allowed are 0, 1, false, true'
        ):
            pumice.run(SMALL, requests=COLUMNS | {"fua": values})
    with pytest.raises(pumice.TraceError, match="op, is_trim may all mean op"):
        pumice.run(SMALL, requests=COLUMNS | {"is_trim": [False] * 5})


def test_a_time_of_a_calendar_needs_no_unit() -> None:
    start = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
    stamps = [start + datetime.timedelta(microseconds=us) for us in COLUMNS["time_us"]]
    table = {"Timestamp": stamps} | {name: values for name, values in COLUMNS.items() if name != "time_us"}
    assert at(pumice.run(SMALL, requests=pa.table(table)), "host") == at(pumice.run(SMALL, requests=COLUMNS), "host")


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.arrows"])
def test_damaged_files_give_one_line_that_names_them(tmp_path: Path, name: str) -> None:
    whole = written(COLUMNS | {"note": ["x" * 100] * 5}, tmp_path / name).read_bytes()
    draw = random.Random(7)
    path = tmp_path / f"broken-{name}"
    messages = []
    for turn in range(150):
        damaged = bytearray(whole[: draw.randrange(8, len(whole))] if turn % 2 else whole)
        for _ in range(0 if turn % 2 else 3):
            damaged[draw.randrange(4, len(damaged))] = draw.randrange(256)
        path.write_bytes(damaged)
        try:
            pumice.read_trace(path)
        except pumice.TraceError as error:
            messages.append(str(error))
    assert len(messages) > 70
    assert not [text for text in messages if not text.startswith(str(path)) or "\n" in text]


def test_a_sweep_replays_a_file_of_columns_in_its_workers(tmp_path: Path) -> None:
    path = written(COLUMNS, tmp_path / "t.parquet")
    spec = SMALL.with_(workload={"kind": "trace", "path": str(path)})
    table = pumice.sweep(spec, {"ftl.merge": ["block-erase", "m-merge"]}, workers=2)
    assert table["status"].to_pylist() == ["done", "done"]


def test_streams_go_to_the_handles_of_their_numbers(tmp_path: Path) -> None:
    placed = COLUMNS | {"stream": [1, None, 2, None, None]}
    spec = pumice.preset("small").with_(ftl={"kind": "page", "handles": 3}, partial_erase={"unit": "none"})
    results = [pumice.run(spec, requests=placed)]
    for name in ("a.csv.gz", "b.parquet", "c.arrow"):
        assert pumice.write_trace(placed, tmp_path / name)["streams_left_out"] == 0
        read = pumice.read_trace(tmp_path / name)
        assert read["stream"].tolist() == [1, 0, 2, 0, 0], name
        results += [pumice.run(spec, trace=tmp_path / name), pumice.run(spec, requests=read)]
    assert "stream=4" in at(results[0], "workload.columns")
    for result in results:
        by_handle = [handle["host_bytes"] for handle in at(result, "placement.handles")]
        assert by_handle == [0, 16384, 16384]
    assert pumice.write_trace(placed, tmp_path / "d.spc")["streams_left_out"] == 2
    assert "stream" not in pumice.read_trace(tmp_path / "d.spc")
    few = pumice.run(spec.with_(ftl={"handles": 2}), requests=placed)
    said = "the workload names 3 streams, ftl.handles = 2: data of the others goes to handle 0"
    assert said in at(few, "warnings")


@pytest.mark.parametrize(("streams", "found"), [([1, 0, 256, 0, 0], "256"), ([None, 0, 1, 0, 0], "nothing")])
def test_a_stream_that_is_none_is_refused(streams: list[Any], found: str) -> None:
    with pytest.raises(pumice.TraceError, match=rf'requests:\d: stream \(column "stream"\) {found} found'):
        pumice.run(SMALL, requests=COLUMNS | {"stream": streams})


@pytest.mark.parametrize("bomb", ["rows", "text", "batches"])
def test_t968_a_small_file_does_not_unfold_without_limit(tmp_path: Path, bomb: str) -> None:
    """2 MB of Parquet asked for 3 GB: equal rows take no room in a file."""
    path = tmp_path / ("a.arrow" if bomb == "batches" else "a.parquet")
    rows = 100_000 if bomb == "text" else 4 << 20
    nothing = pa.repeat(pa.scalar(0, pa.uint64()), rows)
    word = "W" * (1 << 16 if bomb == "text" else 1)
    words = pa.DictionaryArray.from_arrays(nothing.cast(pa.int32()), pa.array([word]))
    columns = {"time_ns": nothing, "op": words, "offset_bytes": nothing, "size_bytes": nothing}
    more = {f"more_{nth}": nothing for nth in range(12 if bomb == "rows" else 0)}
    table = pa.table(columns | more)
    if bomb == "batches":
        with pa.ipc.new_file(path, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as out:
            for _ in range(4):
                out.write_table(table)
    else:
        pa.parquet.write_table(table, path, compression="zstd")
    assert path.stat().st_size < 2 << 20
    with pytest.raises(pumice.TraceError, match=rf"^{re.escape(str(path))}: unfolds to [\d,]+ bytes; allowed: "):
        pumice.read_trace(path)


def test_dates_are_times_whether_text_index_or_column() -> None:
    """An index of times was left out without a word, and text that is dates was refused for its column's name."""
    plain = pandas.DataFrame({"op": ["W", "R"], "offset_bytes": [0, 4096], "size_bytes": [4096, 4096]})
    texts = ["2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"]
    dates = pandas.to_datetime(texts)
    local = ["2026-01-01 00:00:00.000", "2026-01-01 00:00:01.000"]
    tables = [plain.assign(time=texts), plain.assign(time=local), plain.assign(time=dates)]
    tables.append(plain.set_index(dates.rename("time")))
    documents = [pumice.run(pumice.preset("tiny"), requests=table).to_dict()["host"] for table in tables]
    assert documents[0]["simulated_s"] > 1.0
    assert all(document == documents[0] for document in documents)


def test_errors_of_a_program_name_its_arguments() -> None:
    table = {"time_us": [0], "op": ["W"], "offset_bytes": [10**12], "size_bytes": [512]}
    with pytest.raises(pumice.TraceError, match="or let fit_device=True find a device"):
        pumice.run(pumice.preset("tiny"), requests=table)
    with pytest.raises(pumice.SpecError, match=r"pumice\.workloads\(\) lists them"):
        pumice.run(pumice.preset("tiny"), workload="nope")
