"""`pumice.Device`: a run fed request by request, batches, power, forks, and refusals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import pumice

SPEC = pumice.preset("tiny").with_(
    host={"mode": "open-loop"},
    workload={"kind": "uniform", "requests": 2000, "request_bytes": 4096, "mean_interarrival_us": 400.0},
)
OWN = ("workload", "warnings", "run", "version", "preset", "without_effect")


def without(result: pumice.Result) -> dict[str, object]:
    """A document without what says where its requests came from, and on what machine."""
    return {name: value for name, value in result.to_dict().items() if name not in OWN}


def requests_of(spec: pumice.Spec) -> tuple[np.ndarray, ...]:
    """Arrivals, kinds, places and lengths of a random workload."""
    random = np.random.default_rng(5)
    count, pages = 2000, pumice.Device(spec).capacity // 4096
    at = np.cumsum(random.integers(1, 800, count)) * 1000
    return at, random.integers(0, 2, count), random.integers(0, pages, count) * 4096, np.full(count, 4096)


def test_a_drive_fed_one_by_one_or_in_one_call_is_a_run_of_the_same_requests() -> None:
    at, kind, offset, size = requests_of(SPEC)
    at -= at[0]
    names = np.array(["read", "write"])
    table = {"arrival_us": at / 1000, "offset_bytes": offset, "bytes": size, "kind": names[kind]}
    run = pumice.run(SPEC, requests=table)
    single, many = pumice.Device(SPEC), pumice.Device(SPEC)
    done = []
    for nth, now in enumerate(at):
        done.append(single.advance(int(now)))
        assert single.submit(int(now), names[kind[nth]], int(offset[nth]), 4096) == nth
    assert many.submit_many(at, kind, offset, size) == 0
    found = single.finish()
    done.append(single.take_completions())
    assert without(found)["host"] == without(run)["host"]
    assert without(found)["flash"] == without(run)["flash"]
    assert without(many.finish()) == without(found)
    ids = np.concatenate([part.id for part in done])
    times = np.concatenate([part.at_ns for part in done])
    assert sorted(ids) == list(range(2000))
    assert (np.diff(times.astype(np.int64)) >= 0).all()
    all_at_once = many.take_completions()
    assert (all_at_once.id == ids).all()
    assert (all_at_once.at_ns == times).all()
    latency = (times - at[ids].astype(np.uint64)) / 1000
    assert latency.mean() == pytest.approx(
        (run.value("host.read.latency_us.mean") * (kind == 0).sum()
         + run.value("host.write.latency_us.mean") * (kind == 1).sum()) / 2000
    )  # fmt: skip


def test_power_forks_and_results() -> None:
    drive = pumice.Device(SPEC.with_(ftl={"kind": "page", "recovery": "scan", "over_provisioning": 0.3}))
    drive.submit(0, "write", 0, 4096)
    assert drive.outstanding == 1
    drive.cut(1000)
    lost = drive.take_completions()
    assert (list(lost.id), list(lost.at_ns), list(lost.status)) == ([0], [1000], [1])
    with pytest.raises(pumice.DeviceRefusal, match="no power"):
        drive.submit(2000, "flush")
    drive.restart(5000)
    assert drive.now > 5000
    with pytest.raises(pumice.DeviceRefusal, match="is past"):
        drive.submit(5000, "flush")
    ready = drive.now
    drive.submit(ready, "write", 4096, 4096, fua=True)
    fork = drive.fork()
    assert list(drive.advance(ready + 10**9).id) == list(fork.advance(ready + 10**9).id) == [1]
    assert drive.next_event() is None
    fork.submit(fork.now, "trim", 4096, 4096)
    assert drive.result().value("power.cuts") == 1
    assert drive.finish().value("host.write.requests") == 1
    with pytest.raises(pumice.DeviceRefusal, match="has ended"):
        drive.result()
    fork.finish()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda drive: drive.submit(-1, "read", 0, 4096), "out of range"),
        (lambda drive: drive.submit(0, "erase", 0, 4096), "kind 'erase' is unknown; allowed: read, write, trim, flush"),
        (lambda drive: drive.submit(0, "read", drive.capacity, 1), "inside the"),
        (lambda drive: drive.submit(0, "read", 0, 1 << 40), "out of range"),
        (lambda drive: drive.submit_many([5, 4], 0, 0, 4096), "request 1 .*: time 4 ns is past"),
        (lambda drive: drive.submit_many([0.5], 0, 0, 4096), "at_ns: float64 values; allowed: whole numbers"),
        (lambda drive: drive.submit_many([0], 300, 0, 4096), "kind: values from 300 to 300; allowed: 0 to 255"),
        (lambda drive: drive.submit_many([0, 1], [0, 0, 0], 0, 4096), "columns: "),
        (lambda drive: drive.cut(0), "ftl.recovery"),
        (lambda drive: drive.restart(0), "has power"),
    ],
)
def test_a_call_that_makes_no_sense_is_one_line(call: Callable[[pumice.Device], object], text: str) -> None:
    drive = pumice.Device(SPEC)
    with pytest.raises(ValueError, match=text) as raised:
        call(drive)
    assert "\n" not in str(raised.value)


def test_a_spec_that_needs_a_run_is_refused() -> None:
    with pytest.raises(pumice.SpecError, match=r"run\.until"):
        pumice.Device(SPEC.with_(run={"until": "steady"}))
    with pytest.raises(pumice.SpecError, match="no_such"):
        pumice.Device(SPEC.with_(ftl={"no_such": 1}))


def test_a_drive_in_a_file_goes_on_as_its_fork_does(tmp_path: Path) -> None:
    drive = pumice.Device(SPEC)
    drive.submit_many(np.zeros(64, int), 1, np.arange(64) * 4096, 4096)
    with pytest.raises(pumice.DeviceRefusal, match="under way"):
        drive.snapshot(tmp_path / "drive.snap")
    drive.advance(None)
    drive.snapshot(tmp_path / "drive.snap")
    fork, opened = drive.fork(), pumice.Device.open_snapshot(SPEC, tmp_path / "drive.snap")
    assert opened.now == 0
    for each in (fork, opened):
        each.submit_many(np.full(64, each.now), 0, np.arange(64) * 4096, 4096)
    base = fork.now
    assert (fork.advance(None).at_ns - base == opened.advance(None).at_ns).all()
    assert opened.finish().value("integrity.lost_pages") in (0, None)
    with pytest.raises(pumice.DeviceRefusal, match="another spec"):
        pumice.Device.open_snapshot(SPEC.with_(seed=2), tmp_path / "drive.snap")


def test_a_drive_that_keeps_bytes_returns_what_a_dictionary_holds() -> None:
    """Random writes, trims and reads, a cut and a fork; the drive has no write buffer, so what is done is kept."""
    spec = pumice.preset("tiny").with_(
        ftl={"kind": "page", "recovery": "scan", "over_provisioning": 0.3}, host={"partial_page": "rmw"}
    )
    drive, random, held = pumice.Device(spec, data=True), np.random.default_rng(3), bytearray(1 << 20)

    def read_back(of: pumice.Device) -> bytes:
        id = of.submit(of.now, "read", 0, len(held))
        of.advance(None)
        return of.take_data(id)

    for nth in range(600):
        first, sectors = int(random.integers(0, 2040)), int(random.integers(1, 9))
        place = slice(first * 512, (first + sectors) * 512)
        data = random.bytes(sectors * 512)
        drive.submit(drive.now, "write", place.start, len(data), data=data)
        held[place] = data
        if nth % 100 == 99:
            drive.advance(None)
            assert read_back(drive) == held
            drive.cut(drive.now + 1)
            drive.restart(drive.now)
    drive.advance(None)
    fork = drive.fork()
    drive.submit(drive.now, "trim", 0, 8192)
    drive.advance(None)
    assert read_back(drive) == bytes(8192) + held[8192:]
    assert read_back(fork) == held


def test_bytes_that_do_not_fit_are_refused() -> None:
    drive, without = pumice.Device(pumice.preset("tiny"), data=True), pumice.Device(pumice.preset("tiny"))
    for call in (
        lambda: drive.submit(0, "write", 0, 4096),
        lambda: drive.submit(0, "write", 0, 4096, data=bytes(4095)),
        lambda: drive.submit(0, "write", 0, 512, data=bytes(512)),
        lambda: drive.submit(0, "read", 0, 512, data=b"a"),
        lambda: drive.submit_many([0], [1], [0], [4096]),
        lambda: drive.take_data(0),
        lambda: without.submit(0, "write", 0, 4096, data=bytes(4096)),
        lambda: without.take_data(0),
    ):
        with pytest.raises(pumice.DeviceRefusal):
            call()
    assert drive.submit(0, "read", 512, 512) == 0
    drive.advance(None)
    assert drive.take_data(0) == bytes(512)
