"""Slow requests of a run, and what delayed one: the commands of its die between its arrival and its end.

The request log says when a request came and was done, the command log what each die did meanwhile. The request's own
commands are those of the host that touch its pages in that time; the last of them to end is what it waited for, and
the other commands of that die before it are what kept it waiting.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from pumice.errors import SpecError, one_line
from pumice.outputs import FILES
from pumice.results.command_log import CAUSES, COMMANDS, read_command_log
from pumice.results.document import number

#: Slow requests that are listed, and commands of a die that are shown for one of them.
SLOW_MAX, COMMANDS_MAX = 100, 200

#: Kinds of command that read or write a page of the host's.
_READ, _SEARCH, _PROGRAM, _COPY = (COMMANDS.index(name) for name in ("read", "spare search", "program", "copy"))

_HOST, _COLLECTION = CAUSES.index("host"), CAUSES.index("garbage collection")


@dataclass(frozen=True)
class LoggedRequest:
    """A request of a request log; `nth` is its row, times are those of the run's clock, in nanoseconds."""

    nth: int
    kind: str
    arrival_ns: int
    done_ns: int
    offset_bytes: int
    bytes: int
    #: Share of the requests of its kind that were at least as fast.
    rank: float

    @property
    def latency_ns(self) -> int:
        """From its arrival to its end."""
        return self.done_ns - self.arrival_ns


@dataclass(frozen=True)
class DieCommand:
    """A command of a die. The parts of a multi-plane command are one."""

    name: str
    cause: str
    start_ns: int
    end_ns: int
    blocks: tuple[int, ...]
    source_blocks: tuple[int, ...]


@dataclass(frozen=True)
class Wait:
    """What one kind of command, given for one cause, added to the wait of a request."""

    name: str
    cause: str
    commands: int
    ns: int


@dataclass(frozen=True)
class Delay:
    """Why a request took as long as it did.

    Attributes:
        die: the die of its last command.
        own: that command; None if no command of the log is the request's, as if the write buffer answered it.
        before: commands of the die that took time between its arrival and the start of `own`, in order.
        waits: the same, summed by command and cause, the longest first.
        idle_ns: time before `own` in which the die did nothing for anybody: link, channel, order of the queue.
        after_ns: time from the end of `own` to the request's end: transfer and link.
    """

    die: int | None
    own: DieCommand | None
    before: list[DieCommand]
    waits: list[Wait]
    idle_ns: int
    after_ns: int

    @property
    def collections(self) -> list[list[DieCommand]]:
        """Runs of commands for garbage collection that follow each other: one merge, or several in a row."""
        found: list[list[DieCommand]] = []
        for command in self.before:
            if command.cause != CAUSES[_COLLECTION]:
                continue
            if found and command.start_ns <= found[-1][-1].end_ns:
                found[-1].append(command)
            else:
                found.append([command])
        return found


def has_logs(directory: Path | None) -> bool:
    """Whether a run wrote both logs."""
    logs = ("request_log", "command_log")
    return directory is not None and all((directory / FILES[key]).is_file() for key in logs)


def slowest(directory: Path, kind: str | None = None) -> list[LoggedRequest]:
    """The slowest requests of a run, of a kind or of all kinds, the slowest first.

    Raises:
        SpecError: the log cannot be read.
    """
    log = _requests(directory / FILES["request_log"])
    rows = np.arange(len(log["kind"]))
    if kind is not None:
        rows = rows[log["kind"] == kind]
    ordered = rows[np.argsort(-log["latency_us"][rows], kind="stable")][:SLOW_MAX]
    return [_request(log, int(row)) for row in ordered]


def request(directory: Path, nth: int) -> LoggedRequest:
    """A request by its row in the log.

    Raises:
        SpecError: the log cannot be read, or has no such row.
    """
    log = _requests(directory / FILES["request_log"])
    if not 0 <= nth < len(log["kind"]):
        raise SpecError(f"request {nth}: the log has the requests 0 to {len(log['kind']) - 1}")
    return _request(log, nth)


