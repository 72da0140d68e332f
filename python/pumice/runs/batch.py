"""Several simulations at once, with a store of results.

Sweep, compare, `--repeat` and reproduce all run their simulations here. Runs are simulated in worker
processes of this machine or on a Dask cluster. Their outcomes come back in the order of the jobs, so
they do not depend on where the runs were simulated.

With a store, the result of a run is written as soon as the run ends. With `resume`, a result that the
store holds is reused, and runs that failed are tried again. Without `resume` every run is simulated
and its stored result is replaced.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import signal
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pumice.errors import Interrupted, SpecError, Terminated, TraceError, one_line
from pumice.outputs import FILES
from pumice.results.document import lookup
from pumice.runs.forecast import BUDGET_S, SAMPLES_SHARE, SLICE_S, Forecast, Underway, sample_of
from pumice.runs.jobs import Job, Outcome
from pumice.runs.pending import Course, Ending, Pending
from pumice.runs.progress import BatchProgress, duration_text, in_notebook, on_terminal
from pumice.runs.snapshots import NOTHING_AGED, SnapshotPlaces, shared
from pumice.runs.store import NotTheResult, Store, result_key, trace_digest
from pumice.text import count


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
        all_or_none: whether a job whose spec or trace cannot be used is refused before the first run begins; otherwise
            it is an outcome with an error, and the others are run.
        announce: called with a line of text that the user should read before the runs begin: that they are
            expected to take long, or that a stored result cannot be reused. The latter is a warning of Python's
            if there is no such function.
        snapshots: folder that keeps aged devices for runs that need the same; None keeps them in memory only, for the
            other runs of a worker.
    """

    title: str = "simulating"
    workers: int | None = None
    store: Path | None = None
    resume: bool = False
    engine: str = "pumice._engine"
    dask: str | None = None
    all_or_none: bool = False
    announce: Callable[[str], None] | None = None
    snapshots: Path | None = None


#: A batch that is expected to take longer than this many seconds is announced.
LONG_S = 60.0

#: Seconds between two forecasts of the time that is left.
FORECAST_S = 2.0


def run_jobs(jobs: Sequence[Job], settings: Settings) -> list[Outcome]:
    """Runs all jobs and returns their outcomes in the jobs' order.

    Raises:
        Interrupted: Ctrl-C; finished runs are in the store, and the text says how many.
        StoreError: a result could not be written; runs already stored stay.
        SpecError: fewer than one worker is asked for, or a cluster with workers of this machine or with a folder of
            snapshots, or no scheduler answers; a job cannot be run at all and `all_or_none` is set.
    """
    if settings.workers is not None and settings.dask is not None:
        raise SpecError("runs go to worker processes of this machine or to a Dask cluster, not to both")
    if settings.workers is not None and settings.workers < 1:
        raise SpecError(f"workers: {settings.workers} is too few; allowed: 1 and more")
    if settings.snapshots is not None and settings.dask is not None:
        raise SpecError("a folder of snapshots is one of this machine, and the workers of a Dask cluster do not see it")
    batch = _Batch(jobs, settings)
    if settings.all_or_none:
        batch.refuse_all_for_one()
    if batch.waiting:
        with _signals_as_list() as signals, BatchProgress(settings.title, batch.total) as bar:
            batch.sample(signals, bar)
            batch.announce()
            batch.simulate(signals, bar)
            batch.heed(signals)  # what came behind the last run
    return batch.outcomes()


@contextlib.contextmanager
def keeping(outcomes: Sequence[Outcome], settings: Settings) -> Iterator[None]:
    """What is made of the outcomes of a batch: a signal is told with what is kept of the runs."""
    try:
        yield
    except Interrupted:
        raise
    except (KeyboardInterrupt, Terminated) as error:
        runs = {outcome.key: outcome.document is not None for outcome in outcomes}
        text = _what_is_kept(sum(runs.values()), len(runs), settings.store)
        raise Interrupted(text, getattr(error, "signal_number", signal.SIGINT)) from None


class _Enough(Exception):
    """The time for samples is over."""


def _cpu_count() -> int:
    from pumice.runs.processes import cpu_count  # loaded here: a single run starts no process

    return cpu_count()


@contextlib.contextmanager
def _signals_as_list() -> Iterator[list[int]]:
    """Lists Ctrl-C, and other signals that the process handles as a wish to end, where they would interrupt the
    writing of a result."""
    listed: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield listed
        return
    others = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    taken = {number: signal.getsignal(number) for number in others if callable(signal.getsignal(number))}
    taken[signal.SIGINT] = signal.getsignal(signal.SIGINT)
    for number in taken:
        signal.signal(number, lambda number, _frame: listed.append(number))
    try:
        yield listed
    finally:
        for number, handler in taken.items():
            signal.signal(number, handler)


