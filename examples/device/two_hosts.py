"""Two hosts and one drive in SimPy: one host reads small blocks at a steady pace, the other writes in bursts. The queue
in the drive builds while a burst lasts, and the reader waits behind it.

    python examples/device/two_hosts.py
"""

from __future__ import annotations

import random
from collections.abc import Generator
from typing import Any

import simpy

import pumice

US = 1_000  # SimPy's time is nanoseconds here, as whole numbers
SPEC = pumice.preset("tiny").with_(
    ftl={"kind": "page", "over_provisioning": 0.2}, initial={"fill": 0.8, "age_writes": 1.0}
)
Steps = Generator[simpy.Event, Any, None]


class SimulatedDrive:
    """A drive as SimPy sees it: `request` is an event that comes when the drive has done it."""

    def __init__(self, env: simpy.Environment, spec: pumice.Spec) -> None:
        self.env, self.device = env, pumice.Device(spec)
        self.waiting: dict[int, simpy.Event] = {}
        self.submitted = env.event()
        env.process(self.serve())

    def request(self, kind: str, page: int, pages: int = 1) -> simpy.Event:
        """Submits a request now."""
        done = self.env.event()
        self.waiting[self.device.submit(int(self.env.now), kind, page * 4096, pages * 4096)] = done
        self.submitted.succeed()
        self.submitted = self.env.event()
        return done

    def serve(self) -> Steps:
        """Lets the drive's time pass with SimPy's, from event to event."""
        while True:
            at = self.device.next_event()
            if at is None:
                yield self.submitted
            elif at > self.env.now:
                yield self.submitted | self.env.timeout(at - self.env.now)
            for done, at_ns in zip(*self.completed(), strict=True):
                self.waiting.pop(done).succeed(at_ns)

    def completed(self) -> tuple[list[int], list[int]]:
        """What is done by now."""
        done = self.device.advance(int(self.env.now))
        return done.id.tolist(), done.at_ns.tolist()


def reader(env: simpy.Environment, drive: SimulatedDrive, pages: int, latencies: list[tuple[int, float]]) -> Steps:
    """Reads a page every 500 µs, whether the last one is there or not."""
    draws = random.Random(1)

    def one() -> Steps:
        begun = int(env.now)
        yield drive.request("read", draws.randrange(pages))
        latencies.append((begun, (env.now - begun) / US))

    while True:
        env.process(one())
        yield env.timeout(500 * US)


def writer(env: simpy.Environment, drive: SimulatedDrive, pages: int, bursts: list[tuple[int, int, int]]) -> Steps:
    """Writes 64 pages at once, waits until all are done, and rests for 50 ms."""
    draws = random.Random(2)
    while True:
        yield env.timeout(50_000 * US)
        begun = int(env.now)
        writes = [drive.request("write", draws.randrange(pages)) for _ in range(64)]
        deepest = drive.device.outstanding
        yield simpy.AllOf(env, writes)
        bursts.append((begun, int(env.now), deepest))


def simulate(milliseconds: int) -> tuple[list[tuple[int, float]], list[tuple[int, int, int]]]:
    """The reader's latencies in µs with the instants of the requests; bursts with begin, end and the deepest queue."""
    env = simpy.Environment(initial_time=0)
    drive = SimulatedDrive(env, SPEC)
    pages = drive.device.capacity // 4096
    latencies: list[tuple[int, float]] = []
    bursts: list[tuple[int, int, int]] = []
    env.process(reader(env, drive, pages, latencies))
    env.process(writer(env, drive, pages, bursts))
    env.run(until=milliseconds * 1_000 * US)
    # Behind the last burst that ended another may have begun.
    return [one for one in latencies if one[0] <= bursts[-1][1]], bursts


def main() -> None:
    latencies, bursts = simulate(1_000)
    during = [us for at, us in latencies if any(begin <= at <= end for begin, end, _ in bursts)]
    alone = [us for at, us in latencies if not any(begin <= at <= end for begin, end, _ in bursts)]
    print(f"bursts: {len(bursts)}, deepest queue {max(deepest for *_, deepest in bursts)}")
    print(f"reads during bursts: {len(during)}, mean {sum(during) / len(during):.0f} µs")
    print(f"reads between them:  {len(alone)}, mean {sum(alone) / len(alone):.0f} µs")


if __name__ == "__main__":
    main()
