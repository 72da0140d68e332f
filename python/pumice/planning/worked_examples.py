"""The worked examples of the M-Merge paper (PEN, FAST'18), as situations for the planner."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pumice.errors import SpecError, nearest
from pumice.planning.block_state import VALID, States, parse_state
from pumice.planning.m_merge import Plan, plan_m_merge
from pumice.planning.plan_text import Situation

#: Halvings of the paper's block of 576 pages.
MAX_SPLITS = 6


@dataclass(frozen=True)
class Example:
    """A worked example.

    Attributes:
        name: "fig6", "fig10" or "fig11".
        about: what it shows, one line.
        d, u: states of the blocks.
        options: keyword arguments of the planner.
        times: how often the plan is made, each time with the disturb counters the last one left.
    """

    name: str
    about: str
    d: States
    u: States
    options: dict[str, Any] = field(default_factory=dict)
    times: int = 1

    @property
    def situation(self) -> Situation:
        """The blocks of every round."""
        return Situation(self.d, self.u, MAX_SPLITS)

    @property
    def valid_pages(self) -> int:
        """Valid pages of both blocks: what a full merge copies."""
        return int(np.count_nonzero(self.d == VALID) + np.count_nonzero(self.u == VALID))

    def plans(self) -> list[Plan]:
        """The plan of every round."""
        disturb = np.zeros(1 << MAX_SPLITS, np.uint8)
        plans: list[Plan] = []
        for round_ in range(self.times):
            plan = plan_m_merge(self.d, self.u, disturb, max_splits=MAX_SPLITS, m_merge_count=round_, **self.options)
            plans.append(plan)
            disturb = plan["disturb_after"]
        return plans


def _examples() -> list[Example]:
    # Figure 10 counts a copy as 1 and every erase, partial or not, as 10.
    unit = {"page_copy_us": 1.0, "block_erase_us": 10.0, "t_us": [10.0] * (MAX_SPLITS + 1)}
    # D of Figures 6 and 11: PB 9 (pages 72 to 143) is outdated, all else is valid.
    one_pb, its_u = parse_state("72v72i432v"), parse_state("72v504f")
    return [
        Example("fig6", "one outdated PB of 72 pages: 72 copies in place of 576", one_pb, its_u),
        Example(
            "fig10",
            "PB 9 wholly outdated, PB 14 but for 2 pages: restored, the rest kept",
            parse_state("72v72i288v36i2v34i72v"),
            parse_state("142v434f"),
            unit,
        ),
        Example("fig11", "PB 9 restored four times over: every second time its neighbours too", one_pb, its_u, times=4),
    ]


def names() -> list[str]:
    """The names of the examples."""
    return [found.name for found in _examples()]


def example(name: str) -> Example:
    """The example `name`.

    Raises:
        SpecError: there is none of that name.
    """
    known = {found.name: found for found in _examples()}
    if name not in known:
        raise SpecError(f"example {name!r} is unknown{nearest(name, known)}; allowed: {', '.join(known)}")
    return known[name]
