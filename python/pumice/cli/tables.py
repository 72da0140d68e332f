"""Tables on the terminal. Whatever the width, every number is shown whole: text is wrapped at its blanks, then
columns go into several tables below each other, then every row becomes a list."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

from rich.cells import cell_len

from pumice.text import printable

#: Width of tables that go to a file or a pipe.
UNLIMITED = 10_000

#: Where a text may be broken: at blanks that do not stand beside an equals sign.
_BREAKS = re.compile(r"(?<!=) +(?!=)")

#: Blanks between two columns.
GAP = 2

#: Blanks before the values of a row that is shown as a list.
INDENT = 2


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        head: its name, which may have several lines; wrapped at blanks where there is no room for it.
        kind: "number" is aligned right and never wrapped; "text" is aligned left and may be wrapped at blanks.
    """

    head: str
    kind: Literal["number", "text"] = "number"


@dataclass(frozen=True)
class Sheet:
    """The content of a table.

    Attributes:
        columns: the columns.
        rows: a cell for each column.
        names: how many of the first columns name a row; they are repeated where a table is split.
        groups: sizes of the groups of columns after these that stay together; empty if they all do.
    """

    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    names: int = 1
    groups: Sequence[int] = ()


def terminal_width() -> int:
    """Columns of the terminal that stdout is, without a limit if it is none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else UNLIMITED


def lines_of(sheet: Sheet, width: int) -> list[str]:
    """The lines of a table that is at most `width` wide, unless a single number or word is wider."""
    parts = _parts(sheet, width)
    if not parts:
        return _as_lists(sheet, width)
    lines: list[str] = []
    for columns in parts:
        lines += [""] if lines else []
        lines += _table(sheet, columns, _widths(sheet, columns, width))
    return lines


def hanging(lead: str, text: str, width: int) -> list[str]:
    """`text` behind `lead`, its further lines below its first."""
    pieces = _wrap(_shown(text), max(width - cell_len(lead), 1))
    return [(lead if place == 0 else _blanks(cell_len(lead))) + piece for place, piece in enumerate(pieces)]


def _parts(sheet: Sheet, width: int) -> list[list[int]]:
    """The columns of each table that the sheet is split into; empty if there is no way to fit it."""
    names = list(range(sheet.names))
    sizes = sheet.groups or [len(sheet.columns) - sheet.names]
    parts: list[list[int]] = []
    first = sheet.names
    for size in sizes:
        group = list(range(first, first + size))
        first += size
        if parts and _least_total(sheet, parts[-1] + group) <= width:
            parts[-1] += group
        elif _least_total(sheet, names + group) <= width:
            parts.append(names + group)
        else:
            return []
    return parts


def _shown(text: str) -> str:
    """A cell as it is shown: in one line, and a terminal cannot obey it."""
    return printable(text).replace("\n", " ").replace("\t", " ")


def _cells(sheet: Sheet, place: int) -> list[str]:
    return [_shown(row[place]) for row in sheet.rows]


def _head(sheet: Sheet, place: int) -> list[str]:
    return [_shown(line) for line in sheet.columns[place].head.split("\n")]


def _least(sheet: Sheet, place: int) -> int:
    """The width below which a column would break a number or a word."""
    texts = _head(sheet, place)
    numbers = _cells(sheet, place) if sheet.columns[place].kind == "number" else []
    texts += [] if numbers else _cells(sheet, place)
    return max((cell_len(word) for word in [*numbers, *(word for text in texts for word in _words(text))]), default=0)


def _natural(sheet: Sheet, place: int) -> int:
    return max(cell_len(text) for text in [*_head(sheet, place), *_cells(sheet, place)])


def _least_total(sheet: Sheet, columns: Sequence[int]) -> int:
    return sum(_least(sheet, place) for place in columns) + GAP * (len(columns) - 1)


def _widths(sheet: Sheet, columns: Sequence[int], width: int) -> list[int]:
    """The widths of some columns that fit: the widest gives way first, down to its longest word or number."""
    widths = [_natural(sheet, place) for place in columns]
    least = [_least(sheet, place) for place in columns]
    while sum(widths) + GAP * (len(widths) - 1) > width:
        widest = max(range(len(widths)), key=lambda place: (widths[place] > least[place], widths[place]))
        if widths[widest] <= least[widest]:
            break
        widths[widest] -= 1
    return widths


def _table(sheet: Sheet, columns: Sequence[int], widths: Sequence[int]) -> list[str]:
    heads = [_head(sheet, place) for place in columns]
    right = [sheet.columns[place].kind == "number" for place in columns]
    lines = [*_row(heads, widths, right), "─" * (sum(widths) + GAP * (len(widths) - 1))]
    for row in sheet.rows:
        lines += _row([[_shown(row[place])] for place in columns], widths, right)
    return lines


def _row(cells: Sequence[Sequence[str]], widths: Sequence[int], right: Sequence[bool]) -> list[str]:
    """The lines of a row whose cells are given as lines."""
    wrapped = [
        [piece for line in cell for piece in _wrap(line, width)] for cell, width in zip(cells, widths, strict=True)
    ]
    lines: list[str] = []
    for pieces in zip_longest(*wrapped, fillvalue=""):
        padded = [
            _blanks(width - cell_len(piece)) + piece if is_right else piece + _blanks(width - cell_len(piece))
            for piece, width, is_right in zip(pieces, widths, right, strict=True)
        ]
        lines.append(_blanks(GAP).join(padded).rstrip())
    return lines


def _blanks(count: int) -> str:
    return " " * max(count, 0)


def _words(text: str) -> list[str]:
    """The pieces that a text may be broken into: its words, `max_splits = 3` in one piece."""
    return [word for word in _BREAKS.split(text) if word]


def _wrap(text: str, width: int) -> list[str]:
    """`text` in lines, broken between words only."""
    if cell_len(text) <= width:
        return [text]
    lines: list[str] = []
    for word in _words(text):
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and cell_len(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines or [""]


def _as_lists(sheet: Sheet, width: int) -> list[str]:
    """Every row as its names and, below them, a line for each further cell."""
    heads = [" ".join(_head(sheet, place)) for place in range(sheet.names, len(sheet.columns))]
    kinds = [column.kind for column in sheet.columns[sheet.names :]]
    lead = max((cell_len(head) for head in heads), default=0)
    lines: list[str] = []
    for row in sheet.rows:
        names = [_shown(name) for name in row[: sheet.names] if name]
        lines += _wrap("  ".join(names), width)
        for head, kind, cell in zip(heads, kinds, map(_shown, row[sheet.names :]), strict=True):
            room = width - INDENT - lead - GAP
            if kind == "text":
                lines += _list_entry(head, _wrap(cell, room), (lead, width))
            else:
                lines += _list_entry(head, [cell], (lead, width))
    return lines


def _list_entry(head: str, pieces: Sequence[str], space: tuple[int, int]) -> list[str]:
    """A value beside its head, or below it where there is no room; `space`: columns of the longest head, of a line."""
    lead, width = space
    room = width - INDENT - lead - GAP
    if all(cell_len(piece) <= room for piece in pieces):
        heads = [head, *[""] * (len(pieces) - 1)]
        return [
            f"{_blanks(INDENT)}{head}{_blanks(lead - cell_len(head) + GAP)}{piece}".rstrip()
            for head, piece in zip(heads, pieces, strict=True)
        ]
    beside = [_blanks(INDENT) + piece for piece in _wrap(head, width - INDENT)]
    return beside + [f"{_blanks(2 * INDENT)}{piece}".rstrip() for piece in pieces]
