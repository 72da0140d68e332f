"""Makes office.csv.gz: requests of an imagined small file server over twenty minutes.

    python examples/traces/make_office.py examples/traces/office.csv.gz

Nothing in it was recorded. The same seed gives the same requests everywhere: only `random()` is drawn, whose sequence
Python guarantees, and no function of the platform's library of mathematics is used.
"""

from __future__ import annotations

import gzip
import random
import sys
from collections.abc import Iterator

SEED = 20260101
REQUESTS = 40_000
SECTOR = 512
MIB = 1 << 20

#: Regions of the disk: first byte, length in bytes, share of the requests, share of reads.
REGIONS = (
    (0, 4 * MIB, 0.15, 0.05),  # the file system's journal, written in order
    (64 * MIB, 24 * MIB, 0.45, 0.25),  # a database in use, with a few hot pages
    (256 * MIB, 160 * MIB, 0.25, 0.70),  # documents
    (640 * MIB, 320 * MIB, 0.15, 0.50),  # large files, in order
)


def main(path: str) -> None:
    """Writes the trace to `path`."""
    lines = ["time_us,op,offset_bytes,size_bytes\n", *requests(random.Random(SEED))]
    # Without a name and a time in its head the file depends on its content alone.
    with open(path, "wb") as raw, gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as file:
        file.write("".join(lines).encode())


def requests(draw: random.Random) -> Iterator[str]:
    """The lines of the trace: time in microseconds, operation, first byte, length in bytes."""
    time_us = 0
    ends = [first for first, *_ in REGIONS]
    for _ in range(REQUESTS):
        time_us += gap_us(draw)
        region = chosen(draw)
        first, length, _, reads = REGIONS[region]
        size = SECTOR * 8 * (1 + whole(draw, 4 if region == 1 else 16))
        if region in (0, 3) and draw.random() < 0.95:
            offset = ends[region] if ends[region] + size <= first + length else first
        else:
            # Products of even draws lean towards the first pages.
            share = draw.random() * draw.random() * (draw.random() if region == 1 else 1.0)
            offset = first + int(share * ((length - size) // 4096)) * 4096
        ends[region] = offset + size
        op = "R" if draw.random() < reads else "W"
        yield f"{time_us},{op},{offset},{size}\n"


def gap_us(draw: random.Random) -> int:
    """Microseconds to the next request: mostly short, in bursts, now and then a pause."""
    kind = draw.random()
    if kind < 0.75:
        return 50 + whole(draw, 950)
    if kind < 0.99:
        return 1_000 + whole(draw, 99_000)
    return 100_000 + whole(draw, 3_000_000)


def chosen(draw: random.Random) -> int:
    """The number of a region."""
    rest = draw.random()
    for number, (_, _, share, _) in enumerate(REGIONS[:-1]):
        if rest < share:
            return number
        rest -= share
    return len(REGIONS) - 1


def whole(draw: random.Random, below: int) -> int:
    """A whole number from 0 to `below` - 1."""
    return int(draw.random() * below)


if __name__ == "__main__":
    main(sys.argv[1])
