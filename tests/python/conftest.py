"""Fixtures: the command in a process of its own, as its users run it, or forked from one that has loaded it."""

from __future__ import annotations

import fcntl
import os
import pty
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from forked import run_forked

#: Where the tests lie, and the engines that they use in place of the real one.
TESTS = Path(__file__).parent

#: Top of the repository.
REPOSITORY = Path(__file__).parents[2]

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session", autouse=True)
def _own_data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests keep the key of snapshots in a folder of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        yield


@pytest.fixture(scope="session", autouse=True)
def _hear_signals() -> None:
    """A shell may have started the tests in the background or under `nohup`, where neither is heard: nor would it be by
    the commands that they begin."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """Runs `pumice ARGUMENTS…` in an empty directory and captures what it says."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        done = run_forked(arguments, tmp_path)
        return subprocess.CompletedProcess(arguments, done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


@pytest.fixture
def process(tmp_path: Path) -> Command:
    """As `command`, in a new process: for tests of what the process itself does, or of its other streams."""

    def run(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
        settings = {"capture_output": True, "text": True, "cwd": tmp_path, "timeout": 120, **options}
        return subprocess.run([sys.executable, "-m", "pumice", *arguments], **settings)

    return run


def on_a_terminal(arguments: list[str], width: int, directory: Path, *, watched: str = "stdout") -> str:
    """What a command writes to a terminal of a width: its `stdout`, or its `stderr`, which has the bar."""
    master, slave = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(width), "TERM": "xterm"}
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, watched: slave}
    command = [sys.executable, "-m", "pumice", *arguments]
    with subprocess.Popen(command, env=environment, cwd=directory, **streams) as process:
        os.close(slave)
        return shown_by(process, master)


def shown_by(process: subprocess.Popen[bytes], master: int) -> str:
    """What a process writes to a terminal until it ends well; the terminal's `master` side is closed then."""
    shown = b""
    try:
        while piece := os.read(master, 65536):
            shown += piece
    except OSError:
        pass  # the other end is closed
    assert process.wait(timeout=60) == 0
    os.close(master)
    return shown.decode().replace("\r\n", "\n")


def write_trace(path: Path, *, broken: bool = False) -> Path:
    """Writes a trace of one request; `broken`: with a second line that is none."""
    path.write_text("128166372000000000,hm,0,Write,0,4096,0\n" + ("1,2,3\n" if broken else ""))
    return path


def built_c_plugin(folder: Path) -> Path:
    """The plug-in of the example in C, built in a folder."""
    subprocess.run(["make", "-s", f"OUT={folder}"], cwd=REPOSITORY / "examples" / "own-ftl-c", check=True)
    return folder / "own_ftl.so"


@pytest.fixture(autouse=True)
def _no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors are to be told in one line, whatever the developer's shell asks for."""
    monkeypatch.delenv("PUMICE_TRACEBACK", raising=False)
    assert "PUMICE_TRACEBACK" not in os.environ


@pytest.fixture(scope="session")
def chip_prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the libraries for C were installed, once for all workers."""
    base = tmp_path_factory.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = base / "prefix"
    with (base / "prefix.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            subprocess.run(["make", "install", f"PREFIX={folder}"], cwd=REPOSITORY, check=True, capture_output=True)
    return folder


#: What stands in for pkg-config where it is not installed.
PKG_CONFIG = """#!/bin/sh
for name in "$@"; do :; done
for option in "$@"; do
    case $option in
    --cflags) printf '%s ' -I{prefix}/include ;;
    --libs) printf '%s ' -L{prefix}/lib -l$name ;;
    --variable=libdir) printf '%s ' {prefix}/lib ;;
    esac
done
"""


@pytest.fixture
def chip_environment(chip_prefix: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of somebody who has installed the libraries for C and this package."""
    path = [str(Path(sys.executable).parent), os.environ["PATH"]]
    if not shutil.which("pkg-config"):
        script = tmp_path_factory.mktemp("bin") / "pkg-config"
        script.write_text(PKG_CONFIG.format(prefix=chip_prefix))
        script.chmod(0o755)
        path.append(str(script.parent))
    settings = {"PREFIX": chip_prefix, "PUMICE": REPOSITORY, "PKG_CONFIG_PATH": chip_prefix / "lib" / "pkgconfig"}
    return {**os.environ, **{name: str(value) for name, value in settings.items()}, "PATH": os.pathsep.join(path)}
