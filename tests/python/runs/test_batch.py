"""The runner: order, reuse, failures, interruption. With an engine that simulates nothing."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

from conftest import TESTS
from pumice import SpecError, files
from pumice.errors import Interrupted, StoreError, Terminated
from pumice.runs import processes
from pumice.runs.batch import Settings, keeping, run_jobs
from pumice.runs.jobs import Job
from pumice.runs.spec import Spec

ENGINE = "fake_engine"


def job(value: int, do: str = "", log: Path | None = None) -> Job:
    pairs = [("value", str(value))]
    pairs += [("do", f'"{do}"')] if do else []
    pairs += [("log", f'"{log}"')] if log else []
    return Job(f"job {value}", Spec().with_sets(pairs), {"value": value})


def settings(store: Path | None = None, **others: object) -> Settings:
    return Settings("test", store=store, engine=ENGINE, **{"workers": 2, **others})


def test_the_order_is_the_jobs_whatever_the_number_of_workers() -> None:
    jobs = [job(value, "pause") for value in range(5)]
    for workers in (1, 2, 4):
        found = run_jobs(jobs, settings(workers=workers))
        assert [outcome.document["value"] for outcome in found] == [0, 1, 2, 3, 4]


def test_equal_jobs_are_simulated_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    found = run_jobs([job(1, log=log), job(1, log=log), job(2, log=log)], settings())
    assert [outcome.document["value"] for outcome in found] == [1, 1, 2]
    assert sorted(log.read_text().split()) == ["1", "2"]


def test_a_failure_is_recorded_and_the_others_go_on() -> None:
    dos = ["", "fail", "break", "die", "refuse", ""]
    found = run_jobs([job(value, do) for value, do in enumerate(dos)], settings())
    assert [outcome.error_kind for outcome in found] == [None, "failed", "failed", "failed", "usage", None]
    assert found[1].error == "the chip refused"
    assert found[2].error == "two lines"
    assert "ended with status 3" in found[3].error
    assert found[5].document["value"] == 5


def test_resume_reuses_results_and_retries_failures(tmp_path: Path) -> None:
    log, store = tmp_path / "log", tmp_path / "runs"
    jobs = [job(1, log=log), job(2, "fail", log), job(3, log=log)]
    run_jobs(jobs, settings(store))
    assert sorted(log.read_text().split()) == ["1", "2", "3"]
    found = run_jobs(jobs, settings(store, resume=True))
    assert sorted(log.read_text().split()) == ["1", "2", "2", "3"]
    assert [outcome.reused for outcome in found] == [True, False, True]
    run_jobs(jobs, settings(store))
    assert sorted(log.read_text().split()) == ["1", "1", "2", "2", "2", "3", "3"]


def test_a_long_study_says_how_long_before_it_starts_and_counts_what_is_left(tmp_path: Path) -> None:
    told: list[str] = []
    hours = [dataclasses.replace(job(value), expected_s=3600.0) for value in (1, 2, 2, 3)]
    run_jobs(hours, settings(tmp_path, announce=told.append))
    kept = "; Ctrl-C keeps what is finished, --resume goes on"
    assert told == [f"3 runs, about 1.5 h with 2 workers, on idle cores{kept}"]
    told.clear()
    longer = [*hours, dataclasses.replace(job(4), expected_s=7200.0)]
    run_jobs(longer, settings(tmp_path, resume=True, announce=told.append))
    assert told == [f"1 run, about 2.0 h with 2 workers, on idle cores{kept}"], "one worker has the one run"
    told.clear()
    run_jobs(hours, settings(tmp_path, resume=True, announce=told.append))
    run_jobs([*hours, job(5)], settings(announce=told.append))
    run_jobs([dataclasses.replace(one, expected_s=30.0) for one in hours], settings(announce=told.append))
    assert told == [], "nothing is left, or not known, or it will not take long"


def test_a_study_of_many_runs_is_sampled_before_it_begins(tmp_path: Path) -> None:
    """Each run takes 20 s by its first shares; nobody said so. What the samples began is simulated anew."""
    log, told = tmp_path / "log", []

    def stop(text: str) -> None:
        told.append(text)
        raise Interrupted("heard")

    jobs = [job(value, "slow", log) for value in range(12)]
    with pytest.raises(Interrupted, match="heard"):
        run_jobs(jobs, settings(tmp_path / "runs", announce=stop))
    (text,) = told
    assert text.startswith("12 runs, about 2 min with 2 workers, by a sample of 4")
    assert sorted(log.read_text().split()) == ["0", "4", "8", "9"], "spread over the runs"


def test_a_sampled_run_that_ends_is_done(tmp_path: Path) -> None:
    log, told = tmp_path / "log", []
    found = run_jobs([job(value, log=log) for value in range(9)], settings(announce=told.append))
    assert [outcome.document["value"] for outcome in found] == list(range(9))
    assert sorted(log.read_text().split()) == sorted(map(str, range(9))), "no run was simulated twice"
    assert told == [], "it does not take long"


def test_a_damaged_result_is_simulated_again(tmp_path: Path) -> None:
    run_jobs([job(1)], settings(tmp_path))
    (stored,) = tmp_path.glob("*.json")
    stored.write_text('{"value": ')
    (found,) = run_jobs([job(1)], settings(tmp_path, resume=True))
    assert found.document["value"] == 1
    assert not found.reused
    assert json.loads(stored.read_text())["value"] == 1


def test_a_full_disk_stops_the_study_and_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(StoreError, match="No space left on device"):
        run_jobs([job(1), job(2)], settings(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_no_workers_are_refused() -> None:
    with pytest.raises(SpecError, match="allowed: 1 and more"):
        run_jobs([job(1)], settings(workers=0))


INTERRUPTED = """
import sys
from pathlib import Path
from test_batch import job, settings
from pumice.errors import Interrupted
from pumice.runs.batch import run_jobs
if __name__ == "__main__":
    store = Path(sys.argv[1])
    try:
        run_jobs([job(1), job(2), job(3, "wait"), job(4)], settings(store, workers=1))
    except Interrupted as error:
        print(error)
        sys.exit(130)
