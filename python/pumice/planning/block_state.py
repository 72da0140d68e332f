"""The state of a block's pages: 0 free, 1 valid, 2 invalid, written run by run as `144v72i360v`."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pumice.arrays import read_array
from pumice.errors import SpecError, one_line
from pumice.text import printable

FREE, VALID, INVALID = 0, 1, 2
LETTERS = "fvi"

#: Pages of the largest block that a state may describe; page indices are 16 bits wide.
PAGES_MAX = 65_535

_RUN = re.compile(r"(\d{1,9})([fvi])")

States = NDArray[np.uint8]


def parse_state(text: str, name: str = "state") -> States:
    """A state in run-length form, or the path of an .npy file with one entry a page.

    Args:
        text: `144v72i360v` (valid, invalid, free), upper or lower case, or a path ending in `.npy`.
        name: what to call it in messages.

    Raises:
        SpecError: neither of these, with the offending part.
    """
    if text.endswith(".npy"):
        return check_states(read_array(Path(text), name), f"{name}: {printable(text)}")
    compact = text.replace(" ", "").lower()
    place, pages = 0, 0
    counts: list[int] = []
    letters: list[int] = []
    while place < len(compact):
        run = _RUN.match(compact, place)
        if run is None:
            raise SpecError(
                f"{name}: {compact[place : place + 12]!r} is not a run; allowed: a count and v, i or f: 144v72i360v"
            )
        counts.append(int(run[1]))
        letters.append(LETTERS.index(run[2]))
        pages += counts[-1]
        if pages > PAGES_MAX:
            raise SpecError(f"{name}: more than {PAGES_MAX:,} pages; a block holds at most that many")
        place = run.end()
    if pages == 0:
        raise SpecError(f"{name}: no pages; expected runs such as 144v72i360v")
    return np.repeat(np.array(letters, np.uint8), counts)


def format_state(states: States) -> str:
    """The shortest run-length form of a state."""
    edges = np.flatnonzero(np.diff(states)) + 1
    starts = [0, *edges.tolist()]
    ends = [*edges.tolist(), len(states)]
    return "".join(f"{end - start}{LETTERS[states[start]]}" for start, end in zip(starts, ends, strict=True))


def check_states(values: ArrayLike, name: str) -> States:
    """`values` as an array of page states.

    Raises:
        SpecError: not one-dimensional, empty, not of whole numbers, or not all of them 0, 1 or 2.
    """
    array = check_bytes(values, name)
    wrong = np.flatnonzero(array > INVALID)
    if wrong.size:
        page = int(wrong[0])
        raise SpecError(f"{name}: page {page} is {int(array[page])}; allowed: 0 free, 1 valid, 2 invalid")
    if array.size == 0:
        raise SpecError(f"{name}: no pages; expected one entry a page")
    return array


def check_bytes(values: ArrayLike, name: str) -> States:
    """`values` as a one-dimensional array of bytes.

    Raises:
        SpecError: wrong shape or type, or a value outside 0 … 255.
    """
    try:
        array = np.asarray(values)
    except (ValueError, TypeError) as error:  # rows of unequal length
        raise SpecError(f"{name}: no array: {one_line(error)}") from None
    if array.ndim != 1:
        raise SpecError(f"{name}: has {array.ndim} dimensions; expected a one-dimensional array")
    if array.size and array.dtype.kind not in "iub":
        raise SpecError(f"{name}: holds {array.dtype}; expected whole numbers (uint8)")
    if array.size and (int(array.min()) < 0 or int(array.max()) > 255):
        raise SpecError(f"{name}: holds {int(array.min())} … {int(array.max())}; allowed: 0 … 255")
    return np.ascontiguousarray(array, np.uint8)
