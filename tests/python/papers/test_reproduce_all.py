"""`pumice reproduce all`: four papers, one scoreboard, one report."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
from pathlib import Path

import pytest

from pumice import cli
from pumice.errors import Interrupted
from pumice_papers import experiment, reproduction
from pumice_papers.reproduction import Reproduction, Request, reproduce

#: A figure or two of each paper: worked examples, and one over runs.
FEW = {"pen": ["10"], "superblock": ["4", "6"], "sfws": ["2", "5a"], "aero": ["13"]}


def few_figures(paper: str, request: Request) -> Reproduction:
    """`reproduce`, kept to some figures."""
    return reproduce(paper, dataclasses.replace(request, figures=FEW[paper]))


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Papers kept to few figures, runs kept to few requests."""
    root = tmp_path / "experiments"
    shutil.copytree(experiment.ROOT, root)
    path = root / "sfws" / "experiment.toml"
    path.write_text(path.read_text().replace("[modes.quick]", '[modes.quick]\n"run.max_requests" = 300', 1))
    monkeypatch.setattr(experiment, "ROOT", root)
    monkeypatch.setattr(reproduction, "reproduce", few_figures)
    monkeypatch.chdir(tmp_path)


def interrupted(paper: str, request: Request) -> Reproduction:
    """As `few_figures`, with Ctrl-C during the runs of SFWS."""
    if paper == "sfws":
        raise Interrupted("interrupted: 3 of 9 runs are kept")
    return few_figures(paper, request)


def rows_of(directory: Path) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = json.loads((directory / "scoreboard.json").read_text())
    return rows


@pytest.mark.usefixtures("few")
def test_the_scoreboards_are_joined_and_the_runs_taken_up_again(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["reproduce", "all", "--out", "out", "--workers", "1"]
    assert cli.run(arguments) == 0, capsys.readouterr().err
    out = Path("out")
    joined = rows_of(out)
    assert joined == [row for paper in FEW for row in rows_of(out / paper)]
    assert {str(row["id"]).partition(".")[0] for row in joined} == set(FEW)
    left = [row["id"] for row in joined if row["verdict"] == "not-run"]
    assert left == ["sfws.fig5a_copies_per_gc"]  # so few requests collect nothing
    assert capsys.readouterr().out.count("all: ") == 1
    html = (out / "report.html").read_text()
    assert len(re.findall(r"<h2[^>]*>Reproduction: ", html)) == len(FEW)
    assert "fig5a" in html
    runs = {path: path.stat().st_mtime_ns for path in (out / "sfws" / "runs").iterdir()}
    assert runs
    assert cli.run([*arguments, "--resume"]) == 0
    assert {path: path.stat().st_mtime_ns for path in (out / "sfws" / "runs").iterdir()} == runs
    assert rows_of(out) == joined


@pytest.mark.usefixtures("few")
def test_ctrl_c_keeps_the_papers_that_are_finished(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(reproduction, "reproduce", interrupted)
    assert cli.run(["reproduce", "all", "--out", "out"]) == 130
    assert capsys.readouterr().err.splitlines()[-1] == "pumice: interrupted: 3 of 9 runs are kept"
    done = {str(row["id"]).partition(".")[0] for row in rows_of(Path("out")) if row["verdict"] != "not-run"}
    assert done == {"pen", "superblock"}
    left = [row for row in rows_of(Path("out")) if str(row["id"]).startswith(("sfws.", "aero."))]
    assert left
    assert {row["verdict"] for row in left} == {"not-run"}
    assert len(re.findall(r"<h2[^>]*>Reproduction: ", Path("out/report.html").read_text())) == 2


def failing(paper: str, request: Request) -> Reproduction:
    """As `few_figures`; a run of SFWS failed."""
    done = few_figures(paper, request)
    if paper != "sfws":
        return done
    first = done.outcomes[0]
    lost = dataclasses.replace(first, document=None, error="the chip refused", error_kind="failed")
    return dataclasses.replace(done, outcomes=[lost, *done.outcomes[1:]])


@pytest.mark.usefixtures("few")
def test_a_failed_run_does_not_end_the_rest(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(reproduction, "reproduce", failing)
    assert cli.run(["reproduce", "all", "--out", "out"]) == 1
    assert "the chip refused" in capsys.readouterr().err.splitlines()[-1]
    assert Path("out/aero/scoreboard.json").exists()
