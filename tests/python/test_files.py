"""Files are there completely or not at all; what is no regular file is written through."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import pumice
from pumice import files
from pumice.errors import SpecError, StoreError


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failure_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = tmp_path / "result.json"
    files.write_text(path, "old")

    def full(*_arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, step, full)
    with pytest.raises(OSError, match="No space left") as raised:
        files.write_text(path, "new")
    assert raised.value.filename == str(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_while_writing_leaves_nothing(tmp_path: Path) -> None:
    def stop_halfway() -> None:
        with files.atomic(tmp_path / "new" / "a") as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop_halfway()
    assert list(tmp_path.iterdir()) == []


#: Modules in whose lines the files are created, begun and ended.
STOPPED_IN = {module.__file__ for module in (files, contextlib)}


def _write_in(directory: Path) -> None:
    with files.output_directory(directory), files.staging(directory) as staged:
        files.write_text(staged / "a", "new")
        files.install(staged / "a", directory / "a")
        files.write_text(directory / "b", "new")


def _stopped_at(nth: int, directory: Path) -> bool:
    """Whether Ctrl-C came before `_write_in` ended: before the `nth` line that it runs in `STOPPED_IN`."""
    left = nth

    def trace(frame: FrameType, event: str, _argument: object) -> Callable[..., Any] | None:
        nonlocal left
        if frame.f_code.co_filename not in STOPPED_IN:
            return None
        if event == "line":
            left -= 1
            if left < 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        _write_in(directory)
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def test_ctrl_c_at_any_line_leaves_whole_files_and_nothing_else(tmp_path: Path) -> None:
    """Machines under load took the signal between creating a file and knowing its name, and the file stayed."""
    nth, seen = 0, set()
    while True:
        directory = tmp_path / str(nth)
        stopped = _stopped_at(nth, directory)
        left = {name: (directory / name).stat().st_size for name in os.listdir(directory)} if directory.exists() else {}
        assert left in ({}, {"a": 3}, {"a": 3, "b": 3}), nth
        assert left or not directory.exists(), nth
        seen.add(len(left))
        if not stopped:
            break
        nth += 1
    assert seen == {0, 1, 2}
    assert len(left) == 2


def test_directories_are_made_and_modes_follow_the_umask(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "c.txt"
    files.write_text(path, "µ")
    assert path.read_text(encoding="utf-8") == "µ"
    plain = tmp_path / "plain"
    plain.touch()
    assert path.stat().st_mode == plain.stat().st_mode


def test_long_names_are_written(tmp_path: Path) -> None:
    for name in ("x" * 250, os.fsdecode(b"\xff" * 250)):
        files.write_text(tmp_path / name, "x")
        assert (tmp_path / name).read_text() == "x"


def test_a_link_keeps_leading_to_its_file(tmp_path: Path) -> None:
    """A link was replaced by a file, and what it led to was left as it was."""
    (tmp_path / "other").mkdir()
    target, link = tmp_path / "other" / "target", tmp_path / "link"
    os.symlink(target, link)
    for text in ("one", "two"):  # the first time the link leads nowhere
        files.write_text(link, text)
        assert link.is_symlink()
        assert target.read_text() == text
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["target"]


def test_a_link_is_not_followed_to_what_it_calls_abandoned(tmp_path: Path) -> None:
    """Only what this tool wrote is removed: a link of that name is somebody's, and so is what it leads to."""
    link = tmp_path / f"{files._HIDDEN}x{files._PARTIAL}"
    (tmp_path / "kept").write_text("x")
    link.symlink_to(tmp_path / "kept")
    files.remove_abandoned(tmp_path)
    assert link.is_symlink()
    assert (tmp_path / "kept").read_text() == "x"


def test_a_device_stays_a_device(tmp_path: Path) -> None:
    """`/dev/full` became a regular file."""
    link = tmp_path / "full"
    os.symlink("/dev/full", link)
    with pytest.raises(OSError, match="No space left on device") as raised:
        files.write_text(link, "text")
    assert raised.value.filename == str(link)
    assert os.readlink(link) == "/dev/full"
    assert Path("/dev/full").is_char_device()
    files.write_text(Path("/dev/null"), "text")
    assert Path("/dev/null").is_char_device()
    assert list(tmp_path.iterdir()) == [link]


def test_a_pipe_is_written_through(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    tiny = pumice.preset("tiny").with_(run={"max_requests": 100})
    result = pumice.run(tiny)
    result.to_parquet(tmp_path / "file")  # a format whose writer asks where in the file it is
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    result.to_parquet(pipe)
    reader.join(timeout=30)
    assert read == [(tmp_path / "file").read_bytes()]
    assert pipe.is_fifo()


def test_a_reader_that_leaves_is_told_in_one_line(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def leave() -> None:
        with pipe.open("rb"):
            pass

    threading.Thread(target=leave, daemon=True).start()
    with pytest.raises(StoreError, match="pipe: nobody reads it any more"):
        files.write_text(pipe, "x" * 10_000_000)


def test_an_open_file_is_written_where_it_is(tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb") as file:
        place = Path(f"/dev/fd/{file.fileno()}")
        assert files.is_descriptor(place)
        assert files.is_written_through(place)
        inode = (tmp_path / "file").stat().st_ino
        files.write_text(place, "text")
    assert (tmp_path / "file").read_text() == "text"
    assert (tmp_path / "file").stat().st_ino == inode
    os.symlink("/dev/stdin", tmp_path / "link")
    assert files.is_descriptor(tmp_path / "link")
    assert not files.is_descriptor(tmp_path / "file")
    os.symlink("loop", tmp_path / "loop")
    assert not files.is_descriptor(tmp_path / "loop")


@pytest.mark.parametrize("what", ["file", "directory"])
def test_what_a_killed_process_left_is_removed_and_what_a_living_one_writes_stays(tmp_path: Path, what: str) -> None:
    """Files under hidden names stayed for ever."""
    begin = {
        "file": "stack.enter_context(files.replacing(Path('file')))",
        "directory": "(stack.enter_context(files.staging(Path())) / 'file').touch()",
    }
    script = f"""
import contextlib, sys, time
from pathlib import Path
from pumice import files
stack = contextlib.ExitStack()
{begin[what]}
print("begun", flush=True)
time.sleep(60)
"""
    process = subprocess.Popen([sys.executable, "-c", script], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    (tmp_path / ".mine.partial").touch()
    with files.output_directory(tmp_path):
        assert len(list(tmp_path.iterdir())) == 2
    process.kill()
    process.communicate()
    assert len(list(tmp_path.iterdir())) == 2
    with files.output_directory(tmp_path):
        assert [path.name for path in tmp_path.iterdir()] == [".mine.partial"]


def test_a_file_is_read_up_to_a_limit(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    assert files.read_bounded(tmp_path / "file", 5) == b"12345"
    with pytest.raises(SpecError, match="is longer than 4 bytes; allowed: at most that"):
        files.read_bounded(tmp_path / "file", 4)
    with pytest.raises(SpecError, match="/dev/zero: is longer than"):
        files.read_bounded(Path("/dev/zero"), 1000)


def test_directories_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path, text in (
        (Path("-"), "standard output takes one file; a directory is needed"),
        (tmp_path / "file", "is a file; a directory is needed"),
        (tmp_path / "file" / "x", "cannot be written to"),
        (tmp_path / ("x" * 300), "cannot be written to"),
        (Path("a\0b"), "cannot be written to"),
    ):
        with pytest.raises(SpecError, match=text), files.output_directory(path):
            raise AssertionError("not reached")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
