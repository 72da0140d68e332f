"""A merge plan as text: what is copied, erased and restored, and the tree of partial blocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pumice.planning.block_state import FREE, INVALID, VALID, States, format_state
from pumice.planning.m_merge import Plan
from pumice.text import count

#: Widest map of a block, in signs.
MAP_WIDTH = 64


@dataclass(frozen=True)
class Situation:
    """The blocks that a plan was made for."""

    d: States
    u: States
    max_splits: int

    def pages(self, pb: int) -> range:
        """Pages of a PB."""
        level = pb.bit_length() - 1
        size = len(self.d) >> level
        first = (pb - (1 << level)) * size
        return range(first, first + size)


@dataclass(frozen=True)
class Restore:
    """What one restore does: pages copied out of the PB, pages copied back into it."""

    pb: int
    pages: range
    out: int
    back: int


def restores(situation: Situation, plan: Plan) -> list[Restore]:
    """The plan's restores with their copies, in page order."""
    found: list[Restore] = []
    for pb in sorted(plan["restores"], key=lambda pb: situation.pages(pb).start):
        pages = situation.pages(pb)
        own = situation.d[pages.start : pages.stop]
        valid = int(np.count_nonzero(own == VALID))
        found.append(Restore(pb, pages, valid, valid + int(np.count_nonzero(own == INVALID))))
    return found


def describe(situation: Situation, plan: Plan) -> str:
    """The whole plan in several lines of text."""
    merge_pages = int(np.count_nonzero(situation.d == VALID) + np.count_nonzero(situation.u == VALID))
    chosen = "M-Merge" if plan["choice"] == "m-merge" else "full merge"
    ratio = plan["merge_us"] / plan["m_merge_us"] if plan["m_merge_us"] else float("inf")
    lines = [
        f"D-block      {format_state(situation.d)}",
        f"U-block      {format_state(situation.u)}",
        "",
        f"full merge   {plan['merge_us']:>12,.1f} µs   {merge_pages} pages copied, 2 blocks erased",
        f"M-Merge      {plan['m_merge_us']:>12,.1f} µs   {_summary(plan)}",
        f"chosen       {chosen} (full merge / M-Merge = {ratio:.3f})",
        "",
    ]
    lines += _steps(situation, plan)
    lines += ["", *_block_map(situation, plan), "", *_tree(situation, plan)]
    return "\n".join(lines)


def _summary(plan: Plan) -> str:
    parts = [
        f"{plan['copy_out']} + {plan['copy_back']} pages copied out + back",
        count(len(plan["restores"]), "partial erase"),
    ]
    if plan["u_pre_erase"] is not None:
        parts.append("1 partial erase in U")
    return ", ".join([*parts, "U erased"])


def _steps(situation: Situation, plan: Plan) -> list[str]:
    steps: list[str] = []
    if plan["u_pre_erase"] is not None:
        steps.append(
            f"erase PB {plan['u_pre_erase']} of U, {_span(situation.pages(plan['u_pre_erase']))}, to make room"
        )
    parts = restores(situation, plan)
    steps += [f"copy {count(part.out, 'valid page')} of PB {part.pb} out to U" for part in parts if part.out]
    steps += [f"erase PB {part.pb} of D, {_span(part.pages)}" for part in parts]
    steps += [f"copy {count(part.back, 'page')} back into PB {part.pb}" for part in parts if part.back]
    steps.append("erase U")
    return ["M-Merge, step by step:", *(f"{place:>3}. {step}" for place, step in enumerate(steps, 1))]


def _span(pages: range) -> str:
    return f"pages {pages.start}–{pages.stop - 1}"


def _block_map(situation: Situation, plan: Plan) -> list[str]:
    """D as a row of signs, one for each leaf, and below it a row that marks the leaves that are restored."""
    leaves = 1 << situation.max_splits
    width = min(leaves, MAP_WIDTH)
    pages = len(situation.d) // width
    held = "".join(_sign(situation.d[place * pages : (place + 1) * pages]) for place in range(width))
    done = ["·"] * width
    for part in restores(situation, plan):
        for place in range(part.pages.start // pages, -(-part.pages.stop // pages)):
            done[place] = "#"
    return [
        f"D, {pages} pages a sign   {held}   v valid, i invalid, x both, . free",
        f"{'restored':<{len(f'D, {pages} pages a sign')}}   {''.join(done)}   #",
    ]


def _sign(states: States) -> str:
    valid, invalid = bool((states == VALID).any()), bool((states == INVALID).any())
    return {(True, True): "x", (True, False): "v", (False, True): "i"}.get((valid, invalid), ".")


def _tree(situation: Situation, plan: Plan) -> list[str]:
    """The tree of partial blocks, opened only where a restore lies below."""
    chosen = {part.pb: part for part in restores(situation, plan)}
    above = {pb >> up for pb in chosen for up in range(1, pb.bit_length())}
    lines: list[str] = []

    def visit(pb: int, lead: str, joint: str, below: str) -> None:
        lines.append(f"{lead}{joint}{_node(situation, pb, chosen.get(pb), opened=pb in above)}")
        if pb in above:
            visit(2 * pb, lead + below, "├─ ", "│  ")
            visit(2 * pb + 1, lead + below, "└─ ", "   ")

    visit(1, "", "", "")
    return lines


def _node(situation: Situation, pb: int, restore: Restore | None, *, opened: bool) -> str:
    pages = situation.pages(pb)
    head = f"PB {pb}  {_span(pages)}"
    if opened:
        return head
    own = situation.d[pages.start : pages.stop]
    counts = [(VALID, "valid"), (INVALID, "invalid"), (FREE, "free")]
    held = ", ".join(f"{n} {name}" for state, name in counts if (n := int(np.count_nonzero(own == state))))
    fate = f"RESTORED: {restore.out} out, erase, {restore.back} back" if restore else "kept"
    return f"{head}  {held}  {fate}"
