"""The README's commands run as they are printed."""

from __future__ import annotations

import gzip
import re
import runpy
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import REPOSITORY, Command

#: Commands that take minutes, and what tests them instead.
LONG = {
    "pumice view out": "tests/python/test_workbench.py",
    "pumice bench": "tests/python/runs/test_speed.py",
    "pumice reproduce pen --quick": "tests/python/papers",
    "pumice sweep experiments/pen/splits.toml": "tests/python/papers and test_a_shipped_sweep_is_found_from_everywhere",
}


def blocks(language: str, page: str = "README.md") -> list[str]:
    """A page's blocks of code in a language; "" for those that name none."""
    text = (REPOSITORY / page).read_text("utf-8")
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [block for named, block in fenced if named == language]


def printed() -> list[str]:
    """The commands in the README's blocks of code, without comments."""
    lines = [line.removeprefix("$ ").split(" #")[0].strip() for block in blocks("") for line in block.splitlines()]
    return [line for line in lines if line.startswith("pumice ")]


def test_long_commands_are_still_in_the_readme() -> None:
    assert set(printed()) > set(LONG)


@pytest.mark.parametrize("line", [line for line in printed() if line not in LONG])
def test_a_command_of_the_readme_runs(command: Command, tmp_path: Path, line: str) -> None:
    (tmp_path / "examples").symlink_to(REPOSITORY / "examples")
    own = re.split(r" [|>] ", line)[0]  # what the shell does with the output is the shell's
    for other in printed():  # a line above makes the folder that this one reads
        folder = other.partition(" --out ")[2]
        if folder and other != line and folder in own.split():
            command(*shlex.split(other)[1:])
    began = time.monotonic()
    done = command(*shlex.split(own)[1:])
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert "Traceback" not in done.stderr
    assert time.monotonic() - began < 100


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_the_python_of_the_first_pages_prints_what_stands_below_it(page: str, tmp_path: Path) -> None:
    assert blocks("python", page)
    for block, output in zip(blocks("python", page), blocks("text", page), strict=True):
        done = subprocess.run([sys.executable, "-c", block], cwd=tmp_path, capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, done.stderr
        assert done.stdout == output


def test_the_shipped_trace_is_what_its_script_makes(tmp_path: Path) -> None:
    folder = REPOSITORY / "examples" / "traces"
    script = runpy.run_path(str(folder / "make_office.py"))
    script["main"](str(tmp_path / "office.csv.gz"))
    made, shipped = (gzip.decompress((place / "office.csv.gz").read_bytes()) for place in (tmp_path, folder))
    assert made == shipped
    assert (folder / "office.csv.gz").stat().st_size < 500_000


def test_a_shipped_sweep_is_found_from_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pumice.runs.sweep import find_sweep, read_sweep

    monkeypatch.chdir(tmp_path)
    named = Path("experiments/pen/splits.toml")
    assert len(read_sweep(named).points()) == len(read_sweep(REPOSITORY / named).points()) > 1
    own = tmp_path / named
    own.parent.mkdir(parents=True)
    own.write_text('preset = "tiny"\n')
    assert find_sweep(named) == named, "a file of that name comes first"
