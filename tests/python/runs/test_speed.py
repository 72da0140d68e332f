"""The speed of the machine: what is compared with what."""

from __future__ import annotations

import json
import re

import pytest

from conftest import REPOSITORY
from pumice import cli
from pumice.runs import speed
from pumice.runs.spec import preset


def test_the_reference_figures_are_those_of_the_document() -> None:
    """The first table has them; its target column gives the unit where it is not flash commands."""
    text = (REPOSITORY / "docs" / "validation" / "speed.md").read_text(encoding="utf-8").partition("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([\d.]+) \|", text, re.MULTILINE)
    documented = {name: (float(rate), "requests/s" in target) for name, target, rate in rows}
    for case in speed.cases():
        assert documented[case.name] == (case.reference, case.counts == "requests"), case.name


def test_a_case_is_measured_and_shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    tiny = preset("tiny").with_(run={"max_requests": 2000})
    cases = [speed.SpeedCase("writes", tiny, "flash commands", 1.0), speed.SpeedCase("all", tiny, "requests", 2.0)]
    monkeypatch.setattr(speed, "cases", lambda: cases)
    assert cli.run(["bench", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [run["name"] for run in found["runs"]] == ["writes", "all"]
    for run, case in zip(found["runs"], cases, strict=True):
        assert run["rate"] > 0
        assert run["ratio"] == pytest.approx(run["rate"] / case.reference)
    requests = found["runs"][1]
    assert requests["rate"] * 1e6 * requests["cpu_s"] == pytest.approx(2000)
    assert found["machine"]["version"]
    assert cli.run(["bench"]) == 0
    shown = capsys.readouterr().out
    assert "M/s here" in shown
    assert "writes" in shown
