"""The one way in which several simulations are run: in worker processes, with a store of results.

Used by sweep, compare, `--repeat` and reproduce. Runs are given out in order and returned in
order, so the outcome does not depend on the number of workers. With a store, every finished run is
written at once; with `resume`, what the store already holds is not simulated again, and runs that
failed are tried again. Without `resume` every run is simulated and replaces its stored result.
"""

from __future__ import annotations

import importlib
import json
import multiprocessing
import os
import signal
import sys
import threading
import types
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Literal

from pumice.errors import Interrupted, SpecError, TraceError, one_line
from pumice.outputs import FILES
from pumice.progress import StudyProgress
from pumice.spec import Spec
from pumice.store import Store, result_key
from pumice.worker import serve

#: Seconds between two looks at the workers while nothing is reported.
POLL_S = 0.2


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


@dataclass(frozen=True)
class Job:
    """One simulation of a study.

    Attributes:
        label: its name in messages.
        spec: what to simulate.
        varied: value of each varied key, for tables.
        seed: seed, where the study repeats runs over seeds.
    """

    label: str
    spec: Spec
    varied: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None


@dataclass(frozen=True)
class Outcome:
    """What became of a job: a document, or an error and its kind.

    Attributes:
        error_kind: "usage" if spec or trace cannot be used, "failed" if the run ended in an error.
        reused: the document came out of the store.
    """

    job: Job
    document: dict[str, Any] | None = None
    error: str | None = None
    error_kind: Literal["usage", "failed"] | None = None
    reused: bool = False


@dataclass(frozen=True)
class Settings:
    """How a study is run.

    Attributes:
        title: shown beside the progress bar.
        workers: number of processes; None takes one a CPU.
        store: directory for results, or None to keep them in memory only.
        resume: reuse what the store holds.
        engine: module that simulates; another one is of use in tests only.
    """

    title: str = "simulating"
    workers: int | None = None
    store: Path | None = None
    resume: bool = False
    engine: str = "pumice._engine"


