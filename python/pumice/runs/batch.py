"""Several simulations at once, with a store of results.

Sweep, compare, `--repeat` and reproduce all run their simulations here. Runs are simulated in worker
processes of this machine or on a Dask cluster. Their outcomes come back in the order of the jobs, so
they do not depend on where the runs were simulated.

With a store, the result of a run is written as soon as the run ends. With `resume`, a result that the
store holds is reused, and runs that failed are tried again. Without `resume` every run is simulated
and its stored result is replaced.
"""

from __future__ import annotations

import importlib
import json
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pumice.errors import Interrupted, SpecError, TraceError, one_line
from pumice.runs import cluster, processes
from pumice.runs.output_files import FILES
from pumice.runs.pending import Ending, Pending
from pumice.runs.progress import BatchProgress
from pumice.runs.spec import Spec
from pumice.runs.store import Store, result_key


@dataclass(frozen=True)
class Job:
    """One simulation of a batch.

    Attributes:
        label: name of the run in messages.
        spec: what to simulate.
        varied: value of each varied key, for tables.
        seed: seed of the run, if it is repeated over seeds.
        expected_s: seconds that the run is expected to take on one core; None if unknown.
    """

    label: str
    spec: Spec
    varied: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    expected_s: float | None = None


@dataclass(frozen=True)
class Outcome:
    """How a job ended: with a result document, or with an error.

    Attributes:
        error_kind: "usage" if spec or trace cannot be used, "failed" if the run ended in an error.
        reused: whether the document came from the store.
    """

    job: Job
    document: dict[str, Any] | None = None
    error: str | None = None
    error_kind: Literal["usage", "failed"] | None = None
    reused: bool = False


@dataclass(frozen=True)
class Settings:
    """How a batch is run.

    Attributes:
        title: shown beside the progress bar.
        workers: number of processes of this machine; None starts one for each CPU.
        store: directory for results; None keeps them in memory only.
        resume: whether to reuse results that the store holds.
        engine: name of the module that simulates; tests use others.
        dask: address of a Dask scheduler whose workers simulate instead, or None.
        announce: called with a line of text before a batch that is expected to take long.
    """

    title: str = "simulating"
    workers: int | None = None
    store: Path | None = None
    resume: bool = False
    engine: str = "pumice._engine"
    dask: str | None = None
    announce: Callable[[str], None] | None = None


#: A batch that is expected to take longer than this many seconds is announced.
LONG_S = 1800.0


def run_jobs(jobs: Sequence[Job], settings: Settings) -> list[Outcome]:
    """Runs all jobs and returns their outcomes in the jobs' order.

    Raises:
        Interrupted: Ctrl-C; finished runs are in the store, and the text says how many.
        StoreError: a result could not be written; runs already stored stay.
        SpecError: fewer than one worker is asked for, or both workers and a cluster, or no
            scheduler answers.
    """
    if settings.workers is not None and settings.dask is not None:
        raise SpecError("runs go to worker processes of this machine or to a Dask cluster, not to both")
    if settings.workers is not None and settings.workers < 1:
        raise SpecError(f"workers: {settings.workers} is too few; allowed: 1 and more")
    batch = _Batch(jobs, settings)
    if batch.waiting:
        batch.announce()
        with _ctrl_c_as_flag() as interrupted, BatchProgress(settings.title, batch.total) as bar:
            batch.simulate(interrupted, bar)
    return batch.outcomes()


@contextmanager
def _ctrl_c_as_flag() -> Iterator[threading.Event]:
    """Turns Ctrl-C into a flag, so that it cannot interrupt the writing of a result."""
    flag = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield flag
        return
    previous = signal.signal(signal.SIGINT, lambda _number, _frame: flag.set())
    try:
        yield flag
    finally:
        signal.signal(signal.SIGINT, previous)


class _Batch:
    """The jobs of one call of `run_jobs`. Jobs with the same key are simulated once."""

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
        #: Key and request of every run that has not begun, in order.
        self.waiting = deque((key, request) for key, request in self._requests.items() if key not in self._done)

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

    def announce(self) -> None:
        """Announces how many runs wait and how long they will take, if the time of every run is known."""
        expected = {key: job.expected_s for job, key, _ in self._jobs if key is not None}
        waiting = [expected[key] for key, _ in self.waiting]
        known = [seconds for seconds in waiting if seconds is not None]
        workers = self._settings.workers or processes.cpu_count()
        if self._settings.announce is None or len(known) < len(waiting) or sum(known) / workers < LONG_S:
            return
        if self._settings.dask is not None:
            self._settings.announce(f"{len(waiting)} runs, about {sum(known) / 3600:.1f} hours of one core in all")
        else:
            estimate = f"about {sum(known) / workers / 3600:.1f} hours with {workers} workers on idle cores"
            self._settings.announce(f"{len(waiting)} runs, {estimate}; Ctrl-C keeps what is finished, --resume goes on")

    def outcomes(self) -> list[Outcome]:
        """The outcomes in the order of the jobs, once every job has one."""
        found: list[Outcome] = []
        for job, key, refused in self._jobs:
            if refused is not None or key is None:
                assert refused is not None
                found.append(refused)
            else:
                done = self._done[key]
                found.append(Outcome(job, done.document, done.error, done.error_kind, done.reused))
        return found

    def simulate(self, interrupted: threading.Event, bar: BatchProgress) -> None:
        """Simulates all runs that wait."""

        def look(shares: Sequence[float]) -> None:
            bar.update(len(self._done), list(shares))
            if interrupted.is_set():
                raise Interrupted(self._what_is_kept())

        pending = Pending(self.waiting, self._settings.engine, self._finish, look)
        if self._settings.dask is not None:
            cluster.simulate(pending, self._settings.dask)
        else:
            processes.simulate(pending, self._settings.workers or processes.cpu_count())

    def _finish(self, key: str, ending: Ending, content: str) -> None:
        job = next(job for job, known, _ in self._jobs if known == key)
        if ending != "done":
            self._done[key] = Outcome(job, error=content, error_kind=ending)
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
    """Refuses a configuration that asks for files, which only a single run can write.

    Raises:
        SpecError: a key of `[output]` asks for a file.
    """
    for key in FILES:
        if config.get("output", {}).get(key):
            raise SpecError(
                f"output.{key} writes a file of a single run; sweeps, comparisons and repeated runs keep documents"
                " only (output.time_series_s works there)"
            )
