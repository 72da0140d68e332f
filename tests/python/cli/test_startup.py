"""What a command loads before it begins: the commands that only say something start at once."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from pumice.cli.commands import COMMANDS, load

#: Libraries that take longer to load than a simple command may run.
SLOW = (
    "altair",
    "distributed",
    "jinja2",
    "matplotlib",
    "multiprocessing",
    "numpy",
    "pandas",
    "pyarrow",
    "pydantic",
    "rich.console",
    "tomlkit",
)


def loaded(arguments: list[str], directory: Path) -> set[str]:
    """Names of the modules that a command has loaded at its end."""
    script = f"""
import sys
from pumice import cli
cli.run({arguments!r})
print(sorted(sys.modules), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=directory)
    return set(ast.literal_eval(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["--version"], ["presets"], ["explain", "ftl.merge"], ["schema"], ["run", "--help"]],
    ids=" ".join,
)
def test_simple_commands_load_no_library_that_starts_slowly(arguments: list[str], tmp_path: Path) -> None:
    names = loaded(arguments, tmp_path)
    assert "pumice.cli.app" in names
    assert not names.intersection(SLOW)


def test_a_run_whose_progress_nobody_sees_loads_none_but_toml(tmp_path: Path) -> None:
    names = loaded(["run", "--preset", "tiny", "--set", "run.max_requests=100"], tmp_path)
    assert not names.intersection(SLOW) - {"tomlkit"}


def test_help_loads_no_command(tmp_path: Path) -> None:
    names = loaded(["--help"], tmp_path)
    assert not {name for name in names if name.startswith("pumice.cli.") and name.endswith("_command")}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_commands_line_is_that_of_its_function(name: str) -> None:
    entry = COMMANDS[name]
    if entry.module is None or entry.target == "app":
        text = load(name).help or ""
    else:
        text = getattr(importlib.import_module(f"pumice.cli.{entry.module}"), entry.target).__doc__ or ""
    assert text.splitlines()[0] == entry.text
    assert load(name).name == name
