"""The command in a process of its own that is forked from one which has loaded the command's modules already.

Loading numpy, Arrow and matplotlib takes most of what a short command costs, and the tests run hundreds of them.
"""

from __future__ import annotations

import locale
import multiprocessing
import os
import subprocess
import sys
import threading
import types
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from unittest import mock

#: What the processes share: every module that a command loads before it has something to do.
LOADED = [
    "forked",
    "pumice.cli.app",
    "pumice.cli.commands",
    "pumice.cli.tables",
    "pumice.report.page",
    "pumice.results.run_table",
    "matplotlib.pyplot",
    "pyarrow.parquet",
]

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(LOADED)


def run_forked(
    arguments: Sequence[str], directory: Path, environment: Mapping[str, str] | None = None, timeout_s: float = 120
) -> subprocess.CompletedProcess[bytes]:
    """Runs `pumice ARGUMENTS…` in a directory, without any standard input; one that takes too long is killed."""
    (out, out_end), (err, err_end) = (_FORKS.Pipe(duplex=False) for _ in range(2))
    words = (list(arguments), directory, dict(os.environ if environment is None else environment))
    process = _FORKS.Process(target=_run, args=(*words, out_end, err_end))
    with mock.patch.dict(sys.modules, {"__main__": types.ModuleType("__main__")}):
        process.start()  # the tests' own main module is not loaded there
    out_end.close()
    err_end.close()
    timer = threading.Timer(timeout_s, process.kill)
    timer.start()
    with ThreadPoolExecutor(2) as readers:
        said, complained = readers.map(_everything, (out, err))
    process.join()
    timer.cancel()
    assert process.exitcode is not None
    return subprocess.CompletedProcess(arguments, process.exitcode, said, complained)


def _everything(end: Connection) -> bytes:
    """Reads a pipe until everybody has closed its other end."""
    with end, open(end.fileno(), "rb", closefd=False) as pipe:
        return pipe.read()


def _run(
    arguments: list[str], directory: Path, environment: dict[str, str], out_end: Connection, err_end: Connection
) -> None:
    """Does in the forked process what `python -m pumice` does in a new one."""
    for descriptor, end in ((1, out_end), (2, err_end)):
        os.dup2(end.fileno(), descriptor)
        end.close()
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(environment)
    encoding = environment.get("PYTHONIOENCODING") or locale.getpreferredencoding(False)
    sys.stdout = open(1, "w", encoding=encoding, closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding=encoding, errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.argv = ["pumice", *arguments]
    from pumice.cli import main

    main()
