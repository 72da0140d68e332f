"""Stored results: found by what they are results of, and taken only as they were stored."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from test_batch import job, settings

import pumice
from conftest import Command
from pumice.errors import TraceError
from pumice.runs import store
from pumice.runs.batch import Settings, run_jobs
from pumice.runs.jobs import Job
from pumice.runs.spec import Spec
from pumice.runs.store import Store, file_digest

TINY = ("--preset", "tiny", "--set", "run.max_requests=1000")


def write_trace(path: Path, bytes_each: int, requests: int = 100) -> None:
    """A trace whose length does not depend on the size of its requests."""
    start = 128166372000000000
    lines = [f"{start + n * 10**6},hm,0,Write,{n * 8192},{bytes_each},0\n" for n in range(requests)]
    path.write_text("".join(lines))


def written(trace: Path, directory: Path, **settings: object) -> list[int]:
    """Bytes that the host wrote in each run over a trace, as a sweep gives them."""
    base = pumice.preset("tiny").with_(workload={"kind": "trace", "path": str(trace)})
    rows = pumice.sweep(base, {"seed": [1, 2]}, workers=1, store=directory, **settings).to_pylist()
    assert [row["error"] for row in rows] == [None, None]
    return [row["host.write.bytes"] for row in rows]


def test_a_trace_that_was_replaced_is_another_trace(tmp_path: Path) -> None:
    """The digest of a trace was kept by its path: a replaced trace gave the old result."""
    trace, directory = tmp_path / "t.csv", tmp_path / "runs"
    write_trace(trace, 4096)
    times = trace.stat().st_mtime_ns
    assert written(trace, directory) == [409_600] * 2
    write_trace(trace, 8192)
    os.utime(trace, ns=(times, times))  # same path, size and time
    assert written(trace, directory, resume=True) == [819_200] * 2
    assert len(list(directory.glob("*.json"))) == 4
    other = tmp_path / "other.csv"
    write_trace(other, 4096)
    os.replace(other, trace)
    assert written(trace, directory, resume=True) == [409_600] * 2
    assert len(list(directory.glob("*.json"))) == 4


def test_a_file_is_read_again_until_its_time_says_that_it_rests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_text("one")
    first = file_digest(str(path))
    assert str(path) not in store._digests, "two changes within a step of the clock look like one"
    later = time.time() + 60
    monkeypatch.setattr(store.time, "time", lambda: later)
    assert file_digest(str(path)) == first
    assert str(path) in store._digests
    with monkeypatch.context() as unread:
        unread.setattr("pumice.runs.store.hashlib.file_digest", None)
        assert file_digest(str(path)) == first, "it is not read again"
    path.write_text("two")
    assert file_digest(str(path)) != first


def test_a_trace_that_changes_while_it_is_replayed_gives_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = tmp_path / "t.csv"
    write_trace(trace, 4096)
    digests = iter(["0" * 64, "1" * 64])
    monkeypatch.setattr("pumice.runs.batch.trace_digest", lambda _config: next(digests))
    for limit in ({"check": "rules"}, {"max_requests": 50}):  # read to its end, and not
        digests = iter(["0" * 64, "1" * 64])
        spec = pumice.preset("tiny").with_(workload={"kind": "trace", "path": str(trace)}, run=limit)
        (found,) = run_jobs([Job("one", spec)], Settings("test", workers=1, store=tmp_path / "runs"))
        assert found.error == f"{trace}: was changed while it was replayed; run it again"
        assert not (tmp_path / "runs").exists()


def changes(document: dict[str, object]) -> dict[str, str]:
    """Contents that a stored file may have in place of its own, by what is said of them."""
    foreign = {"format": "pumice.result/1", "value": 7}
    mark = dict(document["stored"])  # type: ignore[call-overload]
    return {
        "was changed after it was stored": json.dumps({**document, "value": 7}),
        "is not a stored result": json.dumps(foreign),
        "is the result of another run": json.dumps({**document, "stored": {**mark, "key": "0" * 32}}),
        "not JSON": '{"value": ',
        "nested": "[" * 100_000 + "]" * 100_000,
        "not JSON: 'utf-8' codec": "\udcff",
    }


def test_a_document_is_taken_only_as_it_was_stored(tmp_path: Path) -> None:
    """`--resume` took any JSON object under the right name."""
    run_jobs([job(1)], settings(tmp_path))
    (path,) = tmp_path.glob("*.json")
    stored = path.read_text()
    assert json.loads(stored)["stored"]["key"] == path.stem
    for what, content in changes(json.loads(stored)).items():
        path.write_bytes(content.encode("utf-8", "surrogateescape"))
        told: list[str] = []
        (found,) = run_jobs([job(1)], settings(tmp_path, resume=True, announce=told.append))
        assert (found.reused, found.document["value"]) == (False, 1)
        (line,) = told
        assert line.startswith(f"{path}: ")
        assert line.endswith("; job 1 is run again")
        assert what in line or what == "nested"
        assert path.read_text() == stored
    path.write_text(json.dumps(json.loads(stored), indent=4))
    (found,) = run_jobs([job(1)], settings(tmp_path, resume=True))
    assert found.reused, "blanks are no change"
    assert "stored" not in found.document


def test_without_a_command_line_python_warns(tmp_path: Path) -> None:
    run_jobs([job(1)], settings(tmp_path))
    (path,) = tmp_path.glob("*.json")
    path.write_text("{}")
    with pytest.warns(UserWarning, match="is not a stored result; job 1 is run again"):
        run_jobs([job(1)], settings(tmp_path, resume=True))


def test_the_command_says_which_result_it_runs_again(command: Command, tmp_path: Path) -> None:
    repeated = ("run", *TINY, "--repeat", "2", "--out", "out")
    assert command(*repeated).returncode == 0
    for path in (tmp_path / "out/runs").glob("*.json"):
        document = json.loads(path.read_text())
        if document["seed"] == 2:
            path.write_text(json.dumps({**document, "write_amplification": 0.5}))
            edited = path
    done = command(*repeated, "--resume", "--json")
    assert [document["write_amplification"] > 1 for document in json.loads(done.stdout)] == [True, True]
    lines = done.stderr.splitlines()
    assert (
        lines[0] == f"pumice: {edited.relative_to(tmp_path)}: was changed after it was stored; run, seed 2 is run again"
    )
    assert len(lines) == 2
    assert command(*repeated, "--resume").stderr.splitlines()[0].startswith("pumice: results written to")


def test_what_is_no_file_is_no_result(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "key.json")
    with pytest.raises(store.NotTheResult, match="is not a file"):
        Store(tmp_path).get("key")
    assert Store(tmp_path).get("other") is None


def test_a_pipe_can_be_read_once(process: Command, tmp_path: Path) -> None:
    """Repeated runs hung, or called standard input empty."""
    os.mkfifo(tmp_path / "pipe")
    write_trace(tmp_path / "t.csv", 4096)
    os.symlink("/dev/stdin", tmp_path / "link")
    (tmp_path / "s.toml").write_text(
        'preset = "tiny"\n[workload]\nkind = "trace"\npath = "pipe"\n[vary]\nseed = [1, 2]\n'
    )
    once = "which can be read once; repeated runs, comparisons and sweeps need a file"
    cases = [
        (["run", *TINY, "--trace", "pipe", "--repeat", "2"], f"pumice: pipe: is a pipe or device, {once}\n"),
        (["compare", *TINY, "--trace", "pipe", "--vary", "seed=1,2"], f"pumice: pipe: is a pipe or device, {once}\n"),
        (["sweep", "s.toml"], f"pumice: pipe: is a pipe or device, {once}\n"),
        (["run", *TINY, "--trace", "/dev/stdin", "--repeat", "2"], f"pumice: /dev/stdin: is standard input, {once}\n"),
        (["run", *TINY, "--trace", "link", "--repeat", "2"], f"pumice: link: is a pipe or device, {once}\n"),
    ]
    fit = "which can be read once; --fit-device reads it before the run and needs a file"
    cases += [
        (arguments, f"pumice: {path}: is {what}, {fit}\n")
        for path, what in (("pipe", "a pipe or device"), ("/dev/stdin", "standard input"))
        for arguments in (["run", *TINY, "--trace", path, "--fit-device"],)
    ]
    cases += [
        (
            ["compare", *TINY, "--trace", "pipe", "--fit-device", "--vary", "seed=1,2"],
            f"pumice: pipe: is a pipe or device, {once}\n",
        )
    ]
    for arguments, complaint in cases:
        with (tmp_path / "t.csv").open() as trace:  # a file, but another process cannot open it as /dev/stdin
            done = process(*arguments, stdin=trace, timeout=30)
        assert (done.returncode, done.stdout, done.stderr) == (2, "", complaint)
    with (tmp_path / "t.csv").open() as trace:
        assert process("run", *TINY, "--trace", "/dev/stdin", stdin=trace).returncode == 0
    with pytest.raises(TraceError, match="can be read once"):
        store.trace_digest({"workload": {"kind": "trace", "path": str(tmp_path / "pipe")}})
    assert store.trace_digest(Spec(preset="tiny").resolve()["config"]) is None
