"""The chip without a controller: for tests of firmware, translation layers and file systems for raw flash.

    chip = pumice.Chip(pumice.preset("tiny"))
    chip.program(0, 0, b"data", oob=b"spare")
    chip.cut_after(0, "mixed")  # the next operation meets a cut of the power
    try:
        chip.program(0, 1, b"more")
    except pumice.PowerLost:
        chip.power_on()

Rules, bad blocks, erases and bit errors are those of a run of the same spec. The same chip is there for C, as
`pumice_chip.h`; docs/FIRMWARE.md describes both.
"""

from __future__ import annotations

import warnings
from typing import Literal

from pumice import _engine
from pumice._engine import ChipError, ChipState, OperationFailed, PowerLost, Refused, Uncorrectable
from pumice.runs.spec import Spec, check_spec

__all__ = ["Chip", "ChipError", "ChipState", "OperationFailed", "PowerLost", "Refused", "Uncorrectable"]

#: What a cut leaves of the operation that it meets.
Leaves = Literal["before", "old", "new", "mixed", "drawn"]

#: Largest number that the engine takes as a block, page or mask.
_NUMBER_MAX = 2**32 - 1


class Chip:
    """The NAND flash of a spec, one operation at a time.

    Blocks are numbered from 0 over the whole device, plane by plane; pages from 0 in their block. Every operation
    raises `Refused` if it breaks a rule of the chip (its attribute `rule` is the rule's name, and nothing has
    changed), `PowerLost` while the power is off, and `ValueError` for arguments that mean nothing.

    Attributes:
        blocks: blocks of the whole device.
        blocks_per_plane: blocks of one plane. Copies stay in their plane if `timing.copyback` is on.
        pages_per_block: pages of a block.
        page_bytes: bytes of data of a page.
        oob_bytes: spare bytes of a page.
        max_splits: levels of partial blocks below the block; 0 if none can be erased.
        sub_blocks: sub-blocks that can be erased on their own; 0 if none can.
    """

    def __init__(self, spec: Spec) -> None:
        """A chip with every page erased and the factory's bad blocks marked.

        Args:
            spec: its sections `[geometry]`, `[timing]`, `[erase]` and `[partial_erase]` and its seed are used; a
                warning names other keys that it sets.

        Raises:
            SpecError: the spec is not allowed.
        """
        self._chip = _engine.Chip(check_spec(spec).request())
        shape = self._chip.shape()
        self.blocks = shape["blocks"]
        self.blocks_per_plane = shape["blocks_per_plane"]
        self.pages_per_block = shape["pages_per_block"]
        self.page_bytes = shape["page_bytes"]
        self.oob_bytes = shape["oob_bytes"]
        self.max_splits = shape["max_splits"]
        self.sub_blocks = shape["sub_blocks"]
        for note in self._chip.notes():
            warnings.warn(note, stacklevel=2)

    @property
    def time_ns(self) -> int:
        """Simulated time since the chip was opened, in nanoseconds."""
        return self._chip.time_ns()

    @property
    def is_powered(self) -> bool:
        """Whether the chip has power."""
        return self._chip.is_powered()

    @property
    def counts(self) -> dict[str, int]:
        """What was done since the chip was opened: `operations` (programs, copies and erases that began: what cuts
        are counted by), `reads`, `oob_reads`, `programs`, `copies`, `block_erases`, `partial_erases`,
        `sub_block_erases`, `read_retries`, `uncorrectable` (reads), `failed` (programs and erases), `cuts`."""
        return self._chip.counts()

    def read(self, block: int, page: int) -> bytes:
        """The data of a page, through the chip's code.

        Raises:
            Uncorrectable: the page fails its code.
            Refused: among others, the page is blank (rule `read-erased-page`).
        """
        return self._chip.read(_number("block", block), _number("page", page))

    def read_raw(self, block: int, page: int) -> bytes:
        """The data of a page as its cells are sensed, without any code: with the bit errors of wear and age if the
        spec has `erase.read_retry = true`. A blank page is all 0xff."""
        return self._chip.read_raw(_number("block", block), _number("page", page))

    def read_oob(self, block: int, page: int) -> bytes:
        """The spare bytes of a page; all 0xff if it is blank.

        Raises:
            Uncorrectable: they fail their code.
        """
        return self._chip.read_oob(_number("block", block), _number("page", page))

    def is_blank(self, block: int, page: int) -> bool:
        """Whether a page looks erased. Costs a read. After a cut a page that looks erased need not be."""
        return self._chip.is_blank(_number("block", block), _number("page", page))

    def program(self, block: int, page: int, data: bytes = b"", oob: bytes = b"") -> None:
        """Programs a page: the first bytes of its data and spare area. The others stay 0xff.

        Raises:
            OperationFailed: the block is going bad.
        """
        target = (_number("block", block), _number("page", page))
        self._chip.program(target, memoryview(data).tobytes(), memoryview(oob).tobytes())

    def copy(self, source: tuple[int, int], target: tuple[int, int], oob: bytes | None = None) -> None:
        """Copies a page, both named as `(block, page)`.

        Args:
            source: page to copy.
            target: page to program.
            oob: spare bytes in place of the source's.

        Raises:
            Uncorrectable: without `timing.copyback`, the source fails its code; nothing is programmed.
            OperationFailed: the target's block is going bad.
        """
        places = [(_number("block", block), _number("page", page)) for block, page in (source, target)]
        self._chip.copy(places[0], places[1], None if oob is None else memoryview(oob).tobytes())

    def erase(self, block: int) -> None:
        """Erases a block.

        Raises:
            OperationFailed: the block is going bad.
        """
        self._chip.erase(_number("block", block))

    def erase_partial(self, block: int, partial_block: int) -> None:
        """Erases a partial block and disturbs what lies beside it.

        Args:
            block: the block.
            partial_block: 1 is the whole block, the halves of p are 2p and 2p + 1.
        """
        self._chip.erase_partial(_number("block", block), _number("partial_block", partial_block))

    def erase_sub_blocks(self, block: int, sub_blocks: int) -> None:
        """Erases a set of sub-blocks in one operation; bit 0 of `sub_blocks` is the first."""
        self._chip.erase_sub_blocks(_number("block", block), _number("sub_blocks", sub_blocks))

    def erases(self, block: int, page: int = 0) -> int:
        """Erases of that part of a block in which a page lies, since the chip was opened."""
        return self._chip.erases(_number("block", block), _number("page", page))

    def is_bad(self, block: int) -> bool:
        """Whether a block is marked bad: by the factory, by `mark_bad`, or because its erase failed for good."""
        return self._chip.is_bad(_number("block", block))

    def mark_bad(self, block: int) -> None:
        """Marks a block bad, as firmware does with one that has failed. It takes no operation from now on."""
        self._chip.mark_bad(_number("block", block))

    def grow_bad(self, block: int) -> None:
        """Makes a block go bad: its programs and erases fail from now on. What it holds can be read."""
        self._chip.grow_bad(_number("block", block))

    def wait(self, time_ns: int) -> None:
        """Lets simulated time pass. Data ages."""
        self._chip.wait(_number("time_ns", time_ns, 2**64 - 1))

    def cut_after(self, operations: int, leaves: Leaves = "drawn") -> None:
        """Plans a cut of the power. It replaces an earlier plan.

        Args:
            operations: programs, copies and erases that still end; the next one meets the cut and raises
                `PowerLost`. Operations that are refused do not count.
            leaves: what is left of it. `before`: it has not begun. `old`: it looks as if it had not. `new`: it
                looks as if it had ended, and fails after `settle` or the next cut. `mixed`: it fails its code; of an
                erase some pages are as before and some look erased. `drawn`: old, new or mixed, by the seed.
        """
        self._chip.cut_after(_number("operations", operations, 2**64 - 1), str(leaves))

    def cancel_cut(self) -> None:
        """Takes back a planned cut."""
        self._chip.cancel_cut()

    def power_off(self) -> None:
        """Cuts the power now, between two operations."""
        self._chip.power_off()

    def power_on(self) -> None:
        """Gives the chip its power back."""
        self._chip.power_on()

    def settle(self) -> None:
        """The firmware has recovered: what a cut left readable although it is not sound fails from now on."""
        self._chip.settle()

    def snapshot(self) -> ChipState:
        """The state of the chip, its clock, counts and planned cut included."""
        return self._chip.snapshot()

    def restore(self, state: ChipState) -> None:
        """Makes the chip what it was. The state serves any chip of the same spec and seed."""
        self._chip.restore(state)


def _number(name: str, value: int, most: int = _NUMBER_MAX) -> int:
    """A whole number that the engine takes.

    Raises:
        ValueError: it is negative or too large.
        TypeError: it is no whole number.
    """
    number = value.__index__()
    if not 0 <= number <= most:
        raise ValueError(f"{name} = {number} is not allowed; allowed: 0 to {most}")
    return number
