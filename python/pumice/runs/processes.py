"""Simulations in worker processes of this machine.

Each worker process simulates one request after another. This module holds both ends of the pipe
between them: the parent, which gives out requests and collects results, and the worker.

The processes are handled here and not by a library, for two reasons: a worker that dies must cost
its own run and no other, told in one line, and a worker reports how far its run has come. See
docs/DESIGN.md, "Own code where libraries exist".
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import signal
import sys
import time
import types
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from pumice.errors import how_ended
from pumice.runs.pace import Pace
from pumice.runs.pending import POLL_S, Course, Pending, attempt

#: Seconds between two progress messages of a worker.
REPORT_S = 0.2


def cpu_count() -> int:
    """Number of CPUs that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def simulate(pending: Pending, count: int) -> None:
    """Simulates all pending runs in at most `count` processes.

    If a process dies, its run counts as failed and another process takes its place.

    Raises:
        Interrupted: from `pending.look`; the processes are ended.
        OSError: from `pending.finish`.
    """
    workers: list[_Worker] = []
    try:
        workers.extend(_start(pending.engine) for _ in range(min(count, len(pending.waiting))))
        for worker in workers:
            _give_next(worker, pending)
        while underway := {worker.key: worker.course for worker in workers if worker.key is not None}:
            pending.look(underway)
            _read_messages(workers, pending)
    finally:
        for worker in workers:
            _stop(worker)


@dataclass
class _Worker:
    """A worker process as the parent sees it.

    Attributes:
        key: key of the run that it simulates; None if it has none.
        course: how far that run has come.
    """

    process: BaseProcess
    connection: Connection
    key: str | None = None
    course: Course = field(default_factory=Course)


@contextmanager
def _blank_main() -> Iterator[None]:
    """Keeps a process that is spawned meanwhile from importing the caller's script.

    A worker needs nothing of the script, and a script without a `__main__` guard would run a second
    time in every worker.
    """
    own = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = own


def _start(engine: str) -> _Worker:
    # Spawned, not forked: the engine and Arrow keep threads, which do not survive a fork.
    context = multiprocessing.get_context("spawn")
    parent_end, worker_end = context.Pipe()
    process = context.Process(target=_work, args=(worker_end, engine), daemon=True)
    with _blank_main():
        process.start()
    worker_end.close()
    return _Worker(process, parent_end)


def _give_next(worker: _Worker, pending: Pending) -> None:
    worker.course = Course()
    worker.key, request = pending.waiting.popleft() if pending.waiting else (None, "")
    if worker.key is not None:
        with suppress(OSError):  # if the worker has died, its closed connection is noticed at the next read
            worker.connection.send((request, pending.limit_s))


def _read_messages(workers: list[_Worker], pending: Pending) -> None:
    """Handles what the workers have sent, and replaces those that died."""
    ready = set(wait([worker.connection for worker in workers], timeout=POLL_S))
    for worker in [worker for worker in workers if worker.connection in ready]:
        try:
            kind, content = worker.connection.recv()
        except (EOFError, OSError):
            _record_death(worker, pending)
            workers.remove(worker)
            if pending.waiting:
                workers.append(_start(pending.engine))
                _give_next(workers[-1], pending)
            continue
        if kind == "progress":
            worker.course = content
        elif worker.key is not None:
            pending.finish(worker.key, kind, content, worker.course.ageing_s)
            _give_next(worker, pending)


def _record_death(worker: _Worker, pending: Pending) -> None:
    """Records the run of a worker that died as failed, and why it died."""
    worker.process.join(timeout=5)
    code = worker.process.exitcode
    cause = how_ended(code) if code is not None else "does not end"
    hint = " (out of memory?)" if code == -signal.SIGKILL else ""
    if code is not None and code >= 0:
        hint = " before its run was done: was exit called in code of your own?"
    if worker.key is not None:
        pending.finish(worker.key, "failed", f"the worker process {cause}{hint}", 0.0)
    _stop(worker)


def _stop(worker: _Worker) -> None:
    """Ends a worker. A run that it has not reported is lost, nothing else."""
    worker.connection.close()
    if worker.process.is_alive():
        worker.process.terminate()
    worker.process.join(timeout=5)
    if worker.process.is_alive():
        worker.process.kill()


def _work(connection: Connection, engine_name: str) -> None:
    """Runs in the worker: simulates the requests that come over `connection` until it is closed."""
    # Ctrl-C and the loss of the terminal reach the whole process group; only the parent decides what they mean.
    for name in ("SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    engine = importlib.import_module(engine_name)
    parent = os.getppid()
    while True:
        try:
            request, limit_s = connection.recv()
            reporter = _Reporter(connection, parent, limit_s)
            try:
                ending = attempt(engine, request, reporter.report)
            except KeyboardInterrupt:
                if reporter.whole_s is None:
                    raise
                ending = "sampled", str(reporter.whole_s)
            connection.send(ending)
        except (EOFError, OSError, KeyboardInterrupt):
            return


class _Reporter:
    """Reports to the parent how far a run has come. Stops the run once the parent is gone or its time is over."""

    def __init__(self, connection: Connection, parent: int, limit_s: float | None) -> None:
        self._connection = connection
        self._parent = parent
        self._limit_s = limit_s
        self._begun = self._reported = time.monotonic()
        #: What is known of the run's speed.
        self._pace = Pace()
        #: What the whole run would take, once it was stopped because its time was over.
        self.whole_s: float | None = None

    def report(self, requests: int, share: float | None, _simulated_s: float) -> bool:
        """The engine's callback."""
        now = time.monotonic()
        self._pace.note(now - self._begun, share or 0.0, requests)
        if now - self._reported >= REPORT_S:
            self._reported = now
            self._connection.send(("progress", Course(share or 0.0, self._pace.ageing_s)))
        # A sample's time does not count the ageing of its device, which other runs may not need.
        if self._limit_s is not None and now - self._begun - self._pace.ageing_s >= self._limit_s:
            self.whole_s = self._pace.whole_s()
            if self.whole_s is not None:
                self._connection.send(("progress", Course(share or 0.0, self._pace.ageing_s)))
                return False
        return os.getppid() == self._parent
