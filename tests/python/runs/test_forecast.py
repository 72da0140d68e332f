"""How long a batch takes: samples, what ended, and what goes on."""

from __future__ import annotations

import time

import pytest

from pumice.runs.forecast import SAMPLES_MAX, Forecast, Underway, sample_of
from pumice.runs.pace import Pace
from pumice.runs.progress import duration_text, fitting

VARIED = {f"{size}{seed}": {"size": size, "seed": seed} for size in "ab" for seed in range(3)}


def forecast(workers: int = 1, expected: float | None = None) -> Forecast:
    return Forecast(VARIED, dict.fromkeys(VARIED, expected), workers)


def test_samples_are_spread_and_few() -> None:
    assert sample_of([str(place) for place in range(9)]) == ["0", "4", "8"]
    grid = [(workload, splits) for workload in range(12) for splits in range(4)]
    sampled = sample_of(grid)
    assert {workload for workload, _ in sampled} == set(range(12))
    assert {splits for _, splits in sampled} == set(range(4))
    many = sample_of([str(place) for place in range(1000)])
    assert len(many) == SAMPLES_MAX
    assert int(many[-1]) > 900


def test_nothing_is_said_before_anything_is_known() -> None:
    assert forecast().left_s(list(VARIED), {}) is None
    assert forecast().left_s([], {"a0": Underway(1.0, 0.0)}) is None
    assert forecast().left_s([], {}) == 0.0


def test_a_run_without_a_sample_takes_as_long_as_those_like_it() -> None:
    """Runs of size b take ten times as long; a mean over all would be 55 s for each."""
    found = forecast()
    found.sampled("a0", 10.0)
    found.sampled("b0", 100.0)
    assert found.left_s(["a1", "a2"], {}) == pytest.approx(20.0)
    assert found.left_s(["b1", "b2"], {}) == pytest.approx(200.0)


def test_what_ended_corrects_what_was_foreseen() -> None:
    found = forecast(expected=10.0)
    assert found.left_s(["a1"], {}) == 10.0
    found.ended("a0", 40.0)
    assert found.left_s(["a1"], {}) == pytest.approx(40.0), "this machine is slower than the experiment's"
    sampled = forecast()
    sampled.sampled("a0", 10.0)
    sampled.ended("a0", 15.0)
    assert sampled.left_s(["a1"], {}) == pytest.approx(15.0), "reclaiming began after the sample"


def test_a_run_says_itself_how_long_it_takes_once_it_has_come_some_way() -> None:
    found = forecast(expected=10.0)
    assert found.left_s([], {"a0": Underway(30.0, 0.5)}) == pytest.approx(30.0)
    assert found.left_s([], {"a0": Underway(1.0, 0.01)}) == pytest.approx(9.9)


def test_ageing_is_counted_once_a_worker_and_apart_from_the_share() -> None:
    """Six runs of one aged device: a run that was half done after 30 s, 20 of them ageing, was said to take 60 s."""
    found = Forecast(VARIED, dict.fromkeys(VARIED), 2, dict.fromkeys(VARIED, "device"))
    found.sampled("a0", 4.0, ageing_s=20.0)
    waiting = list(VARIED)
    assert found.left_s(waiting, {}) == pytest.approx((6 * 4.0 + 2 * 20.0) / 2)
    found.ended("a0", 25.0, ageing_s=20.0)
    found.ended("a1", 25.0, ageing_s=20.0)
    assert found.left_s(waiting[2:], {}) == pytest.approx(4 * 5.0 / 2)
    assert Underway(30.0, 0.5, 20.0).seconds() == pytest.approx(20.0)
    alone = Forecast(VARIED, dict.fromkeys(VARIED), 2)
    alone.ended("a0", 25.0, ageing_s=20.0)
    assert alone.left_s(waiting[1:], {}) == pytest.approx(5 * 25.0 / 2), "not kept: aged each time"


def test_the_pace_of_a_run_leaves_its_ageing_out() -> None:
    pace = Pace()
    for elapsed_s, share, requests in [(5.0, 0.0, 0), (10.0, 0.0, 0), (11.0, 0.1, 1), (12.0, 0.2, 2), (13.0, 0.3, 3)]:
        pace.note(elapsed_s, share, requests)
        assert pace.whole_s() is None
    pace.note(14.0, 0.4, 4)
    assert pace.ageing_s == 10.0
    assert pace.whole_s() == pytest.approx(4.0 + 6.0)


def test_the_last_run_keeps_one_worker_busy() -> None:
    found = forecast(workers=4, expected=12.0)
    assert found.left_s(["a0"], {}) == 12.0
    assert found.left_s(list(VARIED), {}) == pytest.approx(18.0)


def test_a_forecast_of_many_runs_takes_no_time() -> None:
    varied = {str(run): {"size": run % 7, "seed": run} for run in range(100_000)}
    found = Forecast(varied, dict.fromkeys(varied), 2)
    for run in range(5000):
        found.ended(str(run), float(1 + run % 7))
    begun = time.process_time()
    left_s = found.left_s([str(run) for run in range(5000, 100_000)], {})
    assert time.process_time() - begun < 1.0
    assert left_s == pytest.approx(95_000 * 4 / 2, rel=0.02)


def test_durations_are_as_exact_as_estimates() -> None:
    texts = [duration_text(seconds) for seconds in (0.2, 59, 61, 3600, 5400, 36_000)]
    assert texts == ["1 s", "59 s", "1 min", "60 min", "1.5 h", "10.0 h"]


@pytest.mark.parametrize(
    ("room", "text"),
    [
        (3, ""),
        (4, "43 %"),
        (20, "43 %, 2 min left"),
        (32, "43 %, 2 min left, 1,499 requests"),
        (31, "43 %, 2 min left"),
    ],
)
def test_the_pieces_of_a_bar_are_shown_whole_or_not_at_all(room: int, text: str) -> None:
    assert fitting(["43 %", "2 min left", "1,499 requests"], room) == text


def test_the_pace_of_a_run_is_told_by_its_usual_steps() -> None:
    """Two seconds of filling and five of recovery after a power cut come once."""
    pace = Pace()
    for elapsed_s, share in [(2.0, 0.0), (3.0, 0.1), (4.0, 0.2), (9.0, 0.2)]:
        pace.note(elapsed_s, share)
        assert pace.whole_s() is None, "two steps are known at the most"
    pace.note(9.0, 0.21)
    pace.note(10.0, 0.31)
    assert pace.whole_s() == pytest.approx(10.0 + 0.69 * 10.0)


def test_a_run_that_becomes_slower_is_told_by_all_of_its_steps() -> None:
    """The last step is five times as slow as the others: collection has begun, and goes on."""
    pace = Pace()
    for elapsed_s, share in [(0.1, 0.1), (0.2, 0.2), (0.3, 0.3), (0.8, 0.4)]:
        pace.note(elapsed_s, share)
    assert pace.whole_s() == pytest.approx(0.8 + 0.6 * 0.7 / 0.3)


def test_a_run_that_has_hardly_begun_has_no_pace() -> None:
    pace = Pace()
    for _ in range(5):
        pace.note(1.0, 0.0)
    assert pace.whole_s() is None
