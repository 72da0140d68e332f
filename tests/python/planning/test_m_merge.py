"""The planner's call: the paper's worked examples to the page, and arguments that cannot be."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pumice
from conftest import Command
from pumice.planning.block_state import INVALID, VALID, parse_state
from pumice.planning.plan_text import describe, restores
from pumice.planning.worked_examples import example


def test_figure_6_copies_72_pages_in_place_of_576() -> None:
    shown = example("fig6")
    (plan,) = shown.plans()
    assert plan["choice"] == "m-merge"
    assert plan["copy_out"] + plan["copy_back"] == 72
    assert np.count_nonzero(shown.d == VALID) + np.count_nonzero(shown.u == VALID) == 576
    assert plan["merge_us"] == 576 * 970 + 2 * 10_000
    assert plan["m_merge_us"] == 72 * 970 + 9_620 + 10_000


def test_figure_10_restores_two_pbs_and_is_3_38_times_as_fast() -> None:
    (plan,) = example("fig10").plans()
    assert plan["restores"] == [9, 14]
    assert (plan["copy_out"], plan["copy_back"]) == (2, 144)
    assert (plan["merge_us"], plan["m_merge_us"]) == (596.0, 176.0)
    assert plan["u_pre_erase"] is None


def test_figure_11_copies_back_the_neighbours_every_second_time() -> None:
    plans = example("fig11").plans()
    assert [plan["copy_back"] for plan in plans] == [72, 90, 72, 108]
    assert [plan["copy_out"] for plan in plans] == [0, 18, 0, 36]
    assert plans[0]["disturb_after"].dtype == np.uint8
    assert np.flatnonzero(plans[0]["disturb_after"]).tolist() == [7, 16]


@pytest.mark.parametrize(("name", "last"), [("fig6", "PB 3"), ("fig10", "PB 15"), ("fig11", "72, 90, 72, 108")])
def test_the_command_tells_and_draws_the_examples(command: Command, name: str, last: str) -> None:
    done = command("plan", "--example", name)
    assert done.returncode == 0
    assert done.stderr == ""
    assert last in done.stdout.splitlines()[-1]
    assert "RESTORED" in done.stdout
    assert "erase U" in done.stdout


def test_the_command_and_the_function_agree(command: Command) -> None:
    d, u = "72v72i288v36i2v34i72v", "142v434f"
    done = command("plan", "--d", d, "--u", u, "--json")
    plan = pumice.plan_m_merge(parse_state(d), parse_state(u), np.zeros(64, np.uint8))
    assert json.loads(done.stdout) == {**plan, "disturb_after": plan["disturb_after"].tolist()}


def test_w_and_a_full_u_block_send_it_to_the_full_merge() -> None:
    d, u = parse_state("72v72i432v"), parse_state("72v504f")
    assert pumice.plan_m_merge(d, u, m_merge_count=15)["choice"] == "m-merge"
    assert pumice.plan_m_merge(d, u, m_merge_count=16)["choice"] == "merge"
    assert pumice.plan_m_merge(d, u, m_merge_count=16, wear_limit_w=17)["choice"] == "m-merge"


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_every_plan_adds_up(data: st.DataObject) -> None:
    splits = data.draw(st.integers(0, 4))
    pages = (1 << splits) * data.draw(st.integers(1, 4))
    d = np.array(data.draw(st.lists(st.integers(0, 2), min_size=pages, max_size=pages)), np.uint8)
    live = int(np.count_nonzero(d == INVALID))
    outdated = data.draw(st.integers(0, pages - live))
    u = np.repeat(np.array([VALID, INVALID, 0], np.uint8), [live, outdated, pages - live - outdated])
    plan = pumice.plan_m_merge(d, u, max_splits=splits, page_copy_us=1.0, block_erase_us=10.0)
    parts = restores(_situation(d, u, splits), plan)
    assert sum(part.out for part in parts) == plan["copy_out"]
    assert sum(part.back for part in parts) == plan["copy_back"]
    covered = np.zeros(pages, bool)
    for part in parts:
        assert not covered[part.pages.start : part.pages.stop].any()
        covered[part.pages.start : part.pages.stop] = True
    assert covered[d == INVALID].all()
    assert plan["merge_us"] == pytest.approx(np.count_nonzero(d == VALID) + live + 20.0)
    assert "PB 1" in describe(_situation(d, u, splits), plan)


def _situation(d: np.ndarray, u: np.ndarray, splits: int):
    from pumice.planning.plan_text import Situation

    return Situation(d, u, splits)


@pytest.mark.parametrize(
    ("d", "u", "options", "text"),
    [
        ("576v", "575f", {}, "575 pages"),
        ("575v1i", "576f", {}, "0 valid pages; expected 1"),
        ("10v", "10f", {}, "largest legal"),
        ("576v", "576f", {"disturb": np.zeros(3, np.uint8)}, "3 counters; expected 64"),
        ("576v", "576f", {"disturb": np.full(64, 300)}, "allowed: 0 … 255"),
        ("576v", "576f", {"t_us": [1.0]}, "t_us"),
        ("576v", "576f", {"max_splits": -1}, "max_splits"),
        ("576v", "576f", {"max_splits": 99}, "max_splits"),
        ("576v", "576f", {"page_copy_us": float("nan")}, "page_copy_us"),
        ("576v", "576f", {"block_erase_us": -1.0}, "block_erase_us"),
        ("576v", "576f", {"m_merge_count": -1}, "m_merge_count"),
        ("576v", "576f", {"disturb_tolerance": 256}, "disturb_tolerance"),
        ("576v", "576f", {"wear_limit_w": 2.5}, "wear_limit_w"),
        ("576v", "576f", {"t_us": "x"}, "t_us: 'x'; allowed: a list of numbers"),
        ("576v", "576f", {"t_us": 7}, "t_us: 7"),
        ("576v", "576f", {"t_us": [1.0, "x"]}, "t_us: 'x'; allowed: a number"),
        ("576v", "576f", {"page_copy_us": "970"}, "page_copy_us: '970'; allowed: a number"),
        ("576v", "576f", {"block_erase_us": None}, "block_erase_us: None"),
        ("576v", "576f", {"disturb_aware": "no"}, "disturb_aware"),
        ("576v", "576f", {"disturb": [[0], [0, 1]]}, "disturb: no array"),
    ],
)
def test_arguments_that_cannot_be(d: str, u: str, options: dict[str, object], text: str) -> None:
    with pytest.raises(pumice.SpecError, match=text) as caught:
        pumice.plan_m_merge(parse_state(d), parse_state(u), **options)
    assert "\n" not in str(caught.value)
