"""A drive inside another program's simulation: requests and time go in, completions come out.

    drive = pumice.Device(pumice.preset("tiny"))
    drive.submit(0, "write", 0, 4096)
    while (at := drive.next_event()) is not None:
        done = drive.advance(at)  # a simulation of something larger does its own events before that instant
        print(done.id, done.at_ns)
    result = drive.finish()

No threads, no clock of its own, no files. The drive runs the commands that `pumice.run` runs on the same requests, and
its result is the same. docs/DEVICE.md describes it for Rust and Python.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from pumice import _engine
from pumice._engine import DeviceRefusal
from pumice.results.result import REQUEST_KINDS, Result
from pumice.runs.snapshots import key_file
from pumice.runs.spec import Spec, check_spec

__all__ = ["Completions", "Device", "DeviceRefusal"]

#: Status of a request that was done, and of one that the power was cut before.
DONE, POWER_LOST = 0, 1


@dataclass(frozen=True)
class Completions:
    """Requests that are done, in the order of time.

    Attributes:
        id: what `submit` returned, uint64, one entry a request.
        at_ns: when each was done, in nanoseconds, uint64.
        offset_bytes: the first byte of each, uint64: that of the request, or where an append was written.
        status: how each ended, uint8: 0 as it was to, 1 the power was cut first, and by NVMe's codes 0x81 a page fails
            its code, which a drive that fails has damaged, 0xb8 to 0xbf what its zone refused it for.
    """

    id: npt.NDArray[np.uint64]
    at_ns: npt.NDArray[np.uint64]
    offset_bytes: npt.NDArray[np.uint64]
    status: npt.NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.id)


class Device:
    """One simulated drive.

    All times are whole nanoseconds of one clock, which begins at 0 when the drive is opened. A call that makes no sense
    raises `DeviceRefusal` (a ValueError) and changes nothing: an instant that is past, a range beyond the drive, a
    drive without power or whose result was taken. `SimulationError` ends the drive. A drive is used by one thread.
    """

    def __init__(self, spec: Spec, *, data: bool = False) -> None:
        """A drive in its initial state, aged as the spec says.

        Args:
            spec: the drive. Keys of `[workload]` are not read, and it must not ask for what only a run has: no clock,
                an end of its own (`run.until`), cuts drawn over a workload (`power.cuts`).
            data: whether the drive keeps the bytes of its pages, zeroes at first. Then every write comes with what it
                writes, and requests are multiples of 512 bytes (writes are multiples of a page if `host.partial_page`
                is `whole-page`).

        Raises:
            SpecError: the spec is not allowed.
        """
        self._device = _engine.Device(check_spec(spec).request(), data)

    @property
    def capacity(self) -> int:
        """Bytes that a host can address."""
        return self._device.capacity()

    @property
    def now(self) -> int:
        """The drive's present, in nanoseconds. While it starts after a power cut: when it serves its host again."""
        return self._device.now()

    @property
    def outstanding(self) -> int:
        """Requests that were submitted and are not done."""
        return self._device.outstanding()

    def submit(
        self,
        now: int,
        kind: Literal[
            "read", "write", "trim", "flush", "zone-append", "zone-open", "zone-close", "zone-finish", "zone-reset"
        ],
        offset_bytes: int = 0,
        bytes: int = 0,
        *,
        fua: bool = False,
        stream: int = 0,
        flow: int = 0,
        data: bytes | bytearray | memoryview = b"",
    ) -> int:
        """Submits a request at `now`. Returns its id: 0, 1, 2 and so on.

        Args:
            now: an instant, not before the drive's present.
            kind: what to do.
            offset_bytes: first byte; 0 for a flush.
            bytes: length; 0 for a flush and for a command to a zone that is no append, and for nothing else.
            fua: a write that is to outlast a power cut once it is done.
            stream: the placement handle or stream that a write names.
            flow: the number of the `[[workload.flow]]` that it belongs to.
            data: what a write or an append writes, of a drive that keeps bytes; as many as its length.
        """
        if kind not in REQUEST_KINDS:
            raise DeviceRefusal(f"kind {kind!r} is unknown; allowed: {', '.join(REQUEST_KINDS)}")
        try:
            when, place, hints = (now, REQUEST_KINDS.index(kind)), (offset_bytes, bytes), (fua, stream, flow)
            return self._device.submit(when, place, hints, memoryview(data).tobytes())
        except OverflowError as error:
            raise DeviceRefusal(f"a number is out of range: {error}") from None

    def submit_many(
        self,
        at_ns: npt.ArrayLike,
        kind: npt.ArrayLike,
        offset_bytes: npt.ArrayLike,
        bytes: npt.ArrayLike,
        *,
        fua: npt.ArrayLike = False,
        stream: npt.ArrayLike = 0,
        flow: npt.ArrayLike = 0,
    ) -> int | None:
        """Submits many requests in one call. Returns the id of the first, None if there is none.

        Args:
            at_ns: instants, ascending, one entry a request; all others have its length, or are one value for all.
            kind: 0 read, 1 write, 2 trim, 3 flush, 4 to 8 append to, open, close, finish and reset a zone.
            offset_bytes: first bytes.
            bytes: lengths.
            fua: writes that are to outlast a power cut once they are done.
            stream: placement handles or streams.
            flow: numbers of flows.

        Raises:
            DeviceRefusal: for the first request that is refused; its text says which. Those before it are taken.
        """
        when = _column("at_ns", at_ns, np.uint64), _column("kind", kind, np.uint8)
        place = _column("offset_bytes", offset_bytes, np.uint64), _column("bytes", bytes, np.uint32)
        hints = _column("fua", fua, np.uint8), _column("stream", stream, np.uint8), _column("flow", flow, np.uint8)
        return self._device.submit_many(when, place, hints)

    def next_event(self) -> int | None:
        """When something happens next that may complete a request, or now if one is done and was not taken; None if
        nothing will happen before the next request."""
        return self._device.next_event()

    def advance(self, to: int | None, wanted: int | None = None) -> Completions:
        """Lets time pass until `to`, and no further. Returns what is done by then.

        Args:
            to: an instant; None: until nothing happens any more.
            wanted: completions at which time stops before that.
        """
        try:
            return _completions(self._device.advance(to, wanted))
        except OverflowError as error:
            raise DeviceRefusal(f"a number is out of range: {error}") from None

    def take_completions(self) -> Completions:
        """What is done and was not returned yet."""
        return _completions(self._device.take_completions())

    def take_data(self, id: int) -> bytes:
        """Takes the bytes that a read has returned which is done; until then the drive keeps them.

        Raises:
            DeviceRefusal: no such read is done, its pages could not be read, or its bytes were taken.
        """
        data = self._device.take_data(id)
        if data is None:
            raise DeviceRefusal(f"no bytes of a read {id} wait: it is none, is not done, or was taken")
        return data

    def cut(self, now: int) -> None:
        """Cuts the power. What is not done yet completes with status 1. Needs `ftl.recovery`."""
        self._device.cut(now)

    def restart(self, now: int) -> None:
        """Gives the power back. The drive starts as its spec says, and takes no request before `Device.now`."""
        self._device.restart(now)

    def fork(self) -> Device:
        """An independent drive in the same state, for trying out what would happen."""
        copy = object.__new__(Device)
        copy._device = self._device.fork()
        return copy

    def snapshot(self, path: Path | str) -> None:
        """Writes the drive, in which nothing is under way, to a file: what it holds and its wear, not its clock, and
        nothing that was measured. The file is sealed with your key, as `pumice snapshot` seals its own."""
        self._device.snapshot(Path(path), key_file())

    @classmethod
    def open_snapshot(cls, spec: Spec, path: Path | str) -> Device:
        """A drive of this spec as it was when `snapshot` wrote it. Its clock begins at 0, and so does its result.

        Raises:
            DeviceRefusal: the file is no such drive, is damaged, or was written with another key or build.
        """
        drive = object.__new__(cls)
        drive._device = _engine.Device.open_snapshot(check_spec(spec).request(), Path(path), key_file())
        return drive

    def result(self) -> Result:
        """The result so far; the drive goes on."""
        return _result(self._device.result())

    def finish(self) -> Result:
        """Ends the use of the drive as a run ends: what is under way ends, what is buffered is programmed."""
        return _result(self._device.finish())


def _result(text: str) -> Result:
    document: dict[str, Any] = json.loads(text)
    return Result(document)


def _completions(columns: list[bytes]) -> Completions:
    ids, times, offsets, statuses = columns
    wide = np.dtype("<u8")
    return Completions(
        np.frombuffer(ids, wide), np.frombuffer(times, wide), np.frombuffer(offsets, wide),
        np.frombuffer(statuses, np.uint8),
    )  # fmt: skip


def _column(name: str, values: npt.ArrayLike, kind: Any) -> bytes:
    """Values as the bytes of whole numbers of a kind; nothing is rounded or wrapped around."""
    found = np.asarray(values)
    if found.dtype != kind:
        if found.dtype.kind not in "biu":
            raise DeviceRefusal(f"{name}: {found.dtype} values; allowed: whole numbers")
        limits = np.iinfo(kind)
        if found.size and (int(found.min()) < limits.min or int(found.max()) > limits.max):
            raise DeviceRefusal(f"{name}: values from {found.min()} to {found.max()}; allowed: 0 to {limits.max}")
        found = found.astype(kind)
    return found.tobytes()
