"""Latency over simulated time: every request of a log is in the window of its completion."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pumice.errors import SpecError
from pumice.outputs import FILES
from pumice.report.over_time import WINDOWS_MAX, windows


def test_a_request_is_in_the_window_of_its_completion(tmp_path: Path) -> None:
    """Two requests a second: a write at its beginning, a read in its middle. The last instant is in the last window."""
    halves = range(2 * WINDOWS_MAX + 1)
    columns = {
        "done_ns": [half * 500_000_000 for half in halves],
        "kind": ["read" if half % 2 else "write" for half in halves],
        "latency_us": [float(half) for half in halves],
    }
    pq.write_table(pa.table(columns), tmp_path / FILES["request_log"])
    found = windows({}, tmp_path)
    assert [window.start_s for window in found] == pytest.approx(range(WINDOWS_MAX))
    assert [window.requests for window in found] == [2] * (WINDOWS_MAX - 1) + [3]
    assert {window.length_s for window in found} == {1.0}
    assert [window.write_max_us for window in found[:-1]] == [2.0 * nth for nth in range(WINDOWS_MAX - 1)]
    assert [window.read_mean_us for window in found] == [2.0 * nth + 1 for nth in range(WINDOWS_MAX)]
    last = found[-1]
    assert (last.write_mean_us, last.write_max_us) == (2.0 * WINDOWS_MAX - 1, 2.0 * WINDOWS_MAX)


def test_a_window_in_which_nothing_ends_is_left_out(tmp_path: Path) -> None:
    columns = {"done_ns": [0, 1, 1_000], "kind": ["write"] * 3, "latency_us": [1.0, 3.0, 5.0]}
    pq.write_table(pa.table(columns), tmp_path / FILES["request_log"])
    assert [(window.requests, window.write_mean_us) for window in windows({}, tmp_path)] == [(2, 2.0), (1, 5.0)]


def test_windows_of_a_series_are_joined_until_they_are_few_enough() -> None:
    def entry(nth: int) -> dict[str, float | None]:
        return {
            "start_s": 10.0 + 0.5 * nth, "reads": 0, "writes": nth, "trims": 1, "flushes": 2,
            "write_mean_us": 4.0 * nth if nth else None, "write_max_us": 5.0 * nth if nth else None,
            "read_mean_us": None, "read_max_us": None,
        }  # fmt: skip

    config = {"output": {"time_series_s": 0.5}}
    for count, joined in ((1, 1), (WINDOWS_MAX, 1), (WINDOWS_MAX + 1, 2), (3 * WINDOWS_MAX, 3)):
        found = windows({"time_series": [entry(nth) for nth in range(count)], "config": config}, None)
        assert len(found) == -(-count // joined)
        assert {window.length_s for window in found} == {0.5 * joined}
        assert sum(window.requests for window in found) == sum(nth + 3 for nth in range(count))
        for place, window in enumerate(found):
            own = [nth for nth in range(place * joined, min((place + 1) * joined, count)) if nth]
            assert window.start_s == 10.0 + 0.5 * joined * place
            assert (window.read_mean_us, window.read_max_us) == (None, None)
            assert window.write_max_us == (5.0 * max(own) if own else None)
            mean = sum(nth * 4.0 * nth for nth in own) / sum(own) if own else None
            assert window.write_mean_us == (None if mean is None else pytest.approx(mean))


def test_a_run_without_windows_has_none_and_a_damaged_log_is_told(tmp_path: Path) -> None:
    assert windows({}, None) == windows({}, tmp_path) == []
    log = tmp_path / FILES["request_log"]
    pq.write_table(pa.table({"done_ns": [5, 5], "kind": ["read"] * 2, "latency_us": [1.0, 2.0]}), log)
    assert windows({}, tmp_path) == [], "an instant has no windows"
    log.write_bytes(b"PAR1")
    with pytest.raises(SpecError, match="no request log"):
        windows({}, tmp_path)
