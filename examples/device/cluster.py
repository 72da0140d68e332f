"""Eight drives that store objects with an erasure code: any 6 of the 8 chunks of an object give it back. Writes keep
the drives collecting garbage. A read takes the six chunks of data, or it reads around drives that collect: those that
have kept an earlier read waiting for long get no new one, as long as there are six others.

    python examples/device/cluster.py
"""

from __future__ import annotations

import random

import numpy as np

import pumice

DRIVES, DATA, CHUNK = 8, 6, 4096
US = 1_000
SPEC = pumice.preset("tiny").with_(
    ftl={"kind": "page", "over_provisioning": 0.15},
    initial={"fill": 0.8, "age_writes": 2.0},
)
#: A drive whose oldest read has waited for longer is taken to collect.
PATIENCE = 300 * US
#: When reads begin. Until then each drive has taken other writes, so that they do not collect at the same time.
START = 10_000_000 * US


class Member:
    """A drive of the cluster, and the reads that it has not answered yet."""

    def __init__(self, origin: pumice.Device, writes: int) -> None:
        self.device = origin.fork()
        for page in range(writes):
            self.device.submit(page * 5_000 * US, "write", page * CHUNK, CHUNK)
        self.device.advance(START)
        self.reads: dict[int, tuple[int, int]] = {}  # id of the request → object read, when it was submitted

    def collects(self, now: int) -> bool:
        """Whether it keeps a read waiting: the first of its dict is the oldest."""
        return any(now - since > PATIENCE for _, since in list(self.reads.values())[:1])


class Cluster:
    """The drives, and what is known of each read of an object."""

    def __init__(self, reads_around: bool) -> None:
        origin = pumice.Device(SPEC)
        self.members = [Member(origin, 16 * nth) for nth in range(DRIVES)]
        self.chunks = origin.capacity // CHUNK
        self.reads_around = reads_around
        self.left: list[int] = []  # chunks that a read still waits for
        self.begun: list[int] = []
        self.latency_us: list[float] = []

    def advance(self, now: int) -> None:
        """Lets time pass on every drive."""
        for member in self.members:
            done = member.device.advance(now)
            for request, at in zip(done.id.tolist(), done.at_ns.tolist(), strict=True):
                read, _ = member.reads.pop(request, (None, 0))
                if read is not None:
                    self.left[read] -= 1
                    if self.left[read] == 0:
                        self.latency_us.append((at - self.begun[read]) / US)

    def place(self, drive: int, chunk: int) -> int:
        """Where a drive keeps its chunk of an object: elsewhere on each, so that they collect at times of their own."""
        return (chunk * (2 * drive + 1) + drive) % self.chunks * CHUNK

    def read(self, now: int, chunk: int) -> None:
        """Reads an object: six of its chunks."""
        # The chunks of data lie on other drives for each object.
        turn = [(chunk + nth) % DRIVES for nth in range(DRIVES)]
        if self.reads_around:
            turn.sort(key=lambda drive: self.members[drive].collects(now))
        self.left.append(DATA)
        self.begun.append(now)
        for drive in turn[:DATA]:
            member = self.members[drive]
            id = member.device.submit(now, "read", self.place(drive, chunk), CHUNK)
            member.reads[id] = (len(self.left) - 1, now)

    def write(self, now: int, chunk: int) -> None:
        """Writes an object: a chunk to each drive."""
        for drive, member in enumerate(self.members):
            member.device.submit(now, "write", self.place(drive, chunk), CHUNK)


def simulate(reads_around: bool, requests: int) -> np.ndarray:
    """Latencies of reads of objects in µs."""
    cluster, draws, now = Cluster(reads_around), random.Random(3), START
    for _ in range(requests):
        now += int(draws.expovariate(1 / (300 * US)))
        cluster.advance(now)
        chunk = draws.randrange(cluster.chunks)
        if draws.random() < 0.99:
            cluster.read(now, chunk)
        else:
            cluster.write(now, chunk)
    cluster.advance(now + 10**9)
    return np.sort(cluster.latency_us)


def main() -> None:
    for reads_around, name in [(False, "six chunks of data"), (True, "around drives that collect")]:
        found = simulate(reads_around, 15_000)
        median, tail, most = (np.quantile(found, q) for q in (0.5, 0.99, 0.999))
        print(f"{name}: {len(found)} reads, median {median:.0f}, p99 {tail:.0f}, p99.9 {most:.0f} µs")


if __name__ == "__main__":
    main()
