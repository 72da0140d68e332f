"""Verdicts are computed from rules."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest

from pumice import SpecError
from pumice.report.scoreboard import ROW_FIELDS, accepted, counts, counts_text, predicted, simulated_text
from pumice_papers.experiment import ROOT, read_experiment
from pumice_papers.figures import PAPERS, choose, figures_of
from pumice_papers.reproduction import figures_made
from pumice_papers.scoreboard import Expected, Finding, board, read_expected, verdict

EXACT = Expected("a", "x", "s", "exact", "exact", value=[9, 14])
NUMBER = Expected("b", "x", "s", "number", "fitted", value=[1.43, 2], lo=[1.2, 2], hi=[1.8, 2])
BOTH = Expected("e", "x", "s", "number", "predicted", value=[1.43], lo=[1.2], hi=[1.8], rule="rises")
TREND = Expected("c", "x", "s", "trend", "predicted", rule="a < b")


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


def test_what_a_row_accepts_is_said_in_words() -> None:
    wanted = ["equal", "1.2 … 1.8; 2 … 2", "1.2 … 1.8; rises", "a < b"]
    assert [accepted(asdict(row)) for row in (EXACT, NUMBER, BOTH, TREND)] == wanted


def test_rows_have_the_fields_that_are_promised() -> None:
    needs_full = Expected("d", "x", "s", "number", "calibrated", value=[1], lo=[1], hi=[1], needs="full")
    rows = board("pen", [EXACT, needs_full], {"a": Finding([9, 14], note="n")}).rows
    promised = {
        "id",
        "what",
        "kind",
        "basis",
        "published",
        "simulated",
        "spread",
        "lo",
        "hi",
        "rule",
        "verdict",
        "note",
    }
    assert all(promised <= row.keys() for row in rows)
    assert promised == ROW_FIELDS
    assert [row["basis"] for row in rows] == ["exact", "calibrated"]
    assert [row["id"] for row in rows] == ["pen.a", "pen.d"]
    assert [row["verdict"] for row in rows] == ["reproduced", "not-run"]
    assert rows[1]["note"] == "needs --full"


def test_predicted_rows_are_counted_apart() -> None:
    rows = board("p", [EXACT, NUMBER, BOTH, TREND], {"a": Finding([9, 14]), "c": Finding([2.0, 1.0], False)}).rows
    assert counts(rows) == {"reproduced": 1, "missed": 1, "not-run": 2}
    assert [row["id"] for row in predicted(rows)] == ["p.e", "p.c"]
    assert counts_text(rows) == (
        "4 rows: 1 reproduced, 1 missed, 2 not-run; 2 of them predicted: 0 reproduced, 1 missed, 1 not-run"
    )


def test_values_are_shown_with_their_spread() -> None:
    found = Finding([1.5, 2], True, spread=[(1.25, 1.75), (2, 2)])
    (row,) = board("p", [TREND], {"c": found}).rows
    assert simulated_text(row) == "1.5 (1.25 … 1.75), 2 (2 … 2)"
    assert simulated_text({**row, "spread": None}) == "1.5, 2"
    assert simulated_text({**row, "simulated": None, "spread": None}) == "–"


#: Every row that is no prediction: its simulated value follows from an input, or something was set on the
#: published one. To call one of them predicted is to change this table.
NOT_PREDICTED = {
    "pen": {
        "fig6_copies": "exact", "pb_count": "exact", "fig10_speedup": "exact", "fig10_restores": "exact",
        "fig11_copied_back": "exact", "fig4_gc_rises": "calibrated", "fig5_waf_by_block": "calibrated",
        "prn_1_merges": "calibrated", "fig3b_spare_share": "fitted", "fig13a_waf_nftl": "fitted",
        "fig16_latency_4_5": "fitted", "fig16_latency_4_8": "fitted", "fig16_read": "fitted",
    },
    "superblock": {
        "fig4_merges": "exact", "fig6_translation": "exact", "fig9_overhead": "fitted", "fig9_copies": "fitted",
        "fig10_full_victims": "fitted",
    },
    "sfws": {
        "fig2_freed": "exact", "fig3_rber": "input", "fig5a_copies_per_gc": "fitted", "fig5b_total_copied": "fitted",
        "fig5c_response": "fitted",
    },
    "aero": {
        "fig4_fast_blocks": "input", "fig4_one_loop": "calibrated", "fig8_felp": "input", "fig9_shallow": "input",
        "fig10_margin": "calibrated", "fig10_skipped": "input",
        "two_loops_2500": "input", "fig13_lifetime": "calibrated", "table4_dpes": "input",
        "erase_means": "calibrated", "fig14_p9999_aero": "fitted", "fig14_p9999_cons": "fitted",
        "fig14_p999999_aero": "fitted",
    },
}  # fmt: skip


@pytest.mark.parametrize("paper", PAPERS)
def test_every_row_says_what_it_rests_on(paper: str) -> None:
    rows = read_experiment(paper, "quick").expected
    assert {row.id: row.basis for row in rows if row.basis != "predicted"} == NOT_PREDICTED[paper]
    assert all(row.basis == "exact" for row in rows if row.kind == "exact")


#: Rows whose accepted range may hold 1, because it is no ratio that says what something changes.
NO_RATIOS = {"superblock.fig14_hit_ratio"}


@pytest.mark.parametrize("paper", PAPERS)
def test_no_accepted_range_holds_what_no_effect_would_give(paper: str) -> None:
    """A ratio of 1, or a share of 0 where the paper prints one, is no effect, whatever the paper prints."""
    for row in read_experiment(paper, "quick").expected:
        bands = list(zip(row.lo or [], row.hi or [], row.value or [], strict=False))
        if f"{paper}.{row.id}" not in NO_RATIOS:
            assert not [band for band in bands if band[0] <= 1 <= band[1]], row.id


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
    jobs = read_experiment("pen", "quick", repeat=1).jobs(_sweeps("pen"))
    digests = [job.spec.resolve()["config_sha256"] for _, job in jobs if job.varied["workload.kind"] == "twin:prn_1"]
    assert sorted(digests.count(digest) for digest in set(digests))[-2:] == [2, 4]


def test_expectations_that_lack_something_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "expected.toml"
    text = (ROOT / "pen" / "expected.toml").read_text()
    path.write_text(text)
    assert read_expected(path)
    for change in (
        ("lo = [0.45]", ""),
        ("lo = [0.45]", "lo = [0.45, 1]"),
        ('kind = "trend"', 'kind = "exact"'),
        ("what = ", "waht = "),
        ('basis = "predicted"', ""),
        ('basis = "predicted"', 'basis = "guessed"'),
    ):
        path.write_text(text.replace(*change, 1))
        with pytest.raises(SpecError):
            read_expected(path)


def test_pens_runs_are_repeated_over_seeds() -> None:
    for repeat, seeds in ((None, [1, 2, 3]), (2, [1, 2]), (1, [None])):
        jobs = read_experiment("pen", "quick", repeat).jobs(["over-time"])
        assert [job.seed for _, job in jobs] == seeds * 2
    with pytest.raises(SpecError, match="the figures of sfws are not drawn over seeds"):
        read_experiment("sfws", "quick", 3)


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
