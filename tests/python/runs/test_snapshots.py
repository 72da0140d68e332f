"""Aged devices that serve several runs: no result tells where they came from, and no file is trusted unseen."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import pumice
from conftest import Command
from pumice.results.document import lookup
from pumice.runs import snapshots
from pumice.runs.batch import Settings, run_jobs
from pumice.runs.jobs import Job
from pumice.runs.spec import Spec

AGED = pumice.preset("tiny").with_(initial={"age_writes": 1.0}, run={"max_requests": 500})
FLAGS = ("--preset", "tiny", "--set", "initial.age_writes=1.0", "--set", "run.max_requests=500")


def told(document: dict[str, Any]) -> dict[str, Any]:
    """A document without what the machine did."""
    return {key: value for key, value in document.items() if key != "run"}


def origin(document: dict[str, Any]) -> Any:
    return lookup(document, "run.aged_device")


def jobs(specs: dict[str, Spec]) -> list[Job]:
    return [Job(label, spec) for label, spec in specs.items()]


def test_runs_of_a_batch_that_need_the_same_aged_device_share_it() -> None:
    depths = {f"depth {depth}": AGED.with_(host={"mode": "closed-loop", "queue_depth": depth}) for depth in (1, 4, 16)}
    others = {f"seed {seed}": AGED.with_(seed=seed) for seed in (7, 8)}
    mixed = ["depth 1", "seed 7", "depth 4", "seed 8", "depth 16"]
    specs = {label: {**depths, **others}[label] for label in mixed}
    found = run_jobs(jobs(specs), Settings("test", workers=1))
    assert [outcome.job.label for outcome in found] == list(specs)
    assert [origin(outcome.document) for outcome in found] == ["aged", None, "memory", None, "memory"]
    for outcome in found:
        alone = pumice.run(outcome.job.spec).to_dict()
        assert origin(alone) is None
        assert told(outcome.document) == told(alone)


def test_a_folder_serves_later_runs_and_is_made(tmp_path: Path) -> None:
    folder = tmp_path / "kept" / "here"
    first, second = (pumice.run(AGED, snapshots=folder).to_dict() for _ in range(2))
    other = pumice.run(AGED.with_(host={"overhead_us": 9.0}), snapshots=folder).to_dict()
    assert [origin(document) for document in (first, second, other)] == ["aged", "file", "file"]
    assert told(first) == told(second) != told(other)
    assert len(list(folder.iterdir())) == 1
    swept = pumice.sweep(AGED, {"host.speedup": [1.0, 2.0]}, snapshots=folder, workers=1)
    assert swept.column("run.aged_device").to_pylist() == ["file", "memory"]


def test_a_damaged_snapshot_is_told_in_one_line_and_made_anew(command: Command, tmp_path: Path) -> None:
    run = ["run", *FLAGS, "--snapshots", "kept", "--json"]
    sound = command(*run)
    (path,) = (tmp_path / "kept").iterdir()
    path.write_bytes(path.read_bytes()[:-7])
    damaged = command(*run)
    name = f"kept/{path.name}"
    line = f"warning: {name}: is cut short or was changed after it was written; the device is aged anew"
    assert damaged.stderr.splitlines() == [f"pumice: {line}"]
    assert (damaged.returncode, told(json.loads(damaged.stdout))) == (0, told(json.loads(sound.stdout)))
    again = command(*run)
    assert (again.stderr, origin(json.loads(again.stdout))) == ("", "file")


def test_a_device_that_is_not_aged_has_no_snapshot_and_that_is_said(command: Command, tmp_path: Path) -> None:
    for arguments in (["run"], ["compare", "--vary", "host.speedup=1,2"]):
        found = command(*arguments, "--preset", "tiny", "--set", "run.max_requests=500", "--snapshots", "kept")
        assert found.returncode == 0
        assert "so snapshots have no effect" in found.stderr
    assert not (tmp_path / "kept").exists()
    fresh = pumice.preset("tiny").with_(run={"max_requests": 500})
    for call in (pumice.run, lambda spec, **given: pumice.sweep(spec, {"seed": [1, 2]}, workers=1, **given)):
        with pytest.warns(UserWarning, match="so snapshots have no effect"):
            call(fresh, snapshots=tmp_path / "kept")


def test_a_folder_of_this_machine_is_not_named_for_a_cluster(command: Command, tmp_path: Path) -> None:
    """The folder was left out without a word."""
    with pytest.raises(pumice.SpecError, match="a folder of snapshots is one of this machine"):
        pumice.sweep(AGED, {"seed": [1, 2]}, snapshots=tmp_path / "kept", dask="tcp://127.0.0.1:1")
    found = command("compare", *FLAGS, "--vary", "seed=1,2", "--snapshots", "kept", "--dask", "tcp://127.0.0.1:1")
    assert (found.returncode, len(found.stderr.splitlines())) == (2, 1), found.stderr
    assert "a folder of snapshots is one of this machine" in found.stderr


def test_a_device_is_saved_described_and_run_on(command: Command, tmp_path: Path) -> None:
    saved = command("snapshot", "save", "a.snap", *FLAGS)
    assert (saved.returncode, (tmp_path / "a.snap").is_file()) == (0, True), saved.stderr
    about = json.loads(command("snapshot", "info", "a.snap", "--json").stdout)
    assert about["keys"]["initial"]["age_writes"] == 1.0
    assert "queue_depth" not in about["keys"].get("host", {})
    assert "geometry.page_bytes" in command("snapshot", "info", "a.snap").stdout
    deep = ["--set", "host.mode=closed-loop", "--set", "host.queue_depth=8"]
    loaded = command("snapshot", "load", "a.snap", *FLAGS, *deep, "--json")
    plain = command("run", *FLAGS, *deep, "--json")
    assert origin(json.loads(loaded.stdout)) == "file"
    assert told(json.loads(loaded.stdout)) == told(json.loads(plain.stdout))


def test_a_snapshot_of_somebody_else_is_refused(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever could write a snapshot made a run panic, or tell another result, as long as its digest was right."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert command("snapshot", "save", "a.snap", *FLAGS).returncode == 0
    key = tmp_path / "data" / "pumice" / "snapshot.key"
    assert (len(key.read_bytes()), key.stat().st_mode & 0o777) == (64, 0o600)
    assert list(key.parent.iterdir()) == [key]
    assert command("snapshot", "load", "a.snap", *FLAGS).returncode == 0
    content = (tmp_path / "a.snap").read_bytes()
    body, seal = bytearray(content[:-64]), content[-32:]
    body[-9] ^= 1
    (tmp_path / "made-up.snap").write_bytes(body + hashlib.sha256(body).digest() + seal)
    (tmp_path / "mine.key").write_bytes(b"x" * 32)
    (tmp_path / "short.key").write_bytes(b"x" * 31)
    for name, variable, text in (
        ("made-up.snap", None, "made-up.snap: was not written with your key"),
        ("a.snap", "mine.key", "a.snap: was not written with your key"),
        ("a.snap", "short.key", "short.key: the key of snapshots has 31 bytes; allowed: 32 to 4096"),
        ("a.snap", "no.key", "no.key: the key of snapshots cannot be read"),
    ):
        if variable is not None:
            monkeypatch.setenv("PUMICE_SNAPSHOT_KEY", variable)
        for action in ("load", "info"):
            found = command("snapshot", action, name, *(FLAGS if action == "load" else ()))
            assert (found.returncode, len(found.stderr.splitlines())) == (2, 1), found.stderr
            assert text in found.stderr


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A snapshot of the aged device."""
    path = tmp_path_factory.mktemp("saved") / "a.snap"
    snapshots.save(AGED, path)
    return path


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["snapshot", "save", "b.snap", "--preset", "tiny"], "initial.age_writes = 0.0 leaves nothing to keep"),
        (["snapshot", "load", "a.snap", *FLAGS, "--set", "seed=5"], "seed = 1, the spec says 5"),
        (
            ["snapshot", "load", "a.snap", *FLAGS, "--set", "initial.fill=0.5"],
            "a.snap: holds another device than the spec's: initial.fill = 0.95, the spec says 0.5",
        ),
        (["snapshot", "load", "a.snap", "--preset", "tiny"], "and the spec has none"),
        (["snapshot", "load", "no.snap", *FLAGS], "no.snap: cannot be read"),
        (["snapshot", "info", "text"], "text: is not a snapshot; expected format pumice.snapshot/2"),
        (["snapshot", "info", "changed"], "changed: is cut short or was changed after it was written"),
        (["run", *FLAGS, "--snapshots", "text", "--json"], "warning: text"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(
    command: Command, saved: Path, tmp_path: Path, arguments: list[str], text: str
) -> None:
    shutil.copy(saved, tmp_path / "a.snap")
    (tmp_path / "text").write_text("no snapshot\n")
    content = bytearray((tmp_path / "a.snap").read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "changed").write_bytes(content)
    found = command(*arguments)
    assert len(found.stderr.splitlines()) == 1, found.stderr
    assert text in found.stderr
    assert found.returncode == (0 if arguments[0] == "run" else 2)
    assert not (tmp_path / "b.snap").exists()
