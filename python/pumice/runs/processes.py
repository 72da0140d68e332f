"""Simulations in worker processes of this machine."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from pumice.runs.pending import POLL_S, Work
from pumice.runs.worker import serve


def cpu_count() -> int:
    """CPUs that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def simulate(work: Work, count: int) -> None:
    """Simulates everything that waits in at most `count` processes. A process that dies fails its
    run and is replaced.

    Raises:
        Interrupted: from `work.look`; the processes are ended.
        OSError: from `work.finish`.
    """
    workers: list[_Worker] = []
    try:
        workers.extend(_start(work.engine) for _ in range(min(count, len(work.waiting))))
        for worker in workers:
            _give(worker, work)
        while any(worker.key is not None for worker in workers):
            _serve_messages(workers, work)
            work.look([worker.share for worker in workers if worker.key is not None])
    finally:
        for worker in workers:
            _stop(worker)


@contextmanager
def _blank_main() -> Iterator[None]:
    """While it holds, a spawned process does not import the caller's script again: a worker needs
    nothing of it, and a script without a `__main__` guard would run a second time in each."""
    own = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = own


@dataclass
class _Worker:
    process: BaseProcess
    connection: Connection
    key: str | None = None
    share: float = 0.0


def _start(engine: str) -> _Worker:
    # Spawned, not forked: the engine and Arrow keep threads, which do not survive a fork.
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(theirs, engine), daemon=True)
    with _blank_main():
        process.start()
    theirs.close()
    return _Worker(process, ours)


def _give(worker: _Worker, work: Work) -> None:
    worker.share = 0.0
    worker.key, request = work.waiting.popleft() if work.waiting else (None, "")
    if worker.key is not None:
        with suppress(OSError):  # if it has died, its closed connection is noticed at the next look
            worker.connection.send(request)


def _serve_messages(workers: list[_Worker], work: Work) -> None:
    ready = set(wait([worker.connection for worker in workers], timeout=POLL_S))
    for worker in [worker for worker in workers if worker.connection in ready]:
        try:
            kind, content = worker.connection.recv()
        except (EOFError, OSError):
            _bury(worker, work)
            workers.remove(worker)
            if work.waiting:
                workers.append(_start(work.engine))
                _give(workers[-1], work)
            continue
        if kind == "progress":
            worker.share = float(content)
        elif worker.key is not None:
            work.finish(worker.key, kind, content)
            _give(worker, work)


def _bury(worker: _Worker, work: Work) -> None:
    """Records that a worker died: its run counts as failed."""
    worker.process.join(timeout=5)
    code = worker.process.exitcode
    cause = f"was killed by signal {-code}" if code is not None and code < 0 else f"ended with status {code}"
    hint = " (out of memory?)" if code == -signal.SIGKILL else ""
    if worker.key is not None:
        work.finish(worker.key, "failed", f"the worker process {cause}{hint}")
    _stop(worker)


def _stop(worker: _Worker) -> None:
    """Ends a worker, whatever it is doing: what it has not reported is lost, nothing else."""
    worker.connection.close()
    if worker.process.is_alive():
        worker.process.terminate()
    worker.process.join(timeout=5)
    if worker.process.is_alive():
        worker.process.kill()