def cpu_count() -> int:
    """CPUs that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_jobs(jobs: Sequence[Job], settings: Settings) -> list[Outcome]:
    """Runs all jobs and returns their outcomes in the jobs' order.

    Raises:
        Interrupted: Ctrl-C; finished runs are in the store, and the text says how many.
        StoreError: a result could not be written; runs already stored stay.
        SpecError: fewer than one worker is asked for.
    """
    if settings.workers is not None and settings.workers < 1:
        raise SpecError(f"workers: {settings.workers} is too few; allowed: 1 and more")
    study = _Study(jobs, settings)
    if study.waiting:
        with _ctrl_c_as_flag() as interrupted, StudyProgress(settings.title, study.total) as bar:
            study.run(interrupted, bar)
    return study.outcomes()


@contextmanager
def _ctrl_c_as_flag() -> Iterator[threading.Event]:
    """Turns Ctrl-C into a flag, so that it cannot strike while a result is being stored."""
    flag = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield flag
        return
    previous = signal.signal(signal.SIGINT, lambda _number, _frame: flag.set())
    try:
        yield flag
    finally:
        signal.signal(signal.SIGINT, previous)


@dataclass
class _Worker:
    process: BaseProcess
    connection: Connection
    key: str | None = None
    share: float = 0.0


class _Study:
    """The jobs of one call, by key: jobs with the same key are simulated once."""

    def __init__(self, jobs: Sequence[Job], settings: Settings) -> None:
        self._settings = settings
        self._engine = importlib.import_module(settings.engine)
        self._store = Store(settings.store) if settings.store is not None else None
        self._jobs = [(job, *self._prepare(job)) for job in jobs]
        self._done: dict[str, Outcome] = {}
        self._requests = {key: job.spec.request() for job, key, _ in self._jobs if key is not None}
        if settings.resume and self._store is not None:
            self._reuse(self._store)
        self.total = len(self._requests)
        #: Keys still to simulate, in order.
        self.waiting = deque(key for key in self._requests if key not in self._done)

    def _prepare(self, job: Job) -> tuple[str | None, Outcome | None]:
        try:
            resolved = json.loads(self._engine.resolve(job.spec.request()))
            _refuse_files(resolved["config"])
            return result_key(self._engine, resolved), None
        except (SpecError, TraceError) as error:
            return None, Outcome(job, error=one_line(error), error_kind="usage")

    def _reuse(self, store: Store) -> None:
        for job, key, _ in self._jobs:
            document = store.get(key) if key is not None else None
            if key is not None and document is not None:
                self._done[key] = Outcome(job, document=document, reused=True)

    def outcomes(self) -> list[Outcome]:
        """Outcomes in the order of the jobs; every job must have one."""
        found: list[Outcome] = []
        for job, key, refused in self._jobs:
            if refused is not None or key is None:
                assert refused is not None
                found.append(refused)
            else:
                done = self._done[key]
                found.append(Outcome(job, done.document, done.error, done.error_kind, done.reused))
        return found

    def run(self, interrupted: threading.Event, bar: StudyProgress) -> None:
        """Simulates everything that waits."""
        count = min(self._settings.workers or cpu_count(), len(self.waiting))
        workers: list[_Worker] = []
        try:
            workers.extend(self._start_worker() for _ in range(count))
            for worker in workers:
                self._give(worker)
            while any(worker.key is not None for worker in workers):
                self._serve_messages(workers)
                bar.update(len(self._done), [worker.share for worker in workers if worker.key is not None])
                if interrupted.is_set():
                    raise Interrupted(self._what_is_kept())
        finally:
            for worker in workers:
                _stop(worker)

    def _serve_messages(self, workers: list[_Worker]) -> None:
        ready = set(wait([worker.connection for worker in workers], timeout=POLL_S))
        for worker in [worker for worker in workers if worker.connection in ready]:
            try:
                kind, content = worker.connection.recv()
            except (EOFError, OSError):
                self._bury(worker)
                workers.remove(worker)
                if self.waiting:
                    workers.append(self._start_worker())
                    self._give(workers[-1])
                continue
            if kind == "progress":
                worker.share = float(content)
            elif worker.key is not None:
                self._finish(worker.key, kind, content)
                self._give(worker)

    def _start_worker(self) -> _Worker:
        # Spawned, not forked: the engine and Arrow keep threads, which do not survive a fork.
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=serve, args=(theirs, self._settings.engine), daemon=True)
        with _blank_main():
            process.start()
        theirs.close()
        return _Worker(process, ours)

    def _give(self, worker: _Worker) -> None:
        worker.share = 0.0
        worker.key = self.waiting.popleft() if self.waiting else None
        if worker.key is None:
            return
        with suppress(OSError):  # if it has died, its closed connection is noticed at the next look
            worker.connection.send(self._requests[worker.key])

    def _bury(self, worker: _Worker) -> None:
        """Records that a worker died: its run counts as failed."""
        worker.process.join(timeout=5)
        code = worker.process.exitcode
        cause = f"was killed by signal {-code}" if code is not None and code < 0 else f"ended with status {code}"
        hint = " (out of memory?)" if code == -signal.SIGKILL else ""
        if worker.key is not None:
            self._finish(worker.key, "failed", f"the worker process {cause}{hint}")
        _stop(worker)

    def _finish(self, key: str, kind: str, content: Any) -> None:
        job = next(job for job, known, _ in self._jobs if known == key)
        if kind != "done":
            self._done[key] = Outcome(job, error=str(content), error_kind="usage" if kind == "usage" else "failed")
            return
        document = json.loads(content)
        if self._store is not None:
            self._store.put(key, document)
        self._done[key] = Outcome(job, document=document)

    def _what_is_kept(self) -> str:
        finished = sum(outcome.document is not None for outcome in self._done.values())
        if self._store is None:
            return f"interrupted after {finished} of {self.total} runs; nothing is kept without an output directory"
        return (
            f"interrupted: {finished} of {self.total} runs are kept in {self._store.directory};"
            " the same command with --resume goes on from there"
        )


def _refuse_files(config: Mapping[str, Any]) -> None:
    """Refuses what only a single run can write.

    Raises:
        SpecError: the configuration asks for a file.
    """
    for key in FILES:
        if config.get("output", {}).get(key):
            raise SpecError(
                f"output.{key} writes a file of a single run; sweeps, comparisons and repeated runs keep documents"
                " only (output.time_series_s works there)"
            )


def _stop(worker: _Worker) -> None:
    """Ends a worker, whatever it is doing: what it has not reported is lost, nothing else."""
    worker.connection.close()
    if worker.process.is_alive():
        worker.process.terminate()
    worker.process.join(timeout=5)
    if worker.process.is_alive():
        worker.process.kill()
