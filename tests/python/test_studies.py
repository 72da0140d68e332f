"""The studies of the cookbook run, and each has its section and its picture."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import REPOSITORY

FOLDER = REPOSITORY / "examples" / "studies"
STUDIES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "study")


def test_there_are_ten_studies_each_with_a_section_and_a_picture() -> None:
    page = (REPOSITORY / "docs" / "studies.md").read_text("utf-8")
    assert len(STUDIES) == 10
    for name in STUDIES:
        assert f"`{name}.py`" in page
        assert f"figures/studies/{name.replace('_', '-')}.svg" in page


def test_every_figure_of_the_documentation_is_shown_on_a_page() -> None:
    docs = REPOSITORY / "docs"
    shown = {
        (page.parent / figure).resolve()
        for page in docs.rglob("*.md")
        for figure in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", page.read_text("utf-8"))
    }
    assert {path.resolve() for path in (docs / "figures").rglob("*.svg")} <= shown


def test_the_recorded_terminal_shows_what_the_commands_print(tmp_path: Path) -> None:
    script = REPOSITORY / "benches" / "recording.py"
    drawn = tmp_path / "terminal.svg"
    done = subprocess.run([sys.executable, str(script), str(drawn)], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    shipped = REPOSITORY / "docs" / "figures" / "terminal.svg"
    assert drawn.read_text("utf-8") == shipped.read_text("utf-8"), "run: make figures"


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_runs(name: str, tmp_path: Path) -> None:
    command = [sys.executable, str(FOLDER / f"{name}.py"), "--size", "0.02", "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    figure = tmp_path / name.replace("_", "-")
    assert {path.suffix for path in tmp_path.glob(f"{figure.name}.*")} == {".png", ".svg", ".csv"}
    with figure.with_suffix(".csv").open(encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert len(rows) > 2
    assert all(len(row) == len(rows[0]) for row in rows)
