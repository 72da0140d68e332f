"""The parts of a report, in the order in which they are shown; the template shows each by its kind."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

from pumice.files import csv_text

#: Files from this length on are embedded compressed, and files longer than `EMBEDDED_MAX` compressed not at all.
PACKED_FROM, EMBEDDED_MAX = 48_000, 600_000


@dataclass(frozen=True)
class Heading:
    """A heading of level 2 or 3; the page gives it its id."""

    kind: ClassVar[str] = "heading"
    text: str
    level: int = 2
    id: str = ""


@dataclass(frozen=True)
class Line:
    """A line of text, small and grey, or marked as a warning, as a note on how to read a result, or as
    the result itself."""

    kind: ClassVar[str] = "line"
    text: str
    look: Literal["sub", "warning", "note", "result"] = "sub"


@dataclass(frozen=True)
class Numbers:
    """A table whose first column names the rows.

    Attributes:
        name: what it holds, for readers who do not see it.
        caption: what to know before reading it; empty for none.
        folded: the table is folded away below this line, unless it is empty.
        text: whether its cells are text rather than numbers.
        sortable: whether a script may sort and filter it.
        hints: what a first cell means.
    """

    kind: ClassVar[str] = "numbers"
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    name: str = "Numbers"
    caption: str = ""
    folded: str = ""
    text: bool = False
    sortable: bool = False
    hints: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class LinkedRow:
    """A row of a table of links: its cells, where the first leads, what choosing the row sends along, and a text with
    where it leads behind the cells, if there is one."""

    cells: Sequence[str]
    address: str
    choice: str = ""
    last: tuple[str, str] | None = None


@dataclass(frozen=True)
class LinkedTable:
    """A table that leads to other pages of the workbench. With `action` its rows can be chosen; the button `button`
    leads there."""

    kind: ClassVar[str] = "links"
    head: Sequence[str]
    rows: Sequence[LinkedRow]
    action: str = ""
    button: str = ""


@dataclass(frozen=True)
class Cards:
    """The few numbers to see first, by name."""

    kind: ClassVar[str] = "cards"
    values: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Facts:
    """Names and what they stand for."""

    kind: ClassVar[str] = "facts"
    values: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Code:
    """Text to copy, with a sentence about it."""

    kind: ClassVar[str] = "code"
    about: str
    text: str


@dataclass(frozen=True)
class Download:
    """A file inside the page."""

    name: str
    about: str
    base64: str
    kind: str

    @classmethod
    def of(cls, name: str, about: str, content: str, kind: str = "text/plain") -> list[Self]:
        """A file with this content, compressed if it is long; none if it is too long for a page."""
        data = content.encode()
        if len(data) >= PACKED_FROM:
            data, name, kind = gzip.compress(data, mtime=0), f"{name}.gz", "application/gzip"
        return [cls(name, about, base64.b64encode(data).decode(), kind)] if len(data) <= EMBEDDED_MAX else []

    @classmethod
    def table(cls, name: str, about: str, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[Self]:
        """A table as CSV; none as `of`."""
        return cls.of(name, about, csv_text(head, rows), "text/csv")


@dataclass(frozen=True)
class Downloads:
    """Files to take out of the page."""

    kind: ClassVar[str] = "downloads"
    files: Sequence[Download]


@dataclass(frozen=True)
class Figure:
    """A figure inside the page.

    Attributes:
        svg: the drawing; it is markup and is not escaped.
        title: what one looks at.
        reading: how to read it.
        numbers: what is drawn, as a table.
        downloads: the same as files.
    """

    svg: str
    title: str
    reading: str
    numbers: Numbers | None = None
    downloads: Sequence[Download] = ()


@dataclass(frozen=True)
class Figures:
    """Figures side by side, where there is room."""

    kind: ClassVar[str] = "figures"
    figures: Sequence[Figure]


@dataclass(frozen=True)
class ScoreboardRow:
    """A row of a scoreboard: the cells before its verdict, the verdict, and the note behind it."""

    before: Sequence[str]
    verdict: str
    note: str


@dataclass(frozen=True)
class Scoreboard:
    """The rows of a scoreboard."""

    kind: ClassVar[str] = "scoreboard"
    head: Sequence[str]
    rows: Sequence[ScoreboardRow]


@dataclass(frozen=True)
class Picture:
    """A PNG image as base64 text; its name stands below it if `caption` is set."""

    kind: ClassVar[str] = "picture"
    name: str
    base64: str
    caption: bool = True


Part = Heading | Line | Numbers | LinkedTable | Cards | Facts | Code | Downloads | Figures | Scoreboard | Picture
