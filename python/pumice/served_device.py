"""The simulated SSD as a network block device (NBD) that real programs use.

    with pumice.serve(pumice.preset("small")) as device:
        subprocess.run(["nbdcopy", "disk.img", device.uri], check=True)
        print(device.result()["write_amplification"])

docs/SERVE.md says what the numbers mean.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pumice import _engine
from pumice.errors import SpecError
from pumice.results.result import Result
from pumice.runs.run import with_options
from pumice.runs.spec import Spec

__all__ = ["ServedDevice", "serve"]


class ServedDevice:
    """A device that is being served until `stop` is called, or until its `with` block ends.

    Attributes:
        uri: where NBD clients connect.
        address: the same, as `pumice serve --listen` takes it.
        capacity_bytes: size of the device, in bytes.
    """

    def __init__(self, server: _engine.Server, directory: str | None) -> None:
        """Not called by users; see `serve`."""
        self._server = server
        self._directory = directory
        self._final: Result | None = None
        self.uri = server.uri()
        self.address = server.address()
        self.capacity_bytes = server.capacity()

    @property
    def is_over(self) -> bool:
        """Whether the device will do nothing more: it was stopped, a control client has asked for the end, or the
        simulation has ended in an error, which `stop` then raises."""
        return self._final is not None or self._server.is_over()

    @property
    def lateness(self) -> dict[str, Any] | None:
        """How late replies were sent behind the end of their requests, so far or in the end; None with the device's own
        clock. `replies` (a count), `mean_us`, `p50_us`, `p99_us`, `max_us`, `mean_latency_us` (of the requests, on the
        device), `warning` (a line, or None if it does not matter)."""
        told = self._server.lateness()
        return None if told is None else json.loads(told)

    def _ask(self, what: str, **more: str | float) -> dict[str, Any]:
        """What `pumice ctl` would be told."""
        answer: dict[str, Any] = json.loads(self._server.answer(json.dumps({"do": what, **more})))
        return answer

    def status(self) -> dict[str, Any]:
        """How the device is: `requests` so far, `simulated_s`, `failure` (None, or what ended the simulation),
        `connections` (`open`, `so_far`), `snapshots` (`name`, `at_s`, `requests` of each), `lateness`, `address`,
        `uri`, `capacity_bytes`.

        Raises:
            SimulationError: the device is not served any more.
        """
        return self._ask("status")

    def cut(self) -> dict[str, Any]:
        """Cuts the power, and lets the device recover as `ftl.recovery` says. Every client loses its connection.

        Returns:
            `cuts` so far, `at_s` (time of the cut on the device's clock, seconds), `recovery_us`, `is_dead` (the device
            answers nothing any more, see `power.failure`).

        Raises:
            SimulationError: the device cannot recover, or what it holds then breaks a rule.
        """
        return self._ask("cut")

    def fault(self, block: int) -> dict[str, Any]:
        """Lets the next erase of a block fail. The translation layer then uses the block no more, so the device has
        less room; what the block held was moved before.

        Returns:
            `block`, and `at_s`, the device's time.

        Raises:
            SimulationError: a device of this spec does not retire blocks, the session is recorded, or the block is bad
                or being erased.
        """
        return self._ask("fault", block=block)

    def age(self, *, pec: int = 0, writes: float = 0.0) -> dict[str, Any]:
        """Ages the device, as `erase.initial_pec` and `initial.age_writes` do before the first request. What it holds
        stays; measuring starts anew, as behind a warm-up.

        Args:
            pec: P/E cycles that every block takes more, as if it had been erased so often.
            writes: random writes of whole pages, in user capacities, 0 to 10: without a clock, and not counted. A page
                is written with what it holds; one that holds nothing holds zeroes from then on.

        Returns:
            `pec`, `writes`, `at_s` (time on the device's clock, seconds), `mean_pec` (of all blocks; None if they do
            not wear).

        Raises:
            SimulationError: the device cannot be aged so, its session is recorded, or requests are under way.
        """
        return self._ask("age", pec=pec, writes=writes)

    def snapshot(self, name: str) -> dict[str, Any]:
        """Keeps the device as it is now, to go back to with `restore`. Nothing about the device changes by that.

        Args:
            name: 1 to 64 of a-z, A-Z, 0-9, ".", "_", "-"; no other snapshot's. A device keeps 16.

        Returns:
            `name`, `at_s` (time on the device's clock, seconds), `requests` so far.

        Raises:
            SimulationError: the name, one snapshot too many, a recorded session, the real clock, or a policy or
                translation layer of one's own.
        """
        return self._ask("snapshot", name=name)

    def restore(self, name: str) -> dict[str, Any]:
        """Goes back to a snapshot: bytes, wear, counters and clock are as they were then. Every client loses its
        connection, because what it knows of the device is no longer true. The snapshot stays.

        Returns:
            As `snapshot` did.

        Raises:
            SimulationError: there is no snapshot of this name.
        """
        return self._ask("restore", name=name)

    def forget(self, name: str) -> None:
        """Lets go of a snapshot.

        Raises:
            SimulationError: there is no snapshot of this name.
        """
        self._ask("forget", name=name)

    def mark(self, text: str) -> None:
        """Notes in the recording of the session how far the program is that uses the device. `pumice.crash` tells a
        check the last mark before the cut.

        Raises:
            SimulationError: the session is not recorded, or the text is longer than 4 KiB.
        """
        self._ask("mark", text=text)

    def result(self) -> Result:
        """The result so far; the final one if the device is served no more.

        Raises:
            SimulationError: the simulation ended in an error.
        """
        return self._final or Result(self._ask("result"))

    def stop(self) -> Result:
        """Ends serving: requests under way are answered, connections closed, buffered pages programmed.

        Returns:
            The final result; the same at every further call.

        Raises:
            SimulationError: the simulation ended in an error.
            OSError: the record cannot be written.
        """
        if self._final is None:
            try:
                self._final = Result(json.loads(self._server.stop()))
            finally:
                if self._directory is not None:
                    shutil.rmtree(self._directory, ignore_errors=True)
        return self._final

    def __enter__(self) -> Self:
        """The device itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stops serving. An error of the block is not covered by one of the device."""
        try:
            self.stop()
        except Exception:
            if error is None:
                raise


def serve(
    spec: Spec,
    *,
    listen: str | None = None,
    control: str | None = None,
    store: str | os.PathLike[str] | None = None,
    record: str | os.PathLike[str] | None = None,
    session: str | os.PathLike[str] | None = None,
    clock: str = "virtual",
    scale: float | None = None,
    seed: int | None = None,
) -> ServedDevice:
    """Serves the device of `spec`; when this returns, clients can connect.

    Args:
        spec: the device. Its workload is not used: requests come from the clients.
        listen: `unix:PATH` or `tcp:127.0.0.1:PORT` (port 0 takes a free one); a socket in a new directory if absent.
        control: `unix:PATH` where `pumice ctl` asks about the device; none if absent.
        store: file that the device lives in, from one session to the next; memory if absent.
        record: trace to write, which `pumice.run` replays to the same result.
        session: recording to write for `pumice.crash`: every request, with the data of writes.
        clock: `virtual`, the device's own, or `real`: requests arrive when they come, and replies are held back until
            they are done (see `ServedDevice.lateness`).
        scale: share of the device; planes are multiplied by it.
        seed: seed of every random stream.

    Raises:
        SpecError: the spec cannot be served.
        OSError: an address, the store or the record cannot be used; a store of another spec too.

    Example:
        >>> with pumice.serve(pumice.preset("small")) as device:
        ...     device.status()["requests"]
        0
    """
    spec = with_options(spec, scale=scale, seed=seed)
    if spec.policy is not None:
        raise SpecError("a served device does not take a policy of your own")
    directory = None
    if listen is None:
        directory = tempfile.mkdtemp(prefix="pumice-")
        listen = f"unix:{Path(directory) / 'nbd'}"
    try:
        server = _engine.Server(spec.request(), listen, control, store, record, session, clock)
    except BaseException:
        if directory is not None:
            shutil.rmtree(directory, ignore_errors=True)
        raise
    return ServedDevice(server, directory)
