"""Reports hold all they show; reproductions write what they promise."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from conftest import Command
from pumice import SpecError
from pumice.report.page import write_report
from pumice.results import comparison
from pumice.results.comparison import Variant


@pytest.fixture
def reproduced(command: Command, tmp_path: Path) -> Path:
    done = command("reproduce", "pen", "--figure", "6", "--figure", "10", "--figure", "11", "--out", "pen")
    assert done.returncode == 0, done.stderr
    assert "5 reproduced, 0 missed, 0 not-run" in done.stdout
    return tmp_path / "pen"


def test_worked_examples_are_reproduced(reproduced: Path) -> None:
    rows = json.loads((reproduced / "scoreboard.json").read_text())
    assert {row["id"]: row["simulated"] for row in rows} == {
        "pen.fig6_copies": [576, 72],
        "pen.pb_count": [127],
        "pen.fig10_speedup": [596 / 176],
        "pen.fig10_restores": [9, 14, 2, 144],
        "pen.fig11_copied_back": [72, 90, 72, 108],
    }
    for figure in ("fig6", "fig10", "fig11"):
        for kind in ("png", "svg", "csv"):
            assert (reproduced / "figures" / f"{figure}.{kind}").stat().st_size > 0
    with (reproduced / "figures" / "fig11.csv").open() as file:
        assert [int(row["copied back"]) for row in csv.DictReader(file)] == [72, 90, 72, 108]


def test_figures_are_the_same_file_every_time(reproduced: Path, command: Command, tmp_path: Path) -> None:
    assert command("reproduce", "pen", "--figure", "10", "--out", "again").returncode == 0
    for kind in ("png", "svg"):
        name = f"figures/fig10.{kind}"
        assert (reproduced / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_a_report_needs_nothing_else(reproduced: Path) -> None:
    html = (reproduced / "report.html").read_text()
    assert not re.search(r"https?://|<script [^>]*src|<link|@import|url\((?!#)", html)
    assert set(re.findall(r'src="([^"]{0,22})', html)) == {"data:image/png;base64,"}
    assert html.count("data:image/png;base64,") == 3
    assert "pen.fig10_restores" in html
    assert "reproduced" in html


def test_what_a_document_says_cannot_become_markup(tmp_path: Path, command: Command) -> None:
    document = json.loads(command("run", "--preset", "tiny", "--set", "run.max_requests=100", "--json").stdout)
    document["warnings"] = ["<script>alert(1)</script>"]
    document["workload"]["kind"] = document["config"]["ftl"]["kind"] = "<script>alert(2)</script>"
    path = tmp_path / "<b>.json"
    path.write_text(json.dumps(document))
    variants = [Variant(f"<script>{name}$x", [document]) for name in "ab"]
    (tmp_path / "c").mkdir()
    comparison.write(variants, tmp_path / "c")
    write_report([path, tmp_path / "c"], tmp_path / "report.html")
    html = (tmp_path / "report.html").read_text()
    assert html.count("<script") == 1
    assert "<b>.json" not in html
    assert "&lt;script&gt;alert(1)" in html


def test_what_one_should_know_of_a_result_stands_above_its_numbers(tmp_path: Path, command: Command) -> None:
    command("run", "--preset", "tiny", "--set", "run.max_requests=2000", "--out", str(tmp_path / "one"))
    limits = "run.max_requests=20,2000"
    command("compare", "--preset", "tiny", "--vary", limits, "--out", str(tmp_path / "two"))
    for name, line in (
        ("one", "read p90 comes from 61 requests"),
        ("two", "max_requests 20: space was never reclaimed"),
    ):
        write_report([tmp_path / name], tmp_path / f"{name}.html")
        html = (tmp_path / f"{name}.html").read_text()
        assert html.index(line) < html.index("<table")


def test_nothing_to_report(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="holds no results"):
        write_report([tmp_path], tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


def test_hollow_files_are_refused(tmp_path: Path, command: Command) -> None:
    whole = json.loads(command("run", "--preset", "tiny", "--set", "run.max_requests=100", "--json").stdout)
    hollow = {key: value for key, value in whole.items() if key != "wear"}
    for name, content, text in (
        ("a.json", {"format": "pumice.result/1"}, "a result without config, workload, host"),
        ("a.json", hollow, "a result without wear;"),
        ("comparison.json", [], "not a comparison"),
        ("comparison.json", {"format": "pumice.comparison/1"}, "holds no list of variants"),
        ("comparison.json", {"format": "pumice.comparison/1", "variants": [{"label": "x"}]}, "lacks its label"),
        ("comparison.json", {"format": "pumice.comparison/1", "variants": []}, "holds no results"),
        ("scoreboard.json", {}, "not a scoreboard"),
        ("scoreboard.json", [{"id": "x"}], "not a scoreboard; expected a list of rows with basis, hi, id"),
    ):
        directory = tmp_path / "source"
        directory.mkdir()
        path = directory / name
        path.write_text(json.dumps(content))
        with pytest.raises(SpecError, match=text):
            write_report([directory], tmp_path / "report.html")
        path.unlink()
        directory.rmdir()
    assert not (tmp_path / "report.html").exists()
