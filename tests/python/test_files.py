"""Files are there completely or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import pytest

from pumice import files


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failure_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = tmp_path / "result.json"
    files.write_text(path, "old")

    def full(*_arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, step, full)
    with pytest.raises(OSError, match="No space left"):
        files.write_text(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_while_writing_leaves_nothing(tmp_path: Path) -> None:
    def stop_halfway(file: BinaryIO) -> None:
        file.write(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        files.write_with(tmp_path / "a", stop_halfway)
    assert list(tmp_path.iterdir()) == []


def test_directories_are_made_and_modes_follow_the_umask(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "c.txt"
    files.write_text(path, "µ")
    assert path.read_text(encoding="utf-8") == "µ"
    plain = tmp_path / "plain"
    plain.touch()
    assert path.stat().st_mode == plain.stat().st_mode
