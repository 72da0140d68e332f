"""Fixtures: the command in a process of its own, as its users run it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

#: Where the tests lie, and the engines that they use in place of the real one.
TESTS = Path(__file__).parent

#: Top of the repository.
REPOSITORY = Path(__file__).parents[2]

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """Runs `pumice ARGUMENTS…` in an empty directory and captures what it says."""

    def run(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
        settings = {"capture_output": True, "text": True, "cwd": tmp_path, "timeout": 120, **options}
        return subprocess.run([sys.executable, "-m", "pumice", *arguments], **settings)

    return run


@pytest.fixture(autouse=True)
def _no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors are to be told in one line, whatever the developer's shell asks for."""
    monkeypatch.delenv("PUMICE_TRACEBACK", raising=False)
    assert "PUMICE_TRACEBACK" not in os.environ
