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

import os
import warnings
from dataclasses import dataclass
from typing import Literal

from pumice import _engine
from pumice._engine import ChipError, ChipState, OperationFailed, PowerLost, Refused, Uncorrectable
from pumice.runs.spec import Spec, check_spec

__all__ = ["Chip", "ChipChoices", "ChipError", "ChipState", "OperationFailed", "PowerLost", "Refused", "Uncorrectable"]

#: What a cut leaves of the operation that it meets.
Leaves = Literal["before", "old", "new", "mixed", "drawn"]

#: What becomes of a program, copy or erase that breaks a rule.
Illegal = Literal["refuse", "corrupt"]

#: Largest distance of pages of the same cells that the engine takes.
_DISTANCE_MAX = 2**16 - 1

#: Largest number that the engine takes as a block, page or mask.
_NUMBER_MAX = 2**32 - 1


@dataclass(frozen=True)
class ChipChoices:
    """Options of a chip that are no keys of a spec, because no run reads them.

    Attributes:
        page_programs: programs of a page between two erases (NOP), each of which only clears bits; or "bytes": any
            number, byte by byte, like NOR flash, whose erased bytes can be read.
        pair_distance: pages between two of the same cells; counts with `geometry.bits_per_cell` above 1.
        illegal: "refuse": a program, copy or erase that breaks a rule raises `Refused`. "corrupt": it is done; bits
            that were 0 stay 0, and the page, the next one of the block and the earlier ones of the same cells fail
            their code; in a bad block it fails; blank pages read as 0xff, and fail their code.
    """

    page_programs: int | Literal["bytes"] = 1
    pair_distance: int = 1
    illegal: Illegal = "refuse"

    def as_numbers(self) -> tuple[int, int, str]:
        """As the engine takes them: 0 programs of a page stand for bytes.

        Raises:
            ValueError: a number is too small or too large.
        """
        is_number = self.page_programs != "bytes"
        programs = _number("page_programs", int(self.page_programs) - 1) + 1 if is_number else 0
        return programs, _number("pair_distance", self.pair_distance, _DISTANCE_MAX), str(self.illegal)


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

    def __init__(self, spec: Spec, *, options: ChipChoices | None = None) -> None:
        """A chip with every page erased and the factory's bad blocks marked.

        Args:
            spec: its sections `[geometry]`, `[timing]`, `[erase]` and `[partial_erase]` and its seed are used; a
                warning names other keys that it sets.
            options: what no spec says.

        Raises:
            SpecError: the spec is not allowed.
        """
        self._chip = _engine.Chip(check_spec(spec).request(), *(options or ChipChoices()).as_numbers())
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
    def engine(self) -> _engine.Chip:
        """The chip of the engine."""
        return self._chip

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
        `sub_block_erases`, `read_retries`, `uncorrectable` (reads), `failed` (programs and erases), `cuts`,
        `illegal` (programs, copies and erases that broke a rule, refused or not)."""
        return self._chip.counts()

    def read(self, block: int, page: int) -> bytes:
        """The data of a page, through the chip's code.

        Raises:
            Uncorrectable: the page fails its code.
            Refused: among others, the page is blank (rule `read-erased-page`).
        """
        return self._chip.read(_number("block", block), _number("page", page))

    def read_at(self, block: int, page: int, offset: int, size: int) -> bytes:
        """Bytes of a page's data from `offset` on, through the chip's code. Takes the time of a whole page."""
        target = (_number("block", block), _number("page", page))
        return self._chip.read_at(target, _number("offset", offset), _number("size", size))

    def read_raw(self, block: int, page: int) -> bytes:
        """The data of a page as its cells are sensed, without any code: with the bit errors of wear and age if the
        spec has `erase.read_retry = true`. A blank page is all 0xff, a block that the factory marked bad all
        zeroes."""
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

    def program_at(self, block: int, page: int, offset: int, data: bytes) -> None:
        """Programs bytes of a page's data from `offset` on. With `page_programs` above 1 the rest can be programmed
        later.

        Raises:
            Refused: among others, a bit is to be 1 that is 0 (rule `erase-before-program`).
        """
        target = (_number("block", block), _number("page", page))
        self._chip.program_at(target, _number("offset", offset), memoryview(data).tobytes())

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
            OperationFailed: the block is going bad. It is not marked, and the erase can be tried again; until one ends
                well its pages take no program (rule `unstable-program`).
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
        """Whether a block is marked bad: by the factory or by `mark_bad`."""
        return self._chip.is_bad(_number("block", block))

    def mark_bad(self, block: int) -> None:
        """Marks a block bad, as firmware does with one that has failed. It takes no program and no erase from now on;
        what it holds can be read."""
        self._chip.mark_bad(_number("block", block))

    def grow_bad(self, block: int) -> None:
        """Makes a block go bad: its programs and erases fail from now on. What it holds can be read."""
        self._chip.grow_bad(_number("block", block))

    def fail_after(self, operations: int) -> None:
        """After so many more programs, copies and erases the next one fails, and its block goes bad."""
        self._chip.fail_after(_number("operations", operations, 2**64 - 1))

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

    def settle_after(self, operations: int) -> None:
        """The same after so many more programs, copies and erases, before the next one."""
        self._chip.settle_after(_number("operations", operations, 2**64 - 1))

    def draw_from(self, number: int) -> None:
        """Begins what is drawn anew: the same number and the same calls draw the same. `restore` does not: what is
        tried from a state again is drawn anew."""
        self._chip.draw_from(_number("number", number, 2**64 - 1))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the chip into a file: its pages, its wear, what cuts have left; not its counts and what is planned."""
        self._chip.save(path)

    def load(self, path: str | os.PathLike[str]) -> None:
        """Makes the chip what such a file holds.

        Raises:
            ValueError: there is no such file, or it is damaged or of another spec, seed or options.
        """
        self._chip.load(path)

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
        TypeError: it is not a whole number.
    """
    number = value.__index__()
    if not 0 <= number <= most:
        raise ValueError(f"{name} = {number} is not allowed; allowed: 0 to {most}")
    return number
