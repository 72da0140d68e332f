"""Published results beside simulated ones. A verdict is computed from a row's rule, never given."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from pumice import files
from pumice.errors import SpecError
from pumice.report.scoreboard import Verdict

#: What a simulated value rests on: arithmetic of a worked example; an input that is read out again; a
#: constant that was set on the published value or on a part of it; a free assumption that was chosen with
#: the value in sight; none of these. Only "predicted" rows are evidence for the models.
Basis = Literal["exact", "input", "calibrated", "fitted", "predicted"]
BASES: tuple[Basis, ...] = get_args(Basis)

#: A printed figure such as 3.39 stands for the exact number it rounds.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Expected:
    """A published result.

    Attributes:
        id: name of the row inside its paper.
        what: what is compared.
        source: where it is printed.
        kind: "exact" (equal), "number" (every value in its range) or "trend" (the rule holds).
        basis: what the simulated value rests on, one of `BASES`.
        value: as printed; None for a trend without numbers.
        lo, hi: range accepted for each value, of kind "number" only.
        rule: a trend's rule in words; of kind "number", what must hold besides.
        needs: "full" if quick runs cannot give it; other words name what it waits for.
    """

    id: str
    what: str
    source: str
    kind: Literal["exact", "number", "trend"]
    basis: Basis
    value: list[float] | None = None
    lo: list[float] | None = None
    hi: list[float] | None = None
    rule: str | None = None
    needs: str | None = None


@dataclass(frozen=True)
class Finding:
    """What was simulated for a row.

    Attributes:
        values: the simulated values, or None if they could not be had. Of runs that are repeated with
            several seeds, the means over the seeds.
        holds: whether the row's rule holds; None where it has none.
        note: how the values came about, or why there are none.
        spread: least and largest of each value over the seeds; None where runs are not repeated.
    """

    values: list[float] | None
    holds: bool | None = None
    note: str = ""
    spread: list[tuple[float, float]] | None = None


def trend(values: Sequence[float | None], holds: Callable[[list[float]], bool], note: str = "") -> Finding:
    """A finding whose rule is a function of the values. It has no values if one of them is missing."""
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return Finding(None, note=note)
    return Finding(known, holds(known), note)


@dataclass(frozen=True)
class Board:
    """All rows of a reproduction, in the order of the expectations."""

    paper: str
    rows: list[dict[str, Any]] = field(default_factory=list)

    def write(self, path: Path) -> None:
        """Writes `scoreboard.json`, all of it or nothing."""
        files.write_text(path, json.dumps(self.rows, indent=2, ensure_ascii=False) + "\n")


def read_expected(path: Path) -> list[Expected]:
    """Reads the published rows of an experiment.

    Raises:
        SpecError: a row lacks a field, has one too many, or its lists differ in length.
    """
    try:
        rows = [Expected(id=name, **row) for name, row in tomllib.loads(path.read_text(encoding="utf-8")).items()]
    except (OSError, tomllib.TOMLDecodeError, TypeError) as error:
        raise SpecError(f"{path}: {error}") from None
    for row in rows:
        complete = {
            "exact": row.value is not None,
            "number": row.value is not None and row.lo is not None and row.hi is not None
            and len(row.value) == len(row.lo) == len(row.hi),
            "trend": row.rule is not None,
        }  # fmt: skip
        if not complete.get(row.kind, False):
            raise SpecError(f"{path}: {row.id}: kind {row.kind!r} lacks its fields")
        if row.basis not in BASES:
            raise SpecError(f"{path}: {row.id}: basis {row.basis!r} is unknown; allowed: {', '.join(BASES)}")
    return rows


def verdict(row: Expected, found: Finding | None) -> Verdict:
    """The verdict on a row: "not-run" without values, else whether its rule holds."""
    if found is None or found.values is None:
        return "not-run"
    if row.kind == "trend":
        return "reproduced" if found.holds else "missed"
    if row.kind == "exact":
        return "reproduced" if found.values == row.value else "missed"
    if row.rule is not None and not found.holds:
        return "missed"
    lo, hi = row.lo or [], row.hi or []
    if len(found.values) != len(lo):
        return "missed"
    inside = all(
        low - _ROUNDING <= value <= high + _ROUNDING for low, value, high in zip(lo, found.values, hi, strict=True)
    )
    return "reproduced" if inside else "missed"


def board(paper: str, rows: Sequence[Expected], findings: Mapping[str, Finding]) -> Board:
    """The scoreboard of the given rows."""
    return Board(paper, [_row(paper, row, findings.get(row.id)) for row in rows])


def _row(paper: str, row: Expected, found: Finding | None) -> dict[str, Any]:
    waits_for = {"full": "needs --full", None: "its runs were not made"}
    missing = waits_for.get(row.needs, f"needs {row.needs}")
    return {
        "id": f"{paper}.{row.id}",
        "what": row.what,
        "kind": row.kind,
        "basis": row.basis,
        "published": row.value,
        "simulated": None if found is None else found.values,
        "spread": None if found is None else found.spread,
        "lo": row.lo,
        "hi": row.hi,
        "rule": row.rule,
        "verdict": verdict(row, found),
        "note": missing if found is None else found.note,
        "source": row.source,
    }
