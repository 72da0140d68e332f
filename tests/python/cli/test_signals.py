"""Signals: every long command ends within a second, says so in one line, and leaves nothing half-written."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

TINY = ("--preset", "tiny", "--set", "workload.requests=4000000000")

#: Longest time from a signal to the end of the command. The promise is a second on an idle machine.
PATIENCE_S = 5.0

#: Longest time for a command to get into its work, and the processor time by which it is there. Loading takes up to
#: two thirds of it.
BEGIN_S, WORK_S = 2.5, 1.0


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace that takes much longer to read than a command needs to begin: 200 million equal lines in a small file."""
    path = tmp_path_factory.mktemp("trace") / "long.csv.gz"
    stream = gzip.compress(b"128166372003061629,host,0,Write,8192,4096,0\n" * 1_000_000)
    path.write_bytes(stream * 200)
    return path


def await_work(session: int, work_s: float = WORK_S) -> None:
    """Waits until the processes of a session have used so much processor time, where the system tells; at most
    `BEGIN_S`, as for one that waits for a pipe."""
    deadline = time.monotonic() + BEGIN_S
    while time.monotonic() < deadline and used_s(session) < work_s:
        time.sleep(0.02)


def used_s(session: int) -> float:
    """Processor time of the processes of a session; 0 where the system does not tell."""
    ticks = 0
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            fields = file.read_text("utf-8", "replace").rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12]) if int(fields[3]) == session else 0
    return ticks / os.sysconf("SC_CLK_TCK")


def signalled(
    directory: Path,
    arguments: Sequence[str],
    number: int,
    ready: Callable[[], bool] = lambda: True,
    work_s: float = WORK_S,
) -> tuple[int, str, str, float]:
    """Status, output and complaint of a command that gets a signal amid its work, once `ready`, and how long it took
    to end."""
    process = subprocess.Popen(
        [sys.executable, "-m", "pumice", *arguments],
        cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    await_work(process.pid, work_s)
    deadline = time.monotonic() + 60
    while not ready() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    assert process.poll() is None, process.communicate()
    begun = time.monotonic()
    os.kill(process.pid, number)
    said, complained = process.communicate(timeout=60)
    return process.returncode, said, complained, time.monotonic() - begun


#: Runs `pumice presets`; Ctrl-C strikes when a module is looked for, whose name stands in argv.
STRUCK = """
import os, runpy, signal, sys

class Strike:
    def find_spec(self, name, *_):
        if name == struck:
            os.kill(os.getpid(), signal.SIGINT)

struck, sys.argv = sys.argv[1], ["pumice", "presets"]
sys.meta_path.insert(0, Strike())
runpy.run_module("pumice", run_name="__main__")
"""


@pytest.mark.parametrize(
    "struck", ["pumice.cli", "pumice.cli.own_code", "pumice.text", "typer", "pumice.cli.app", "pumice.cli.tables"]
)
def test_ctrl_c_while_the_command_loads_is_a_line_or_silence(struck: str) -> None:
    """It was a traceback until the first line of `main`, a third of a second on a slow machine."""
    command = [sys.executable, "-c", STRUCK, struck]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode in (130, -signal.SIGINT)
    assert (done.stdout, done.stderr) in [("", ""), ("", "pumice: interrupted; unfinished files are not kept\n")]


@pytest.mark.parametrize(
    "arguments",
    [
        ["trace", "info", "TRACE"],
        ["trace", "info", "TRACE", "--out", "new"],
        ["trace", "check", "TRACE"],
        ["trace", "convert", "TRACE", "new/out.csv"],
        ["trace", "convert", "TRACE", "out.csv.xz", "--volumes", "separate"],
        ["trace", "generate", "out.csv.zst", *TINY],
        [
            "trace",
            "generate",
            "out.csv",
            *TINY,
            "--set",
            "workload.trim_fraction=1",
            "--set",
            "workload.read_fraction=0",
        ],
        ["trace", "info", "pipe"],
        ["trace", "convert", "TRACE", "pipe", "--to", "msr"],
        ["run", *TINY, "--trace", "pipe"],
        ["run", *TINY, "--out", "new", "--set", "output.command_log=true"],
    ],
    ids=" ".join,
)
def test_ctrl_c_ends_every_long_command(tmp_path: Path, trace: Path, arguments: list[str]) -> None:
    """The commands of `trace` noticed Ctrl-C at their end, or never where they waited for a pipe."""
    os.mkfifo(tmp_path / "pipe")
    words = [str(trace) if word == "TRACE" else word for word in arguments]
    status, said, complained, took_s = signalled(tmp_path, words, signal.SIGINT)
    assert (status, said) == (130, ""), complained
    assert complained.startswith("pumice: interrupted")
    assert "already written" not in complained
    if arguments[0] == "trace":
        assert complained == "pumice: interrupted; unfinished files are not kept\n"
    assert complained.count("\n") == 1
    assert took_s < PATIENCE_S
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", *TINY, "--repeat", "3", "--out", "new"],
        ["compare", *TINY, "--vary", "seed=1,2", "--out", "new"],
        ["compare", *TINY, "--vary", "seed=1,2"],
        ["sweep", "sweep.toml", "--out", "new"],
        ["reproduce", "pen", "--full", "--out", "new"],
        ["reproduce", "all", "--full", "--out", "new"],
    ],
    ids=" ".join,
)
def test_ctrl_c_ends_every_study(tmp_path: Path, arguments: list[str]) -> None:
    """One line that says what is kept, no traceback of a worker, and nothing half-written."""
    (tmp_path / "sweep.toml").write_text(
        'preset = "tiny"\nworkload.requests = 4000000000\n[vary]\nseed = [1, 2, 3, 4, 5, 6, 7, 8]\n'
    )
    # Matplotlib is loaded before the runs of a paper.
    work_s = 2 * BEGIN_S if arguments[0] == "reproduce" else WORK_S
    status, said, complained, took_s = signalled(tmp_path, arguments, signal.SIGINT, work_s=work_s)
    assert (status, said) == (130, ""), complained
    *announced, last = complained.splitlines()
    assert last.startswith("pumice: interrupted")
    assert "kept" in last
    assert all(line.startswith("pumice: ") and "Error" not in line for line in announced)
    assert took_s < PATIENCE_S
    assert not [path for path in tmp_path.rglob("*") if path.name.startswith(".")]


