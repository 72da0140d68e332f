"""The parts of a report, in the order in which they are shown; the template shows each by its kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal


@dataclass(frozen=True)
class Heading:
    """A heading of level 2 or 3."""

    kind: ClassVar[str] = "heading"
    text: str
    level: int = 2


@dataclass(frozen=True)
class Line:
    """A line of text, small and grey, or marked as a warning."""

    kind: ClassVar[str] = "line"
    text: str
    look: Literal["sub", "warning"] = "sub"


@dataclass(frozen=True)
class Numbers:
    """A table whose first column names the rows."""

    kind: ClassVar[str] = "numbers"
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Configuration:
    """The configuration of a variant, folded away below a summary."""

    kind: ClassVar[str] = "configuration"
    summary: str
    identity: str
    text: str


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


Part = Heading | Line | Numbers | Configuration | Scoreboard | Picture
