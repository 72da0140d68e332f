"""Verdicts are computed from rules."""

from __future__ import annotations

from pathlib import Path

import pytest

from pumice import SpecError
from pumice.papers.experiment import ROOT, choose_figures, read_experiment
from pumice.papers.pen.figures_12_13 import EXAMPLES, FIGURES
from pumice.papers.ratios import describe, ratios
from pumice.papers.scoreboard import Expected, Finding, board, read_expected, verdict

EXACT = Expected("a", "1", "x", "s", "exact", value=[9, 14])
NUMBER = Expected("b", "1", "x", "s", "number", value=[1.43, 2], lo=[1.2, 2], hi=[1.8, 2])
BOTH = Expected("e", "1", "x", "s", "number", value=[1.43], lo=[1.2], hi=[1.8], rule="rises")
TREND = Expected("c", "1", "x", "s", "trend", rule="a < b")


@pytest.mark.parametrize(
    ("row", "found", "expected"),
    [
        (EXACT, Finding([9, 14]), "reproduced"),
        (EXACT, Finding([14, 9]), "missed"),
        (EXACT, Finding([9]), "missed"),
        (NUMBER, Finding([1.2, 2.0]), "reproduced"),
        (NUMBER, Finding([1.8, 2.0]), "reproduced"),
        (NUMBER, Finding([1.19, 2.0]), "missed"),
        (NUMBER, Finding([1.43, 2.1]), "missed"),
        (NUMBER, Finding([1.43]), "missed"),
        (NUMBER, Finding([float("nan"), 2.0]), "missed"),
        (BOTH, Finding([1.4], True), "reproduced"),
        (BOTH, Finding([1.4], False), "missed"),
        (BOTH, Finding([1.4]), "missed"),
        (BOTH, Finding([2.4], True), "missed"),
        (TREND, Finding([1.0, 2.0], True), "reproduced"),
        (TREND, Finding([2.0, 1.0], False), "missed"),
        (TREND, Finding([2.0, 1.0]), "missed"),
        (TREND, Finding(None, True), "not-run"),
        (NUMBER, Finding(None), "not-run"),
        (EXACT, None, "not-run"),
    ],
)
def test_verdicts(row: Expected, found: Finding | None, expected: str) -> None:
    assert verdict(row, found) == expected


def test_rows_have_the_fields_that_are_promised() -> None:
    needs_full = Expected("d", "1", "x", "s", "number", value=[1], lo=[1], hi=[1], needs="full")
    rows = board("pen", [EXACT, needs_full], {"a": Finding([9, 14], note="n")}).rows
    promised = {"id", "what", "kind", "published", "simulated", "lo", "hi", "rule", "verdict", "note"}
    assert all(promised <= row.keys() for row in rows)
    assert [row["id"] for row in rows] == ["pen.a", "pen.d"]
    assert [row["verdict"] for row in rows] == ["reproduced", "not-run"]
    assert rows[1]["note"] == "needs --full"


@pytest.mark.parametrize("mode", ["quick", "full"])
def test_the_experiment_is_complete(mode: str) -> None:
    experiment = read_experiment("pen", mode)
    jobs = experiment.jobs(list(FIGURES))
    (scale,) = {job.spec.scale for _, job in jobs}
    assert scale == 1.0 if mode == "full" else 1 / 16 <= scale < 1
    assert {row.figure for row in experiment.expected} <= {*EXAMPLES, *FIGURES}
    assert {figure for planned in experiment.studies for figure in planned.figures} <= set(FIGURES)
    assert experiment.jobs(list(EXAMPLES)) == []
    for _, job in jobs:
        job.spec.resolve()


def test_figures_share_their_runs() -> None:
    """A configuration that several studies name is one run: M-Merge as in Table 1 stands in four."""
    jobs = read_experiment("pen", "quick").jobs(list(FIGURES))
    digests = [job.spec.resolve()["config_sha256"] for _, job in jobs if job.varied["workload.kind"] == "twin:prn_1"]
    assert sorted(digests.count(digest) for digest in set(digests))[-2:] == [2, 4]


def test_expectations_that_lack_something_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "expected.toml"
    text = (ROOT / "pen" / "expected.toml").read_text()
    for change in (
        ("lo = [0.45]", ""),
        ("lo = [0.45]", "lo = [0.45, 1]"),
        ('kind = "trend"', 'kind = "exact"'),
        ("what", "waht"),
    ):
        path.write_text(text.replace(*change, 1))
        with pytest.raises(SpecError):
            read_expected(path)


def test_figures_are_chosen_by_name_or_number() -> None:
    known = [*EXAMPLES, *FIGURES]
    assert choose_figures([], known) == known
    assert choose_figures(["12"], known) == ["12a", "12b", "12c"]
    assert choose_figures(["3"], known) == ["3a", "3b"]
    assert choose_figures(["13c", "6"], known) == ["6", "13c"]
    with pytest.raises(SpecError, match="12a"):
        choose_figures(["18"], known)


def test_workloads_without_a_ratio_are_left_out_and_named() -> None:
    found = ratios(
        {"a": 1.0, "b": 0.0, "c": 1.0, "d": None, "e": 4.0}, {"a": 2.0, "b": 0.0, "c": 0.0, "d": 1.0, "e": 4.0}
    )
    assert found.means().arithmetic == 0.75
    assert found.means().geometric == pytest.approx(0.5**0.5)
    assert found.means().of_means == pytest.approx(5 / 6)
    text = describe(found, ["a"])
    assert "left out at 0/0: b" in text
    assert "left out at x/0: c" in text
    assert "failed: d" in text
    assert "high-write set 0.500" in text
