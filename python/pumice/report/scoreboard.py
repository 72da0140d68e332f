"""A scoreboard as it is written, `scoreboard.json`: what its rows have, and how they are told in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

Verdict = Literal["reproduced", "missed", "not-run"]
VERDICTS: tuple[Verdict, ...] = ("reproduced", "missed", "not-run")

#: What every row of a scoreboard has.
ROW_FIELDS = frozenset(
    ("id", "what", "kind", "basis", "published", "simulated", "spread", "lo", "hi", "rule", "verdict", "note"),
)


def counts(rows: Sequence[Mapping[str, Any]]) -> dict[Verdict, int]:
    """Number of rows of a scoreboard by verdict."""
    return {verdict: sum(row["verdict"] == verdict for row in rows) for verdict in VERDICTS}


def predicted(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The rows on whose values nothing was set: the evidence for the models."""
    return [row for row in rows if row["basis"] == "predicted"]


def counts_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """How many rows were reproduced, missed and not run, in words, with the predicted ones counted apart."""
    every, own = (
        ", ".join(f"{count} {verdict}" for verdict, count in counts(some).items()) for some in (rows, predicted(rows))
    )
    return f"{len(rows)} rows: {every}; {len(predicted(rows))} of them predicted: {own}"


def accepted(row: dict[str, Any]) -> str:
    """What a row of a scoreboard accepts, in words."""
    if row["kind"] == "number":
        ranges = [f"{lo:g} … {hi:g}" for lo, hi in zip(row["lo"], row["hi"], strict=True)]
        return "; ".join([*ranges, *filter(None, [row["rule"]])])
    return "equal" if row["kind"] == "exact" else str(row["rule"])


def values_text(values: Sequence[Any] | None) -> str:
    """Published or simulated values of a row, in words."""
    return "–" if values is None else ", ".join(map(_value_text, values))


def simulated_text(row: Mapping[str, Any]) -> str:
    """The simulated values of a row, in words, each with its least and largest over the seeds if there are
    several."""
    if row["simulated"] is None or row["spread"] is None:
        return values_text(row["simulated"])
    pairs = zip(row["simulated"], row["spread"], strict=True)
    return ", ".join(f"{_value_text(value)} ({_value_text(lo)} … {_value_text(hi)})" for value, (lo, hi) in pairs)


def _value_text(value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def cell_text(value: Any) -> str:
    """A cell of the table beside a scoreboard, as it is shown."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    return f"{value:,.4g}" if value < 1000 else f"{value:,.0f}"
