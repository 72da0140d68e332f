"""Verdicts are computed from rules."""

from __future__ import annotations

from pathlib import Path

import pytest

from pumice import SpecError
from pumice.papers.experiment import ROOT, read_experiment
from pumice.papers.figures import choose, figures_of
from pumice.papers.reproduction import figures_made
from pumice.papers.scoreboard import Expected, Finding, board, read_expected, verdict

EXACT = Expected("a", "x", "s", "exact", value=[9, 14])
NUMBER = Expected("b", "x", "s", "number", value=[1.43, 2], lo=[1.2, 2], hi=[1.8, 2])
BOTH = Expected("e", "x", "s", "number", value=[1.43], lo=[1.2], hi=[1.8], rule="rises")
TREND = Expected("c", "x", "s", "trend", rule="a < b")


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
    needs_full = Expected("d", "x", "s", "number", value=[1], lo=[1], hi=[1], needs="full")
    rows = board("pen", [EXACT, needs_full], {"a": Finding([9, 14], note="n")}).rows
    promised = {"id", "what", "kind", "published", "simulated", "lo", "hi", "rule", "verdict", "note"}
    assert all(promised <= row.keys() for row in rows)
    assert [row["id"] for row in rows] == ["pen.a", "pen.d"]
    assert [row["verdict"] for row in rows] == ["reproduced", "not-run"]
    assert rows[1]["note"] == "needs --full"


@pytest.mark.parametrize("mode", ["quick", "full"])
def test_pens_runs_are_of_one_scale(mode: str) -> None:
    experiment = read_experiment("pen", mode)
    jobs = experiment.jobs(_sweeps("pen"))
    (scale,) = {job.spec.scale for _, job in jobs}
    assert scale == 1.0 if mode == "full" else 1 / 16 <= scale < 1
    for _, job in jobs:
        job.spec.resolve()


def _sweeps(paper: str) -> list[str]:
    return list(dict.fromkeys(study for one in figures_of(paper).values() for study in one.sweeps))


def test_figures_share_their_runs() -> None:
    """A configuration that several studies name is one run: M-Merge as in Table 1 stands in four."""
    jobs = read_experiment("pen", "quick").jobs(_sweeps("pen"))
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
    known = figures_made(read_experiment("pen", "quick"))

    def chosen(*wanted: str) -> list[str]:
        return [one.id for one in choose(wanted, known)]

    assert chosen() == list(known)
    assert chosen("12") == ["12a", "12b", "12c"]
    assert chosen("3") == ["3a", "3b"]
    assert chosen("13c", "6") == ["6", "13c"]
    with pytest.raises(SpecError, match="12a"):
        chosen("18")
