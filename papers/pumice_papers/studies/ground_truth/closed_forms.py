"""What theory says about write amplification and waiting."""

from __future__ import annotations

import math
from collections.abc import Sequence

#: A share of the writes, and the share of the data that they go to.
Kind = tuple[float, float]


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


def lru_write_amplification_of_kinds(alpha: float, kinds: Sequence[Kind]) -> float:
    """The same as `lru_write_amplification` if pages of several kinds lie mixed.

    A page stays for `stay` host writes per user page before its block is the victim, and is then valid
    with chance exp(-stay * writes / space). With its copies, a kind is written writes / (1 - that) times
    per host write; the sum is the write amplification A, and one round of the device is stay * A = alpha.

    Args:
        alpha: as in `lru_write_amplification`.
        kinds: shares of writes and of data, each adding up to 1.
    """
    low, high = 1e-9, alpha
    for _ in range(100):
        stay = (low + high) / 2
        amplification = sum(writes / -math.expm1(-stay * writes / space) for writes, space in kinds)
        low, high = (low, stay) if stay * amplification > alpha else (stay, high)
    return alpha / low


def least_write_amplification_apart(alpha: float, pages: int, hot: Kind) -> float:
    """Least write amplification of greedy cleaning if hot and cold pages lie in blocks of their own, over
    all ways of sharing the spare pages between them.

    Args:
        alpha, pages: as in `greedy_write_amplification`.
        hot: shares of writes and of data that are hot; the rest is cold.
    """
    writes, space = hot
    most = (alpha - (1.0 - space)) / space
    least = math.inf
    for step in range(1, 1000):
        alpha_hot = 1.0 + (most - 1.0) * step / 1000
        alpha_cold = (alpha - space * alpha_hot) / (1.0 - space)
        both = [greedy_write_amplification(own, pages) for own in (alpha_hot, alpha_cold)]
        least = min(least, writes * both[0] + (1.0 - writes) * both[1])
    return least


def m_d_1_waiting(load: float) -> float:
    """Mean wait, in service times, before a server with one fixed service time and Poisson arrivals.

    Args:
        load: service time over mean interval, 0 <= load < 1.

    Source: the Pollaczek-Khinchine formula; in any book on queueing.
    """
    return load / (2.0 * (1.0 - load))
