"""The table of recorded traces."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from conftest import REPOSITORY, Command
from pumice import SpecError
from pumice_papers.pen.recorded_traces import DEVICES, TracePlan, recorded_traces

LINE = "{},hm,0,{},{},4096,100\n"
SHARED = REPOSITORY.parent / "shared" / "traces"


def msr(path: Path, first_byte: int, step: int = 4096) -> None:
    start = 128166372000000000
    kinds = ("Write", "Read")
    path.write_text("".join(LINE.format(start + n * 10**5, kinds[n % 2], first_byte + n * step) for n in range(40)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    traces = tmp_path / "traces"
    traces.mkdir()
    msr(traces / "near.csv", 0)
    msr(traces / "far.csv", 5 << 40)
    (traces / "notes.csv").write_text("these are, no, requests\n")
    (traces / "README.md").write_text("About these traces.\n")
    (traces / ".hidden").write_text("x")
    return traces


def test_every_file_is_placed_or_told(folder: Path) -> None:
    far, near, notes = recorded_traces(folder)
    assert (far.path.name, far.address, near.address) == ("far.csv", "compact", "exact")
    assert (near.trace_format, near.requests, near.error) == ("msr", 40, None)
    assert "notes.csv:1" in (notes.error or "")
    assert len(TracePlan([far, near, notes]).jobs) == 2 * 2 * len(DEVICES)


def test_a_folder_without_traces_is_refused(tmp_path: Path, folder: Path) -> None:
    for name in ("near.csv", "far.csv"):
        (folder / name).unlink()
    with pytest.raises(SpecError, match=r"holds no trace that can be read; the first, .*notes\.csv"):
        recorded_traces(folder)
    with pytest.raises(SpecError, match="no such file"):
        recorded_traces(tmp_path / "nowhere")


def test_the_table_has_a_row_a_trace_and_ftl(command: Command, folder: Path, tmp_path: Path) -> None:
    (folder / "far.csv").unlink()
    done = command("reproduce", "pen", "--figure", "traces", "--traces", str(folder), "--out", "out", "--workers", "1")
    assert done.returncode == 0, done.stderr
    assert "near.csv" in done.stdout
    with (tmp_path / "out" / "figures" / "traces.csv").open() as file:
        rows = list(csv.reader(file))
    assert [row[0] for row in rows[1:]] == ["near.csv"] * len(DEVICES) + ["notes.csv"]
    assert [row[4] for row in rows[1:3]] == list(DEVICES)
    assert float(rows[1][5]) > 0


def test_without_a_folder_it_is_left_out_with_a_word(command: Command) -> None:
    done = command("reproduce", "pen", "--figure", "traces", "--out", "out")
    assert done.returncode == 0, done.stderr
    assert "--traces DIR names a folder" in done.stderr


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared traces are not here")
def test_the_shared_traces_can_all_be_placed() -> None:
    found = recorded_traces(SHARED)
    assert [trace.error for trace in found] == [None] * len(found)
    assert {trace.address for trace in found} <= {"exact", "compact", "wrap"}
