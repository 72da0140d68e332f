"""How many blocks MQSim leaves free in a plane.

MQSim begins the collection of one block whenever an open block is full and fewer blocks are free than its threshold
says. A plane then erases as many blocks as it takes, so the number of free blocks stays where it was when collection
began: at the threshold on a device that starts empty, but on a preconditioned one where preconditioning left it. That
writes each plane so that its blocks have the numbers of valid pages that a mean-field model of d-choices collection
gives (Van Houdt, SIGMETRICS 2013; greedy is taken for 30 choices), rounded down for each number, over all blocks but
half the threshold. Facts about MQSim: its source at 7ec40e3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

#: Collections of a plane that MQSim allows at a time; its threshold is at least so many blocks.
COLLECTIONS_MAX = 10

#: Open blocks of a plane: of the host, of collection and of the map. The last stays empty if the map is all in RAM.
_OPEN_BLOCKS = 3

#: Choices that MQSim takes for greedy collection.
GREEDY_CHOICES = 30

#: Step and number of steps with which MQSim solves the model, and the change at which it stops early.
_STEP, _STEPS, _STILL = 0.001, 10_000, 1e-10


@dataclass(frozen=True)
class Plane:
    """A plane as MQSim's files tell it.

    Attributes:
        blocks, pages: of the plane, and of a block.
        threshold: share of free blocks below which collection begins.
        stored: share of the plane's pages that hold data.
        choices: blocks that compete to be the victim.
        flows: each has open blocks of its own, and an equal part of the plane.
    """

    blocks: int
    pages: int
    threshold: float
    stored: float
    choices: int
    flows: int = 1

    @property
    def limit(self) -> int:
        """Collection begins when fewer blocks are free."""
        return max(int(self.threshold * self.blocks), COLLECTIONS_MAX)


def free_blocks(plane: Plane, *, preconditioned: bool, uniform: bool) -> int:
    """Blocks of a plane that hold no data, or none soon, when MQSim looks whether to collect.

    It looks when it has taken a block: one less is free or being emptied than before the first request. The new open
    block and those of the map, one a flow, hold nothing yet.

    Args:
        plane: the plane.
        preconditioned: it was written full before the first request.
        uniform: the requests are uniform over their addresses; other preconditioning is taken to reach its goal.
    """
    before = plane.limit
    if preconditioned:
        goal = (plane.blocks - plane.limit // 2) // plane.flows
        consumed = goal
        if uniform:
            at_least = _shares_with_at_least(plane)
            consumed = _consumed(plane, at_least[:-1] - at_least[1:], goal)
        before = min(before, plane.blocks - (_OPEN_BLOCKS + consumed) * plane.flows)
    return before - 1 + 1 + plane.flows


def _shares_with_at_least(plane: Plane) -> np.ndarray:
    """Share of the blocks with at least so many valid pages, from none to one more than there are."""
    pages, load = plane.pages, plane.stored / (1 - plane.limit / plane.blocks)
    counts = np.arange(pages + 1)
    chances = [math.comb(pages, count) * load**count * (1 - load) ** (pages - count) for count in counts.tolist()]
    shares = np.append(np.cumsum(chances[::-1])[::-1], 0.0)
    shares[0] = 1.0
    inner = counts[1:-1] / (pages * load)
    for _ in range(_STEPS):
        powers = shares[1:-1] ** plane.choices
        written = pages - float(np.sum(powers))
        change = _STEP * (1 - powers[:-1] - written * inner * (shares[1:-2] - shares[2:-1]))
        shares[1:-2] += change
        if np.max(np.abs(change)) <= _STILL:
            break
    return shares


def _consumed(plane: Plane, shares: np.ndarray, goal: int) -> int:
    """Blocks that preconditioning writes, of which it may write `goal`."""
    stored = round(plane.stored * plane.blocks * plane.pages / plane.flows)
    shares = _shifted(shares, stored / goal - float(np.dot(shares, np.arange(plane.pages + 1))))
    blocks = [int(share * goal) for share in shares.tolist()]
    missing = max(stored - sum(valid * count for valid, count in enumerate(blocks)), 0)
    consumed, valid = 0, plane.pages
    while valid >= 0:
        count = blocks[valid]
        if count > 0 and missing > 0:
            count, missing = count + -(-missing // valid), 0
        count = min(count, goal - consumed)
        consumed += count
        # The last blocks take what is left.
        if valid * count > stored:
            valid = stored - valid * (stored // valid) if valid else 0
            stored = 0
        else:
            stored -= valid * count
        valid -= 1
    return consumed


def _shifted(shares: np.ndarray, by: float) -> np.ndarray:
    """The distribution moved by whole pages, if it is off by one or more; what would lie outside is lost."""
    pages = int(by)
    if abs(by) <= 0.9999 or pages == 0:
        return shares
    moved = np.zeros_like(shares)
    # MQSim leaves the share of full blocks as it was.
    moved[-1] = shares[-1]
    if pages > 0:
        moved[pages:-1] = shares[: -1 - pages]
    else:
        moved[: pages - 1] = shares[-pages:-1]
    return moved
