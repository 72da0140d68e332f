"""What theory says about write amplification and waiting."""

from __future__ import annotations

import math


def lambert_w(x: float) -> float:
    """Principal branch of Lambert's W, w exp(w) = x, for -1/e < x <= 0, by Newton's method."""
    w = 0.0
    for _ in range(200):
        e = math.exp(w)
        w -= (w * e - x) / (e * (w + 1.0))
    return w


def lru_write_amplification(alpha: float) -> float:
    """Write amplification under uniform random writes if the oldest block is always the victim.

    Args:
        alpha: pages of the blocks that hold data when a victim is chosen, over user pages; > 1.

    Source: P. Desnoyers, "Analytic Modeling of SSD Write Performance", SYSTOR 2012, LRU cleaning.
    """
    return alpha / (alpha + lambert_w(-alpha * math.exp(-alpha)))


def greedy_write_amplification(alpha: float, pages: int) -> float:
    """The same if the block with the fewest valid pages is the victim; an approximation.

    Args:
        alpha: as in `lru_write_amplification`.
        pages: pages per block.

    Source: as above, greedy cleaning.
    """
    widened = (1.0 + 1.0 / (2.0 * pages)) * alpha
    first = 0.5 - pages / alpha * lambert_w(-widened * math.exp(-widened))
    return pages / (pages - (first - 1.0))


def m_d_1_waiting(load: float) -> float:
    """Mean wait, in service times, before a server with one fixed service time and Poisson arrivals.

    Args:
        load: service time over mean interval, 0 <= load < 1.

    Source: the Pollaczek-Khinchine formula; in any book on queueing.
    """
    return load / (2.0 * (1.0 - load))