def delay(directory: Path, document: Mapping[str, Any], found: LoggedRequest) -> Delay:
    """What a request waited for.

    Raises:
        SpecError: the command log cannot be read, or has no times.
    """
    header, timed, dies = _commands(directory / FILES["command_log"])
    unit = round((number(document, "device.user_bytes") or 0) / header["user_pages"]) or header["page_bytes"]
    first, last = found.offset_bytes // unit, (found.offset_bytes + max(found.bytes, 1) - 1) // unit
    during = (timed["start_ns"] < found.done_ns) & (timed["end_ns"] > found.arrival_ns)
    kinds = (_READ, _SEARCH) if found.kind == "read" else (_PROGRAM, _COPY)
    own = during & (timed["cause"] == _HOST) & np.isin(timed["kind"], kinds)
    own &= (timed["lpn"] >= first) & (timed["lpn"] <= last)
    own &= (timed["start_ns"] >= found.arrival_ns) & (timed["end_ns"] <= found.done_ns)
    if not own.any():
        return Delay(None, None, [], [], 0, 0)
    place = int(np.flatnonzero(own)[np.argmax(timed["end_ns"][own])])
    die = int(dies[place])
    (critical,) = _joined(timed[place : place + 1])
    waited = during & (dies == die) & (timed["start_ns"] < critical.start_ns)
    before = _joined(timed[waited])
    clipped = [(max(one.start_ns, found.arrival_ns), min(one.end_ns, critical.start_ns)) for one in before]
    sums: dict[tuple[str, str], tuple[int, int]] = {}
    for one, (begin, end) in zip(before, clipped, strict=True):
        many, ns = sums.get((one.name, one.cause), (0, 0))
        sums[one.name, one.cause] = many + 1, ns + max(end - begin, 0)
    waits = [Wait(name, cause, many, ns) for (name, cause), (many, ns) in sums.items() if ns]
    waits.sort(key=lambda wait: -wait.ns)
    idle = critical.start_ns - found.arrival_ns - _covered(clipped)
    return Delay(die, critical, before, waits, idle, found.done_ns - critical.end_ns)


def _covered(spans: list[tuple[int, int]]) -> int:
    """Length of the union of some spans of time."""
    total, until = 0, -1
    for begin, end in sorted(spans):
        total += max(0, end - max(begin, until))
        until = max(until, end)
    return total


def _joined(records: np.ndarray[Any, Any]) -> list[DieCommand]:
    """Records of one die as its commands, in order of time."""
    parts: dict[tuple[int, int, int, int], list[Any]] = {}
    for one in records:
        key = (int(one["start_ns"]), int(one["end_ns"]), int(one["kind"]), int(one["cause"]))
        parts.setdefault(key, []).append(one)
    return [
        DieCommand(
            COMMANDS[kind],
            CAUSES[cause],
            start,
            end,
            tuple(int(one["block"]) for one in own),
            tuple(int(one["source_block"]) for one in own if kind == _COPY),
        )
        for (start, end, kind, cause), own in sorted(parts.items())
    ]


def _request(log: Mapping[str, Any], row: int) -> LoggedRequest:
    same = log["latency_us"][log["kind"] == log["kind"][row]]
    rank = float(np.mean(same <= log["latency_us"][row]))
    arrival, done, offset, size = (int(log[name][row]) for name in ("arrival_ns", "done_ns", "offset_bytes", "bytes"))
    return LoggedRequest(row, str(log["kind"][row]), arrival, done, offset, size, rank)


@lru_cache(maxsize=2)
def _requests_of(path: Path, _stamp: int) -> Mapping[str, Any]:
    import pyarrow.parquet as pq

    try:
        with open(path, "rb") as file:  # Arrow takes no name that is not UTF-8
            table = pq.read_table(file)
        return {name: np.asarray(table[name].to_numpy()) for name in table.column_names}
    except Exception as error:  # a damaged file: Arrow raises many kinds
        raise SpecError(f"{path}: no request log: {one_line(error)}") from None


def _requests(path: Path) -> Mapping[str, Any]:
    return _requests_of(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=2)
def _commands_of(path: Path, _stamp: int) -> tuple[dict[str, Any], Any, Any]:
    header, records = read_command_log(path)
    timed = records[(records["end_ns"] > records["start_ns"]) & (records["kind"] < len(COMMANDS))]
    if not len(timed):
        raise SpecError(f"{path}: holds no command with a time: the run had no clock")
    planes_per_die, blocks_per_plane = header["shape"][3:]
    return header, timed, timed["block"] // (planes_per_die * blocks_per_plane)


def _commands(path: Path) -> tuple[dict[str, Any], Any, Any]:
    """Header of a command log, its commands with times, and the die of each."""
    return _commands_of(path, path.stat().st_mtime_ns)