"""


def test_ctrl_c_keeps_finished_runs_and_says_how_to_go_on(tmp_path: Path) -> None:
    script, store = tmp_path / "study.py", tmp_path / "runs"
    script.write_text(textwrap.dedent(INTERRUPTED))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (Path(__file__).parent, TESTS)))}
    process = subprocess.Popen(
        [sys.executable, str(script), str(store)],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while len(list(store.glob("*.json"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    said, _ = process.communicate(timeout=20)
    assert process.returncode == 130
    assert (
        said.strip()
        == f"interrupted: 2 of 4 runs are kept in {store}; the same command with --resume goes on from there"
    )
    found = run_jobs([job(1), job(2), job(3), job(4)], settings(store, resume=True))
    assert [outcome.reused for outcome in found] == [True, True, False, False]


def test_ctrl_c_behind_the_last_run_counts_what_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind the last look at the runs it was not heard; amid the writing of tables it said: nothing is kept."""
    kept = rf"^interrupted: 2 of 2 runs are kept in {tmp_path}; the same command with --resume goes on from there$"
    simulate = processes.simulate

    def then_ctrl_c(*given: Any) -> None:
        simulate(*given)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(processes, "simulate", then_ctrl_c)
    with pytest.raises(Interrupted, match=kept):
        run_jobs([job(1), job(2), job(2)], settings(tmp_path))
    outcomes = run_jobs([job(1), job(2), job(2)], settings(tmp_path, resume=True))
    with pytest.raises(Interrupted, match=kept) as told, keeping(outcomes, settings(tmp_path)):
        raise Terminated(signal.SIGTERM)
    assert told.value.signal_number == signal.SIGTERM
    with pytest.raises(Interrupted, match="after 2 of 2 runs; nothing is kept"), keeping(outcomes, settings()):
        raise KeyboardInterrupt
