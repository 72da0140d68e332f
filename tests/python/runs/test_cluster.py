"""Runs on a Dask cluster: a real scheduler and two real workers, one of which is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import pumice
from conftest import TESTS, write_trace
from pumice import cli
from pumice.errors import Interrupted
from pumice.runs.batch import Settings, run_jobs
from pumice.runs.jobs import Job, Outcome
from pumice.runs.spec import Spec

TINY = pumice.preset("tiny").with_(run={"max_requests": 2000})
SEEDS = [1, 2, 3, 4, 5, 6]

#: Longest time for a scheduler or worker to come up, or to be missed, on a busy machine.
PATIENCE_S = 60.0


@dataclass
class Cluster:
    """A scheduler's address, the processes, and the file that `fragile_engine` marks."""

    address: str
    marker: Path
    processes: list[subprocess.Popen[bytes]]


def wait_for(path: Path) -> str:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if path.exists() and (text := path.read_text()).endswith(("\n", "}")):
            return text
        time.sleep(0.05)
    raise AssertionError(f"{path} did not appear")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    pytest.importorskip("distributed")
    directory = tmp_path_factory.mktemp("cluster")
    place, marker = directory / "scheduler.json", directory / "marker"
    here = [str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(here), "FRAGILE_ENGINE": str(marker)}

    def start(kind: str, *options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "distributed.cli.dask_" + kind, *options]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen(command, cwd=directory, env=environment, **quiet)

    processes = [start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
                       "--scheduler-file", str(place))]  # fmt: skip
    try:
        address = json.loads(wait_for(place))["address"]
        processes += [start("worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard") for _ in range(2)]
        yield Cluster(address, marker, processes)
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait(timeout=PATIENCE_S)


def jobs() -> list[Job]:
    return [Job(f"seed {seed}", TINY.with_(seed=seed), {"seed": seed}) for seed in SEEDS]


def without_clock(outcomes: list[Outcome]) -> list[dict[str, object]]:
    assert [outcome.error for outcome in outcomes] == [None] * len(outcomes)
    return [{**(outcome.document or {}), "run": None} for outcome in outcomes]


def test_a_worker_is_killed_and_the_results_are_those_of_one_machine(cluster: Cluster, tmp_path: Path) -> None:
    killed: list[int] = []

    def kill() -> None:
        killed.append(int(wait_for(cluster.marker)))
        os.kill(killed[0], signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    settings = Settings("test", store=tmp_path, engine="fragile_engine", dask=cluster.address)
    found = run_jobs(jobs(), settings)
    killer.join()
    assert killed[0] in [process.pid for process in cluster.processes[1:]]
    assert without_clock(found) == without_clock(run_jobs(jobs(), Settings("test", workers=1)))
    again = run_jobs(
        jobs(), Settings("test", store=tmp_path, engine="fragile_engine", dask=cluster.address, resume=True)
    )
    assert all(outcome.reused for outcome in again)


def test_a_cluster_and_this_machine_share_keys_and_rows(cluster: Cluster, tmp_path: Path) -> None:
    good, bad = write_trace(tmp_path / "good.csv"), write_trace(tmp_path / "bad.csv", broken=True)
    vary = {"ftl.merge": ["block-erase", "m-merge"], "workload.path": [str(good), str(bad)]}
    base = TINY.with_(workload={"kind": "trace"})
    far = pumice.sweep(base, vary, dask=cluster.address, store=tmp_path / "runs")
    near = pumice.sweep(base, vary, workers=1, store=tmp_path / "runs", resume=True)
    assert far.column("status").to_pylist() == ["done", "failed"] * 2
    assert far.equals(near)  # every run of the second sweep came out of the first one's store


def test_a_worker_with_another_build_refuses(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pumice.runs.batch.result_key", lambda _engine, _resolved: "another")
    (found,) = run_jobs(jobs()[:1], Settings("test", dask=cluster.address))
    assert found.error_kind == "failed"
    assert "needs the same build of pumice" in (found.error or "")


def test_ctrl_c_stops_what_is_under_way_and_says_what_is_kept(cluster: Cluster, tmp_path: Path) -> None:
    store, log = tmp_path / "runs", tmp_path / "log"
    sets = [[("value", "1")], [("value", "2"), ("do", '"obey"'), ("log", f'"{log}"')]]
    two = [Job(str(pairs[0]), Spec().with_sets(pairs)) for pairs in sets]

    def press() -> None:
        while not list(store.glob("*.json")) or not log.exists():
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()
    with pytest.raises(Interrupted, match="1 of 2 runs are kept"):
        run_jobs(two, Settings("test", store=store, engine="fake_engine", dask=cluster.address))
    deadline = time.monotonic() + PATIENCE_S / 3
    while log.read_text().split() != ["2", "stopped"]:
        assert time.monotonic() < deadline, "the worker was not told"
        time.sleep(0.05)


def test_no_scheduler_is_one_line_and_status_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("pumice.runs.cluster.CONNECT_TIMEOUT_S", 0.5)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text('preset = "tiny"\n[vary]\nseed = [1, 2]\n')
    for arguments, text in (
        (["--dask", "tcp://127.0.0.1:1"], "no scheduler answers at 'tcp://127.0.0.1:1'"),
        (["--dask", "nowhere://x"], "no scheduler answers at 'nowhere://x'"),
        (["--dask", ""], "no scheduler answers"),
        (["--dask", "tcp://127.0.0.1:1", "--workers", "2"], "not to both"),
    ):
        assert cli.run(["sweep", "s.toml", *arguments]) == 2
        said, complained = capsys.readouterr()
        assert (said, len(complained.splitlines())) == ("", 1), complained
        assert text in complained
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert cli.run(["sweep", "s.toml", "--dask", "tcp://127.0.0.1:1"]) == 2
    assert "pip install 'pumice[dask]'" in capsys.readouterr().err
