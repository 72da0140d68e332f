"""What a run writes besides its document: complete or not at all, and readable by others."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pumice
from conftest import Command
from pumice.runs.output_files import FILES

TINY = pumice.preset("tiny").with_(run={"max_requests": 3000})
ALL = dict.fromkeys(FILES, True)
LOGGED = TINY.with_(output=ALL)


def test_every_file_is_written_and_agrees_with_the_document(tmp_path: Path) -> None:
    document = pumice.run(LOGGED, out=tmp_path).to_dict()
    assert {path.name for path in tmp_path.iterdir()} == {"result.json", "made.json", *FILES.values()}
    assert json.loads((tmp_path / "result.json").read_text()) == document

    requests = pq.read_table(tmp_path / FILES["request_log"])
    assert requests.schema.metadata[b"pumice.config_sha256"].decode() == document["config_sha256"]
    assert requests.num_rows == 3000
    kinds = np.array(requests["kind"].to_pylist())
    latency = requests["latency_us"].to_numpy()
    assert latency[kinds == "write"].mean() == pytest.approx(document["host"]["write"]["latency_us"]["mean"])
    assert latency.max() == max(document["host"][kind]["latency_us"]["max"] for kind in ("read", "write"))
    assert requests["bytes"].to_numpy().sum() == sum(document["host"][kind]["bytes"] for kind in ("read", "write"))

    wear = np.load(tmp_path / FILES["wear_map"])
    assert wear.shape == (document["device"]["blocks"], 16)
    assert wear.mean() == pytest.approx(document["wear"]["aep"])

    histograms = (tmp_path / FILES["histograms"]).read_text()
    assert histograms.startswith("#[Histogram log format version 1.3]\n")
    assert [line.split(",")[0] for line in histograms.splitlines() if line[0] != "#"] == ["Tag=read", "Tag=write"]


def test_a_report_shows_the_wear_map(command: Command, tmp_path: Path) -> None:
    pumice.run(TINY.with_(output={"wear_map": True}), out=tmp_path / "out")
    assert command("report", "out").returncode == 0
    assert "<b>Wear map</b>" in (tmp_path / "out" / "report.html").read_text()
    np.save(tmp_path / "out" / FILES["wear_map"], np.zeros(3))
    assert "is not a wear map" in command("report", "out").stderr


def test_a_command_log_replays(tmp_path: Path) -> None:
    document = pumice.run(LOGGED, out=tmp_path).to_dict()
    verdict = pumice.verify_log(tmp_path / FILES["command_log"])
    assert verdict["broken"] is None
    copies = document["flash"]["programs"]["gc"]
    assert verdict["commands"] == document["run"]["flash_commands"] - copies
    header, records = pumice.read_command_log(tmp_path / FILES["command_log"])
    assert header == verdict["header"]
    assert header["config_sha256"] == document["config_sha256"]
    assert (records["kind"] == 2).sum() == document["flash"]["programs"]["host"]
    assert (records["kind"] == 4).sum() == document["flash"]["erases"]["block"]
    assert records["kind"][-1] == 255


def test_outputs_change_neither_document_nor_name() -> None:
    series = TINY.with_(output={"time_series_s": 10.0})
    plain, windows = pumice.run(TINY).to_dict(), pumice.run(series).to_dict()
    assert TINY.resolve()["config_sha256"] == LOGGED.resolve()["config_sha256"] == plain["config_sha256"]
    assert series.resolve()["config_sha256"] == windows["config_sha256"] != plain["config_sha256"]
    assert sum(window["reads"] for window in windows["time_series"]) == windows["host"]["read"]["requests"]
    changed = {"config", "config_sha256", "time_series", "run"}
    assert {key: value for key, value in plain.items() if key not in changed} == {
        key: value for key, value in windows.items() if key not in changed
    }


def test_files_need_a_directory_and_a_single_run(command: Command, tmp_path: Path) -> None:
    with pytest.raises(pumice.SpecError, match=r"output\.command_log .* output directory"):
        pumice.run(TINY.with_(output={"command_log": True}))
    tiny = ("--preset", "tiny", "--set", "run.max_requests=1000")
    log = ("--set", "output.request_log=true")
    (tmp_path / "s.toml").write_text('preset = "tiny"\n[output]\nwear_map = true\n[vary]\nseed = [1, 2]\n')
    for arguments in (["run", *tiny, *log], ["run", *tiny, *log, "--repeat", "2", "--out", "o"], ["sweep", "s.toml"],
                      ["compare", *tiny, *log, "--vary", "seed=1,2"]):  # fmt: skip
        done = command(*arguments)
        assert done.returncode == 2, done.stderr
        assert "single run" in done.stderr
        assert len(done.stderr.splitlines()) == 1
    done = command("run", *tiny, "--set", "output.histograms=true", "--set", "run.timed=false", "--out", "o")
    assert done.returncode == 2
    assert "needs run.timed = true" in done.stderr


def test_a_time_series_works_in_a_sweep() -> None:
    rows = pumice.sweep(TINY.with_(output={"time_series_s": 10.0}), {"seed": [1, 2]}, workers=1).to_pylist()
    assert all(len(json.loads(row["time_series"])) > 3 for row in rows)


def test_a_run_that_fails_or_is_stopped_leaves_nothing(tmp_path: Path) -> None:
    long = pumice.preset("tiny").with_(workload={"requests": 400_000}, output=ALL)
    with pytest.raises(pumice.Interrupted):
        pumice.run(long, out=tmp_path, progress=lambda *_: False)
    assert list(tmp_path.iterdir()) == []
    unaware = {"disturb_aware": False, "disturb_tolerance": 0}
    corrupt = LOGGED.with_(ftl={"merge": "m-merge"}, partial_erase=unaware, run={"check": "integrity"})
    with pytest.raises(pumice.SimulationError, match="corrupt"):
        pumice.run(corrupt.with_(run={"max_requests": 20_000}), out=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_sink_that_fails_ends_the_run_with_its_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)
    with pytest.raises(OSError, match="No space left"):
        pumice.run(LOGGED, out=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_amid_the_logs_leaves_nothing(tmp_path: Path) -> None:
    logs = [text for key in FILES for text in ("--set", f"output.{key}=true")]
    process = subprocess.Popen(
        [sys.executable, "-m", "pumice", "run", "--preset", "tiny", "--set", "workload.requests=9000000", *logs,
         "--out", "out"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while sum(path.stat().st_size > 0 for path in tmp_path.glob("out/.*.partial/*")) < 2 and process.poll() is None:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGINT)
    _, complained = process.communicate(timeout=60)
    assert process.returncode == 130, complained
    assert "nothing is kept" in complained
    assert len(complained.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def log(tmp_path: Path) -> bytes:
    """A command log, not compressed."""
    pumice.run(TINY.with_(output={"command_log": True}), out=tmp_path / "made")
    with pa.input_stream(str(tmp_path / "made" / FILES["command_log"]), compression="zstd") as stream:
        return bytes(stream.read())


def test_the_command_verifies_a_log(command: Command, tmp_path: Path, log: bytes) -> None:
    (tmp_path / "plain.bin").write_bytes(log)
    for name in (f"made/{FILES['command_log']}", "plain.bin"):
        done = command("verify", name)
        assert done.returncode == 0, done.stderr
        assert "commands break no rule" in done.stdout
    assert json.loads(command("verify", "plain.bin", "--json").stdout)["broken"] is None


def test_a_broken_rule_is_status_1_and_damage_status_2(command: Command, tmp_path: Path, log: bytes) -> None:
    head = int.from_bytes(log[12:16], "little")
    (tmp_path / "plain.bin").write_bytes(log)
    _, records = pumice.read_command_log(tmp_path / "plain.bin")
    program = int(np.flatnonzero(records["kind"] == 2)[0])
    again = np.insert(records, program + 1, records[program])
    (tmp_path / "twice.bin").write_bytes(log[:head] + again.tobytes())
    done = command("verify", "twice.bin")
    assert done.returncode == 1
    assert f"record {program + 1}" in done.stderr
    assert "erase-before-program" in done.stderr

    compressed = (tmp_path / "made" / FILES["command_log"]).read_bytes()
    damaged = {
        "short.bin": (log[:-50], f"byte {len(log) - 88}"),
        "cut.zst": (compressed[: len(compressed) // 2], "(byte "),
        "other.bin": (b"a,b,c,d,e,f,g,h\n1,2\n", "not a command log"),
        "empty.bin": (b"", "ends inside its head"),
    }
    for name, (content, text) in damaged.items():
        (tmp_path / name).write_bytes(content)
        done = command("verify", name)
        assert done.returncode == 2, done.stderr
        assert done.stderr.startswith(f"pumice: {name}: "), done.stderr
        assert text in done.stderr, done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert command("verify", "nosuch.bin").returncode == 2
