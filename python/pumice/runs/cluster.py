"""Simulations on a Dask cluster.

Each run is one task. The cluster's workers need the same pumice as the machine that gives out the
runs, and the same trace files under the same paths. A worker computes the key of the run that it
would simulate and refuses the run if the key differs. If a worker dies, the scheduler gives its run
to another one (`distributed.scheduler.allowed-failures` times, three by default).
"""

from __future__ import annotations

import importlib
import json
import logging
import queue
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from pumice.errors import SpecError, TraceError, one_line
from pumice.runs.pending import POLL_S, Ending, EngineProgress, Pending, attempt
from pumice.runs.store import result_key

if TYPE_CHECKING:
    from types import ModuleType

#: How long the scheduler may take to answer.
CONNECT_TIMEOUT_S = 10.0

#: Seconds between two checks of a worker whether the batch goes on.
STOP_POLL_S = 2.0


def simulate(pending: Pending, address: str) -> None:
    """Simulates all pending runs on the cluster whose scheduler listens at `address`.

    Raises:
        SpecError: dask is not installed, or there is no scheduler at `address`.
        Interrupted: from `pending.look`; the runs under way are stopped.
        OSError: from `pending.finish`.
    """
    distributed = _distributed()
    batch = f"pumice-{uuid.uuid4().hex}"
    with _quiet(), _client(distributed, address) as client:
        stop = distributed.Event(f"{batch}-stop", client=client)
        tasks = {
            client.submit(
                _simulate_here, request, pending.engine, key, stop.name, key=f"{batch}-{key}", pure=False
            ): key
            for key, request in pending.waiting
        }
        pending.waiting.clear()
        try:
            _collect(distributed, tasks, pending)
        except BaseException:
            with suppress(Exception):  # the cluster may be what failed
                stop.set()
                client.cancel(list(tasks), force=True)
            raise


def _distributed() -> ModuleType:
    try:
        return importlib.import_module("distributed")
    except ImportError:
        raise SpecError("a Dask cluster needs the package distributed: pip install 'pumice[dask]'") from None


@contextmanager
def _client(distributed: ModuleType, address: str) -> Iterator[Any]:
    try:
        distributed.comm.resolve_address(address)  # Client itself is slow to give up an impossible one
        client = distributed.Client(address, timeout=CONNECT_TIMEOUT_S, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise SpecError(
            f"dask: no scheduler answers at {address!r}: {one_line(error)}; expected an address such as tcp://host:8786"
        ) from None
    try:
        yield client
    finally:
        with suppress(Exception):
            client.close(timeout=CONNECT_TIMEOUT_S)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silences what Dask logs about lost workers and connections; they become outcomes and errors here."""
    logger = logging.getLogger("distributed")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


def _collect(distributed: ModuleType, tasks: dict[Any, str], pending: Pending) -> None:
    """Collects results as they come. If the scheduler is lost, every remaining task fails."""
    ended: queue.Queue[Any] = queue.Queue()
    for task in tasks:
        task.add_done_callback(ended.put)
    for _ in range(len(tasks)):
        while True:
            pending.look({})
            with suppress(queue.Empty):
                task = ended.get(timeout=POLL_S)
                break
        pending.finish(tasks[task], *_result(distributed, task), 0.0)


def _result(distributed: ModuleType, task: Any) -> tuple[Ending, str]:
    try:
        kind, content = task.result(timeout=CONNECT_TIMEOUT_S)
        return kind, content
    except distributed.KilledWorker:
        return "failed", "every worker of the cluster that took the run was lost (out of memory?)"
    except distributed.CancelledError:
        return "failed", "the cluster was lost"
    except Exception as error:  # as where a worker cannot import pumice
        return "failed", f"on the cluster: {one_line(error)}"


def _simulate_here(request: str, engine_name: str, key: str, stop: str) -> tuple[Ending, str]:
    """Runs inside a worker of the cluster."""
    place = f"worker {_distributed().get_worker().address}"
    try:
        engine = importlib.import_module(engine_name)
        own = result_key(engine, json.loads(engine.resolve(request)))
    except (SpecError, TraceError, ImportError) as error:
        return "failed", f"{place}: {one_line(error)}"
    if own != key:
        return "failed", f"{place} would simulate something else: it needs the same build of pumice and the same traces"
    try:
        return attempt(engine, request, _stopper(stop))
    except KeyboardInterrupt:
        return "failed", "stopped"


def _stopper(name: str) -> EngineProgress:
    """A progress callback that stops the run once the batch is over."""
    stop = _distributed().Event(name)
    asked = time.monotonic()

    def progress(_requests: int, _share: float | None, _simulated_s: float) -> bool:
        nonlocal asked
        if time.monotonic() - asked < STOP_POLL_S:
            return True
        asked = time.monotonic()
        try:
            return not stop.is_set()
        except (OSError, ValueError, RuntimeError):
            return True  # a scheduler that does not answer is no reason to throw a run away

    return progress