def test_ctrl_c_keeps_the_runs_that_are_finished(tmp_path: Path) -> None:
    """Two runs of a comparison end at once, the third would take hours."""
    vary = ("--vary", "run.max_requests=100,200,4000000000")
    arguments = ["compare", *TINY, *vary, "--out", "new", "--workers", "1"]
    status, _, complained, _ = signalled(tmp_path, arguments, signal.SIGINT, lambda: stored(tmp_path / "new") == 2)
    assert status == 130
    assert complained == (
        "pumice: interrupted: 2 of 3 runs are kept in new/runs; the same command with --resume goes on from there\n"
    )
    assert stored(tmp_path / "new") == 2


def stored(directory: Path) -> int:
    """Number of results in the store of an output directory."""
    return len(list(directory.glob("runs/*.json")))


def test_ctrl_c_ends_the_reading_of_a_trace_in_python(tmp_path: Path, trace: Path) -> None:
    script = f"""
import signal, threading, time, os
signal.signal(signal.SIGINT, signal.default_int_handler)
import pumice
threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
begun = time.monotonic()
try:
    pumice.read_trace({str(trace)!r})
except KeyboardInterrupt:
    print(time.monotonic() - begun)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120)
    assert float(done.stdout) < 1.0 + PATIENCE_S
    assert done.stderr == ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize(
    "arguments",
    [
        ["run", *TINY, "--out", "new", "--set", "output.command_log=true", "--set", "output.request_log=true"],
        ["trace", "generate", "out.csv", *TINY],
        ["compare", *TINY, "--vary", "seed=1,2", "--out", "new", "--workers", "2"],
    ],
    ids=" ".join,
)
def test_other_signals_leave_nothing_half_written(tmp_path: Path, arguments: list[str], number: int) -> None:
    """Files under hidden names stayed, and nobody removed them."""
    status, said, complained, took_s = signalled(tmp_path, arguments, number)
    assert (status, said) == (128 + number, ""), complained
    assert complained.count("\n") == 1
    assert "kept" in complained
    assert took_s < PATIENCE_S
    assert list(tmp_path.iterdir()) == []


def test_nohup_is_obeyed(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "pumice", "trace", "generate", "out.csv", *TINY], cwd=tmp_path,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )  # fmt: skip
    await_work(process.pid)
    os.kill(process.pid, signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=1)
    os.kill(process.pid, signal.SIGTERM)
    assert process.wait(timeout=60) == 143
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_run_left_is_removed_by_the_next(tmp_path: Path) -> None:
    def run(requests: int) -> subprocess.Popen[bytes]:
        sets = ("--set", f"workload.requests={requests}", "--set", "output.command_log=true")
        command = [sys.executable, "-m", "pumice", "run", "--preset", "tiny", *sets, "--out", "out"]
        return subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    killed = run(4_000_000_000)
    while not list((tmp_path / "out").glob(".*.partial/*")):
        time.sleep(0.05)
    killed.kill()
    killed.wait(timeout=60)
    assert len(list((tmp_path / "out").iterdir())) == 1
    assert run(1000).wait(timeout=60) == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"result.json", "made.json", "command_log.bin.zst"}
