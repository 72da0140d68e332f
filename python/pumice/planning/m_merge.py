"""One M-Merge plan for a given D-block and U-block (PEN, FAST'18, §5.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pumice import _engine
from pumice.errors import SpecError
from pumice.planning.block_state import INVALID, VALID, check_bytes, check_states

#: Most halvings of a block that the engine accepts.
MAX_SPLITS_LIMIT = 12

#: Largest count of M-Merges that the engine accepts.
COUNT_MAX = 2**31


class Plan(TypedDict):
    """A merge plan. Its figures describe the M-Merge, whichever is chosen; times are µs."""

    choice: str  #: "m-merge" or "merge"
    m_merge_us: float
    merge_us: float
    restores: list[int]  #: PBs partially erased and programmed again, ascending
    copy_out: int  #: valid pages of D that first move to U
    copy_back: int  #: pages programmed into D again
    u_pre_erase: int | None  #: PB of U erased beforehand to make room
    disturb_after: NDArray[np.uint8]  #: counter of each leaf of D afterwards


def plan_m_merge(
    d_state: ArrayLike,
    u_state: ArrayLike,
    disturb: ArrayLike | None = None,
    *,
    max_splits: int = 6,
    page_copy_us: float = 970.0,
    block_erase_us: float = 10_000.0,
    t_us: Sequence[float] | None = None,
    disturb_tolerance: int = 1,
    m_merge_count: int = 0,
    wear_limit_w: int = 16,
    disturb_aware: bool = True,
) -> Plan:
    """Plans the merge of a D-block with its U-block.

    Args:
        d_state: one entry a page: 0 free, 1 valid, 2 invalid (its valid copy lies in U).
        u_state: the same for U. As many entries are 1 here as are 2 in `d_state`.
        disturb: disturb counter of each of D's 2**max_splits leaves; None means all 0.
        max_splits: how often a block can be halved, L.
        page_copy_us: time of one page copy (tR + tPROG).
        block_erase_us: time of a block erase, tBERS.
        t_us: erase time of a PB by level, level 0 first, max_splits + 1 entries; None takes the
            paper's Table 1 by PB size.
        disturb_tolerance: disturbs that a leaf with valid pages may bear.
        m_merge_count: M-Merges of this D-block since its last full merge.
        wear_limit_w: M-Merges after which a full merge is due, W.
        disturb_aware: restore leaves that would otherwise be disturbed beyond tolerance.

    Raises:
        SpecError: an argument of the wrong shape or value, in one line.

    Example:
        >>> d, u = np.repeat([1, 2, 0], [56, 4, 4]), np.repeat([1, 0], [4, 60])
        >>> pumice.plan_m_merge(d, u, np.zeros(8, np.uint8), max_splits=3)["choice"]
        'm-merge'
    """
    _check_counts(disturb_tolerance=disturb_tolerance, m_merge_count=m_merge_count, wear_limit_w=wear_limit_w)
    d = check_states(d_state, "d")
    u = check_states(u_state, "u")
    counters = _check_disturb(disturb, max_splits)
    _check_pair(d, u)
    times = None if t_us is None else _check_times(t_us)
    if not isinstance(disturb_aware, bool | np.bool_):
        raise SpecError(f"disturb_aware: {disturb_aware!r}; allowed: True or False")
    _check_number("page_copy_us", page_copy_us)
    _check_number("block_erase_us", block_erase_us)
    plan = _engine.plan_m_merge(
        d.tobytes(), u.tobytes(), counters.tobytes(), max_splits, page_copy_us, block_erase_us,
        times, disturb_tolerance, m_merge_count, wear_limit_w, bool(disturb_aware),
    )  # fmt: skip
    after = np.frombuffer(bytes(plan["disturb_after"]), np.uint8).copy()
    return cast(Plan, {**plan, "restores": sorted(plan["restores"]), "disturb_after": after})


def _check_counts(**counts: int) -> None:
    limits = {"disturb_tolerance": 255, "m_merge_count": COUNT_MAX, "wear_limit_w": COUNT_MAX}
    for name, value in counts.items():
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 0 <= value <= limits[name]:
            raise SpecError(f"{name}: {value!r}; allowed: a whole number from 0 to {limits[name]}")


def _check_number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise SpecError(f"{name}: {value!r}; allowed: a number")
    return float(value)


def _check_times(t_us: Sequence[float]) -> list[float]:
    if isinstance(t_us, str | bytes) or not hasattr(t_us, "__iter__"):
        raise SpecError(f"t_us: {t_us!r}; allowed: a list of numbers, level 0 first")
    return [_check_number("t_us", time) for time in t_us]


def _check_pair(d: NDArray[np.uint8], u: NDArray[np.uint8]) -> None:
    if len(d) != len(u):
        raise SpecError(f"u: {len(u)} pages; expected {len(d)}, as in d")
    updated, live = int(np.count_nonzero(d == INVALID)), int(np.count_nonzero(u == VALID))
    if updated != live:
        raise SpecError(f"u: {live} valid pages; expected {updated}, one for each invalid page of d")


def _check_disturb(disturb: ArrayLike | None, max_splits: int) -> NDArray[np.uint8]:
    if (
        isinstance(max_splits, bool)
        or not isinstance(max_splits, int | np.integer)
        or not 0 <= max_splits <= MAX_SPLITS_LIMIT
    ):
        raise SpecError(f"max_splits: {max_splits!r}; allowed: 0 … {MAX_SPLITS_LIMIT}")
    leaves = 1 << int(max_splits)
    if disturb is None:
        return np.zeros(leaves, np.uint8)
    counters = check_bytes(disturb, "disturb")
    if len(counters) != leaves:
        raise SpecError(
            f"disturb: {len(counters)} counters; expected {leaves}, one a leaf (2 to the power of max_splits)"
        )
    return counters