class _Batch:
    """The jobs of one call of `run_jobs`. Jobs with the same key are simulated once."""

    def __init__(self, jobs: Sequence[Job], settings: Settings) -> None:
        self._settings = settings
        self._engine = importlib.import_module(settings.engine)
        self._store = Store(settings.store) if settings.store is not None else None
        #: SHA-256 of the trace that each run replays, by key.
        self._traces: dict[str, str | None] = {}
        #: The aged device that each run begins with, by key; None if it has none that can be kept.
        self._aged: dict[str, str | None] = {}
        self._jobs = [(job, *self._prepare(job)) for job in jobs]
        self._done: dict[str, Outcome] = {}
        self._by_key = {key: job for job, key, _ in reversed(self._jobs) if key is not None}
        self._requests = {key: job.spec.request() for job, key, _ in self._jobs if key is not None}
        if settings.resume and self._store is not None:
            self._reuse(self._store)
        self._workers = settings.workers or _cpu_count()
        #: When each run was first seen to go on.
        self._begun: dict[str, float] = {}
        #: Seconds that were left at the last forecast, and when it was made.
        self._left_s: float | None = None
        self._foretold = 0.0
        self._forecast = Forecast(
            {key: job.varied for key, job in self._by_key.items()},
            {key: job.expected_s for key, job in self._by_key.items()},
            self._workers,
            self._aged,
        )
        self.total = len(self._requests)
        #: Key and request of every run that has not begun, in order.
        self.waiting = deque(self._with_snapshots([key for key in self._requests if key not in self._done]))

    def _with_snapshots(self, keys: Sequence[str]) -> list[tuple[str, str]]:
        """Key and request of runs, so that those which need the same aged device share it and follow each other."""
        several = shared(self._aged[key] for key in keys)
        if self._settings.snapshots is not None and keys and not any(self._aged[key] for key in keys):
            self._warn(NOTHING_AGED)
        firsts: dict[str, int] = {}
        for place, key in enumerate(keys):
            aged = self._aged[key]
            firsts.setdefault(aged or key, place)
            folder = self._settings.snapshots if aged is not None else None
            places = SnapshotPlaces(in_memory=aged in several, folder=folder)
            if places.in_memory or places.folder is not None:
                self._requests[key] = places.laid_into(self._requests[key], self._engine)
        together = sorted(keys, key=lambda key: firsts[self._aged[key] or key])
        return [(key, self._requests[key]) for key in together]

    def _prepare(self, job: Job) -> tuple[str | None, Outcome | None]:
        try:
            resolved = json.loads(self._engine.resolve(job.spec.request()))
            _refuse_files(resolved["config"])
            key = result_key(self._engine, resolved)
            self._traces.setdefault(key, trace_digest(resolved["config"]))
            self._aged.setdefault(key, resolved.get("aged_sha256"))
            return key, None
        except (SpecError, TraceError) as error:
            return None, Outcome(job, error="; ".join(str(error).splitlines()), error_kind="usage")

    def refuse_all_for_one(self) -> None:
        """Raises the first refusal among the jobs.

        Raises:
            SpecError: a job's spec or trace cannot be used; the text names the job if others could be run.
        """
        refused = [outcome for _, _, outcome in self._jobs if outcome is not None]
        if refused:
            job, error = refused[0].job, refused[0].error
            raise SpecError(error if len(refused) == len(self._jobs) else f"{job.label}: {error}")

    def _reuse(self, store: Store) -> None:
        for key, job in self._by_key.items():
            try:
                document = store.get(key)
            except NotTheResult as fault:
                self._warn(f"{fault}; {job.label} is run again")
                continue
            if document is not None:
                self._done[key] = Outcome(job, document=document, reused=True)
        others = store.others(self._by_key)
        if others and len(self._done) < len(self._by_key):
            stands = "result is" if others == 1 else "results are"
            self._warn(f"{others} stored {stands} of other runs: spec, trace or pumice itself changed since; they stay")

    def _warn(self, text: str) -> None:
        if self._settings.announce is not None:
            self._settings.announce(text)
        else:
            warnings.warn(text, stacklevel=2)

    def sample(self, signals: list[int], bar: BatchProgress) -> None:
        """Runs some of the runs that wait for a moment each, to know how long all will take. Those that end in that
        moment are done. Few runs are not sampled, nor are runs whose time nobody would read."""
        heard = self._settings.announce is not None or on_terminal() or in_notebook()
        if self._settings.dask is not None or not heard or len(self.waiting) < SAMPLES_SHARE * self._workers:
            return
        chosen = [(key, self._requests[key]) for key in sample_of([key for key, _ in self.waiting])]
        begun = time.monotonic()

        def finish(key: str, ending: Ending, content: str, ageing_s: float) -> None:
            if ending == "sampled":
                self._forecast.sampled(key, float(content), ageing_s)
            else:
                self._finish(key, ending, content, ageing_s)

        def look(courses: Mapping[str, Course]) -> None:
            self._look(signals, bar, courses, sampling=True)
            if time.monotonic() - begun > BUDGET_S:
                raise _Enough

        from pumice.runs import processes

        with contextlib.suppress(_Enough):
            processes.simulate(Pending(deque(chosen), self._settings.engine, finish, look, SLICE_S), self._workers)
        self._begun.clear()
        self.waiting = deque((key, request) for key, request in self.waiting if key not in self._done)

    def announce(self) -> None:
        """Announces how many runs wait and how long they will take, if that is known and long."""
        left_s = self._forecast.left_s([key for key, _ in self.waiting], {})
        if self._settings.announce is None or left_s is None or left_s < LONG_S:
            return
        runs = count(len(self.waiting), "run")
        if self._settings.dask is not None:
            self._settings.announce(f"{runs}, about {duration_text(left_s * self._workers)} of one core in all")
            return
        samples = self._forecast.samples()
        basis = f"by a sample of {samples}" if samples else "on idle cores"
        estimate = f"about {duration_text(left_s)} with {count(self._workers, 'worker')}, {basis}"
        hint = "; Ctrl-C keeps what is finished, --resume goes on" if self._store is not None else ""
        self._settings.announce(f"{runs}, {estimate}{hint}")

    def outcomes(self) -> list[Outcome]:
        """The outcomes in the order of the jobs, once every job has one."""
        found: list[Outcome] = []
        for job, key, refused in self._jobs:
            if refused is not None or key is None:
                assert refused is not None
                found.append(refused)
            else:
                done = self._done[key]
                found.append(replace(done, job=job, key=key))
        return found

    def simulate(self, signals: list[int], bar: BatchProgress) -> None:
        """Simulates all runs that wait, until a signal is listed."""

        def look(courses: Mapping[str, Course]) -> None:
            self._look(signals, bar, courses)

        pending = Pending(self.waiting, self._settings.engine, self._finish, look)
        if self._settings.dask is not None:
            from pumice.runs import cluster

            cluster.simulate(pending, self._settings.dask)
        else:
            from pumice.runs import processes

            processes.simulate(pending, self._workers)

    def _look(
        self, signals: list[int], bar: BatchProgress, courses: Mapping[str, Course], *, sampling: bool = False
    ) -> None:
        """Shows how far the runs have come and ends the batch if a signal is listed."""
        now = time.monotonic()
        for key in courses:
            self._begun.setdefault(key, now)
        # On a cluster it is not known which runs go on, and nobody reads a forecast where no bar is shown.
        if courses and not sampling and bar.is_seen and now - self._foretold > FORECAST_S:
            underway = {
                key: Underway(now - self._begun[key], course.share, course.ageing_s) for key, course in courses.items()
            }
            self._left_s = self._forecast.left_s([key for key, _ in self.waiting], underway)
            self._foretold = now
        bar.update(len(self._done), [] if sampling else [course.share for course in courses.values()], self._left_s)
        self.heed(signals)

    def heed(self, signals: list[int]) -> None:
        """Ends the batch if a signal is listed."""
        if signals:
            finished = sum(outcome.document is not None for outcome in self._done.values())
            raise Interrupted(_what_is_kept(finished, self.total, self._settings.store), signals[0])

    def _finish(self, key: str, ending: Ending, content: str, ageing_s: float) -> None:
        job = self._by_key[key]
        if key in self._begun:
            self._forecast.ended(key, time.monotonic() - self._begun[key], ageing_s)
        if ending == "usage" or ending == "failed":
            self._done[key] = Outcome(job, error=content, error_kind=ending)
            return
        document = json.loads(content)
        fault = self._trace_fault(key, document)
        if fault is not None:
            self._done[key] = Outcome(job, error=fault, error_kind="failed")
            return
        if self._store is not None:
            self._store.put(key, document)
        self._done[key] = Outcome(job, document=document)

    def _trace_fault(self, key: str, document: dict[str, Any]) -> str | None:
        """One line if the run did not replay the trace that its key is of; None if it did, or replayed none."""
        expected = self._traces[key]
        if expected is None:
            return None
        path = lookup(document, "workload.path")
        replayed = lookup(document, "workload.sha256")
        if replayed is None:  # it did not read the file to its end
            try:
                replayed = trace_digest(document["config"])
            except TraceError as error:
                return one_line(error)
        return None if replayed == expected else f"{path}: was changed while it was replayed; run it again"


def _what_is_kept(finished: int, total: int, store: Path | None) -> str:
    runs = f"{finished} of {count(total, 'run')}"
    if store is None:
        return f"interrupted after {runs}; nothing is kept without an output directory"
    return f"interrupted: {runs} are kept in {store}; the same command with --resume goes on from there"


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
