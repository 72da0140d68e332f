"""What users call the fields of a result: the one place that makes a field out of a name that somebody typed."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pumice.errors import SpecError, nearest
from pumice.results.fields import fields
from pumice.text import message

#: Other names of fields, apart by `|`, as `_plain` leaves them.
_NICKNAMES = {
    "waf|wa|write amp|write amplification factor": ("write_amplification",),
    "iops|qps|requests/s|requests per second": ("host.iops", "host.service_iops"),
    "bandwidth|bw|throughput|mb/s|mib/s": ("host.throughput_mib_per_s",),
    "requests|ios": ("run.requests",),
    "time|simulated time|duration": ("host.simulated_s",),
    "wall time|run time|runtime": ("run.wall_s",),
    "block erases": ("flash.erases.block",),
    "partial erases": ("flash.erases.partial",),
    "erases|erase count": ("flash.erases.block", "flash.erases.partial", "flash.erases.sub_block"),
    "programs|flash writes|nand writes": ("flash.programs.host", "flash.programs.gc", "flash.programs.map"),
    "flash reads|nand reads": ("flash.reads.host", "flash.reads.gc", "flash.reads.map"),
    "spare reads": ("flash.reads.spare",),
    "gc|gcs|gc count|gc runs|collections": ("gc.invocations",),
    "copied pages|pages copied|copies|moved pages|gc copies": ("gc.copied_pages",),
    "merges": ("gc.merges.full", "gc.merges.partial", "gc.merges.switch", "gc.merges.m_merge"),
    "wear|pe cycles|erases per page": ("wear.aep",),
    "suspends|erase suspensions": ("flash.suspensions",),
    "retries": ("flash.read_retries",),
    "recovery|recovery time|recovery mean": ("power.recovery_us.mean",),
}

#: Words of the name of a latency: kinds of request, figures, and what says no more.
_KINDS = {"read": "read", "reads": "read", "write": "write", "writes": "write", "trim": "trim", "flush": "flush"}
_FIGURES = {"mean": "mean", "avg": "mean", "average": "mean", "median": "p50", "max": "max", "maximum": "max"} | {
    name.replace("_", mark): name for name in ("p50", "p90", "p99", "p99_9", "p99_99", "p99_9999") for mark in ("", ".")
}
_LATENCY = {"latency", "lat"}


def fields_called(name: str) -> tuple[str, ...]:
    """The fields that a name can mean: a path, a nickname, a latency in words such as `read p99`, or the end of one
    path alone. Empty if it means none."""
    paths = dict.fromkeys(one.path for one in fields())
    if name in paths:
        return (name,)
    plain = _plain(name)
    for names, meant in _NICKNAMES.items():
        if plain in names.split("|"):
            return meant
    ends = tuple(path for path in paths if f" {_plain(path)}".endswith(f" {plain}")) if plain else ()
    return _latencies(plain.split()) or (ends if len(ends) == 1 else ())


def field_called(name: str, also: Iterable[str] = ()) -> str:
    """The one field that a name means; a name among `also` stays as it is.

    Raises:
        SpecError: it can mean several, or nothing; the text names them, or the nearest name.
    """
    others = dict.fromkeys(also)
    found = (name,) if name in others else fields_called(name)
    if len(found) > 1:
        raise SpecError(f"{message(name)} can mean {', '.join(found)}")
    if not found:
        known = [*others, *(one.path for one in fields()), *(word for names in _NICKNAMES for word in names.split("|"))]
        hint = nearest(name, dict.fromkeys(known))
        raise SpecError(f"field {message(name) or repr(name)} is unknown{hint}; docs/RESULTS.md lists all")
    return found[0]


def _latencies(words: list[str]) -> tuple[str, ...]:
    """The latencies that some words name. Without a kind of request they are those of reads and of writes, without a
    figure the means; `read` alone is none."""
    kinds = [_KINDS[word] for word in words if word in _KINDS]
    figures = [_FIGURES[word] for word in words if word in _FIGURES]
    rest = [word for word in words if word not in _KINDS and word not in _FIGURES]
    if set(rest) - _LATENCY or len(kinds) > 1 or len(figures) > 1 or not (figures or rest):
        return ()
    return tuple(f"host.{kind}.latency_us.{(figures or ['mean'])[0]}" for kind in kinds or ("read", "write"))


def _plain(name: str) -> str:
    """A name in lower case, without what stands in brackets, its words apart by one blank. The point of a percentile
    stays."""
    bare = re.sub(r"\(.*?\)", "", name.lower())
    percentile = re.sub(r"(p99)[_.]?(9+)", r"\1.\2", bare)
    return " ".join(re.sub(r"(?<!p99)\.|[_,\-\s]", " ", percentile).split())
