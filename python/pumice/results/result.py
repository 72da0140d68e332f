"""One finished simulation."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, cast

from pumice import files
from pumice.errors import SpecError, nearest
from pumice.results.document import leaves, lookup, number, subject
from pumice.results.fields import fields, names_below
from pumice.results.names import field_called
from pumice.results.notes import notes_of
from pumice.results.stored import check_document, read_json
from pumice.text import count

#: What the one line of a result shows: label, field, digits and unit.
_IN_REPR = (
    ("write mean", "host.write.latency_us.mean", 1, " µs"),
    ("p99", "host.write.latency_us.p99", 1, " µs"),
    ("read mean", "host.read.latency_us.mean", 1, " µs"),
    ("p99", "host.read.latency_us.p99", 1, " µs"),
    ("write amplification", "write_amplification", 3, ""),
)

#: Kinds of request that have latencies of their own in every result.
KINDS = ("read", "write", "trim", "flush")

#: Kinds of request by their numbers in the engine: behind those, the commands of a host that knows of zones.
REQUEST_KINDS = (*KINDS, "zone-append", "zone-open", "zone-close", "zone-finish", "zone-reset")


class Latency(TypedDict):
    """Latency of one kind of request in µs. None: too few requests behind a figure, none at all, or no clock."""

    mean: float | None
    p50: float | None
    p90: float | None
    p99: float | None
    p99_9: float | None
    p99_99: float | None
    p99_9999: float | None
    max: float | None


@dataclass(frozen=True, repr=False)
class Result:
    """A result document (`pumice.result/1`). Times are microseconds unless the name says otherwise. A notebook shows
    it as a table with curves of its latencies.

    Attributes:
        document: the parsed document; `null` became None where a model does not apply.
    """

    document: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The whole document as nested dictionaries (the result's own; copy before changing it)."""
        return self.document

    def to_json(self) -> str:
        """The document as JSON text."""
        return json.dumps(self.document, indent=2) + "\n"

    def latency(self, kind: Literal["read", "write", "trim", "flush"]) -> Latency:
        """Latency in µs of one kind of requests: `mean`, `p50`, `p90`, `p99`, `p99_9`, `p99_99`, `p99_9999`, `max`.

        Percentiles with too few samples behind them are None, and all fields are None if there
        was no such request or the run was untimed.

        Raises:
            SpecError: no such kind of request.
        """
        if kind not in KINDS:
            raise SpecError(f"latency kind {kind!r} is unknown{nearest(kind, KINDS)}; allowed: {', '.join(KINDS)}")
        found = lookup(self.document, f"host.{kind}.latency_us")
        return cast(Latency, dict(found or dict.fromkeys(names_below(f"host.{kind}.latency_us"))))

    @property
    def write_amplification(self) -> float | None:
        """Pages programmed over pages of the host; None if the host wrote nothing."""
        return number(self.document, "write_amplification")

    @property
    def iops(self) -> float | None:
        """Requests a second while at least one is outstanding (`host.service_iops`); None without a clock."""
        return number(self.document, "host.service_iops")

    @property
    def requests(self) -> int:
        """Measured requests."""
        return int(lookup(self.document, "run.requests") or 0)

    @property
    def config(self) -> dict[str, Any]:
        """Every key of the resolved spec, as nested dictionaries."""
        return dict(self.document["config"])

    def value(self, path: str) -> Any:
        """The field at a dotted path such as `host.write.latency_us.mean` or under a nickname such as `waf`, or all
        fields below a path such as `host.write` as a dictionary. None where a model does not apply.

        Raises:
            SpecError: no result has such a field; the text names the nearest one.
        """
        found = lookup(self.document, path)
        if found is None and not _is_known(path):
            return lookup(self.document, field_called(str(path), (name for name, _ in leaves(self.document))))
        return found

    if not TYPE_CHECKING:  # a type checker shall still find misspelt names

        def __getattr__(self, name: str) -> Any:
            raise AttributeError(
                f"a result has no attribute {name!r}; fields are read by value('waf') or value('host.read')"
            )

    def __repr__(self) -> str:
        """What was run and its main figures, in one line."""
        parts = [count(self.requests, "request")]
        for label, path, digits, unit in _IN_REPR:
            value = number(self.document, path)
            parts += [f"{label} {value:,.{digits}f}{unit}"] if value is not None else []
        return f"<Result {subject(self.document)}: {', '.join(parts)}>"

    def _repr_html_(self) -> str:
        from pumice.results.notebook import result_html  # loaded here: only notebooks need it

        return result_html(self.document)

    @property
    def notes(self) -> list[str]:
        """What should be known before conclusions are drawn from the result, one line each: a saturated open loop,
        percentiles of few requests, suspension that hardly fired, and the like."""
        return notes_of(self.document)

    @property
    def warnings(self) -> list[str]:
        """Warnings of the engine about this run, one line each."""
        return list(self.document.get("warnings") or [])

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Writes the result as one Parquet row (columns as in a sweep), all of it or nothing.

        Raises:
            OSError: the file cannot be written.
        """
        from pumice.results import run_table  # loaded here: it needs Arrow, which starts slowly

        files.write_parquet(run_table.one_row(self.document), Path(path))


def _is_known(path: str) -> bool:
    """Whether a result can have a field, or fields below a path."""
    return any(one.path == path or one.path.startswith(f"{path}.") for one in fields())


def read_result(path: Path) -> Result:
    """Reads a stored result document.

    Raises:
        SpecError: the file cannot be read or is not a result of this version.
    """
    return Result(check_document(str(path), read_json(path)))
