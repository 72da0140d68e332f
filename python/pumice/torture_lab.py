"""Torture: firmware on a chip whose power is cut at every operation of a session.

    class Counter:
        steps = 20

        def __init__(self, chip): self.chip, self.value = chip, 0
        def format(self): ...
        def mount(self): ...
        def work(self, step): ...
        def check(self, done): assert self.value >= done, f"{self.value} of {done}"

    report = pumice.torture(Counter, pumice.Spec.from_file("chip.toml"))
    assert report.is_sound, report.kinds[0]

docs/TORTURE.md says what is tried, and how firmware in C comes into it.
"""

from __future__ import annotations

import json
import os
import re
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, get_args

from pumice import _engine
from pumice.chip import Chip, ChipChoices, Leaves
from pumice.errors import SpecError, one_line, reason
from pumice.runs.spec import Spec, check_spec, preset
from pumice.torture_workers import Range, Workers

__all__ = ["ChipChoices", "Firmware", "TortureReport", "Tortured", "named_class", "torture"]

#: Name and version of the document.
FORMAT = "pumice.torture/1"

#: What follows a cut, in the order of the table. Of two failures the one with the earlier is the simpler one.
THEN = ("settle", "later", "running", "cut", "fail")

#: What cuts leave, likewise.
LEAVES: tuple[str, ...] = get_args(Leaves)

#: Cases that a worker takes at once, at most.
_AT_ONCE = 4096

#: Cases of one kind of failure whose lines are kept.
_KEPT = 20

#: Called with cases tried and cases wanted.
TortureProgress = Callable[[int, int], None]


class Firmware(Protocol):
    """Firmware in Python. It is made anew before every format and mount; what goes wrong it raises."""

    def format(self) -> object:
        """Formats the chip."""

    def mount(self) -> object:
        """Finds again what the chip holds."""

    def work(self, step: int) -> object:
        """Does a step of the session, from 0 on. The step that a cut has met is asked for again."""

    def check(self, done: int) -> object:
        """Whether the first `done` steps have their effect. The next one may have it too, or a part of it."""


@dataclass
class TortureReport:
    """What became of the cases.

    Attributes:
        document: everything, as docs/TORTURE.md lists it.
    """

    document: dict[str, Any]

    @property
    def kinds(self) -> list[dict[str, Any]]:
        """The kinds of failure, those with the simplest case first."""
        kinds: list[dict[str, Any]] = self.document["kinds"]
        return kinds

    @property
    def is_sound(self) -> bool:
        """Whether nothing went wrong."""
        return not self.kinds

    def to_dict(self) -> dict[str, Any]:
        """The document."""
        return self.document


@dataclass(frozen=True)
class Tortured:
    """What is tried.

    Attributes:
        steps: of the session; None: as many as the firmware says.
        after: steps after a cut.
        leaves: what cuts leave.
        then: what follows.
        draws: how often a case is tried in which something is drawn.
        fails: sessions in which one operation fails, beside the one in which none does.
        seed: of everything that is drawn.
    """

    steps: int | None = None
    after: int = 4
    leaves: Sequence[str] = LEAVES
    then: Sequence[str] = THEN
    draws: int = 1
    fails: int = 0
    seed: int = 0

    def request(self, steps: int | None, chip: ChipChoices) -> str:
        """The JSON that the engine takes."""
        programs, distance, illegal = chip.as_numbers()
        fields = {"seed": self.seed, "steps": steps, "after": self.after, "leaves": list(self.leaves)}
        fields |= {"then": list(self.then), "draws": self.draws, "fails": self.fails}
        return json.dumps(fields | {"page_programs": programs, "pair_distance": distance, "illegal": illegal})


@dataclass(frozen=True)
class _Subject:
    """Firmware, and the chip that it is on."""

    firmware: Path | Callable[[Chip], Firmware]
    spec: Spec
    plan: Tortured
    chip: ChipChoices

    def open(self, found: Callable[[str], None]) -> Any:
        """Opens it, in a worker."""
        if isinstance(self.firmware, Path):
            _show_chip_to_libraries()
            plan = self.plan.request(self.plan.steps, self.chip)
            return _engine.Torture.of_library(self.spec.request(), plan, self.firmware, found)
        steps = self.plan.steps if self.plan.steps is not None else getattr(self.firmware, "steps", None)
        if not isinstance(steps, int):
            raise SpecError("the firmware has no number `steps`; give steps")
        chip, make = Chip(self.spec, options=self.chip), self.firmware
        return _engine.Torture.of_python(chip.engine, lambda: make(chip), self.plan.request(steps, self.chip), found)

    def identity(self) -> str:
        """What a report must have in common with this to be gone on with."""
        # A file that changed is other firmware; of a Python class there is no more than its name.
        name = self.firmware if isinstance(self.firmware, Path) else getattr(self.firmware, "__qualname__", "")
        digest = _engine.file_digest(name) if isinstance(name, Path) else name
        return json.dumps([digest, self.spec.request(), self.plan.request(self.plan.steps, self.chip)])


def named_class(path: Path, name: str) -> Callable[[Chip], Firmware]:
    """The class of a name in a file of Python.

    Raises:
        SpecError: there is no such file, it does not run, or it has no such class.
    """
    import importlib.util

    found = importlib.util.spec_from_file_location(path.stem, path)
    if found is None or found.loader is None:
        raise SpecError(f"{path}: is not a file of Python")
    module = importlib.util.module_from_spec(found)
    try:
        found.loader.exec_module(module)
    except OSError as error:
        raise SpecError(f"{path}: {reason(error)}") from None
    except Exception as error:
        raise SpecError(f"{path}: does not run: {one_line(error)}") from None
    made = getattr(module, name, None)
    if not callable(made):
        raise SpecError(f"{path}: has no class {name}")
    return made  # type: ignore[no-any-return]


def _show_chip_to_libraries() -> None:
    """Lets shared objects that are loaded from now on use the chip's functions, which the engine exports."""
    import ctypes

    ctypes.CDLL(_engine.__file__, mode=ctypes.RTLD_GLOBAL)


class _Tally:
    """What was found so far."""

    def __init__(self, about: dict[str, Any]) -> None:
        self.about = about
        self.done: list[Range] = []
        self.failed = [0] * len(about["combinations"])
        self.kinds: dict[tuple[str, str], dict[str, Any]] = {}

    def take(self, finding: dict[str, Any]) -> None:
        """Counts a finding, and keeps the simplest of its kind."""
        if not finding["case"]:
            finding |= self._case_of(finding["index"])
        if finding["phase"] != "session":
            self.failed[finding["index"] % len(self.failed)] += 1
        key = (finding["phase"], re.sub(r"\d+", "N", finding["text"]))
        kind = self.kinds.setdefault(key, {"phase": key[0], "text": key[1], "cases": 0, "first": finding, "others": []})
        kind["cases"] += 1
        if self.rank(finding) < self.rank(kind["first"]):
            kind["first"], finding = finding, kind["first"]
        if kind["cases"] > 1 and len(kind["others"]) < _KEPT:
            kind["others"].append(finding["case"])

    def rank(self, finding: dict[str, Any]) -> tuple[Any, ...]:
        """How simple a case is: sessions without a failure first, then what follows, then how early it comes."""
        words = dict(word.partition("=")[::2] for word in finding["case"].split())
        then = THEN.index(words["then"]) if "then" in words else -1
        leaves = LEAVES.index(words["leaves"]) if "leaves" in words else -1
        return "fail" in words, then, int(words.get("cut", -1)), leaves, int(words.get("draw", 0))

    def _case_of(self, number: int) -> dict[str, Any]:
        """The line of a case's number."""
        first, each = 0, len(self.about["combinations"])
        for session in self.about["sessions"]:
            following = first + session["operations"] * each
            if number < following:
                cut, place = divmod(number - first, each)
                with_ = self.about["combinations"][place]
                fails = "" if session["fails"] is None else f"fail={session['fails']} "
                draw = f" draw={with_['draw']}" if with_["draw"] else ""
                return {"case": f"{fails}cut={cut} leaves={with_['leaves']} then={with_['then']}{draw}"}
            first = following
        return {"case": "session"}

    def tried(self) -> int:
        """Cases tried."""
        return sum(last - first for first, last in self.done)

    def table(self) -> list[dict[str, Any]]:
        """Cases tried and failed, by what cuts leave and what follows."""
        each = len(self.failed)
        rows: dict[tuple[str, str], dict[str, Any]] = {}
        for place, with_ in enumerate(self.about["combinations"]):
            key = (with_["leaves"], with_["then"])
            row = rows.setdefault(key, {"leaves": key[0], "then": key[1], "cases": 0, "failed": 0})
            upto = [(end + each - 1 - place) // each for pair in self.done for end in pair]
            row["cases"] += sum(upto[1::2]) - sum(upto[::2])
            row["failed"] += self.failed[place]
        return list(rows.values())


def torture(
    firmware: str | os.PathLike[str] | Callable[[Chip], Firmware],
    spec: Spec | None = None,
    *,
    plan: Tortured | None = None,
    chip: ChipChoices | None = None,
    case: str | None = None,
    workers: int | None = None,
    limit_s: float = 10.0,
    earlier: dict[str, Any] | None = None,
    progress: TortureProgress | None = None,
) -> TortureReport:
    """Cuts the power at every operation of a session of firmware; after each cut it must mount, find what it has
    promised, and go on.

    A Ctrl-C ends the work; the report then tells of the cases that were tried, and `interrupted` is true in it.

    Args:
        firmware: a shared object with `pumice_firmware.h`'s table; or a class that is given the chip.
        spec: the chip; the preset "tiny" if absent.
        plan: what is tried (`pumice.torture_lab.Tortured`).
        chip: options of the chip.
        case: tries this line alone.
        workers: processes; as many as there are CPUs if absent.
        limit_s: seconds after which a case counts as one that hangs.
        earlier: the document of an interrupted run of the same, to go on with.
        progress: called while cases are tried.

    Raises:
        SpecError: what cannot be used.
        SimulationError: the format failed, or the session does not do the same twice.
    """
    path = Path(os.fspath(firmware)) if isinstance(firmware, (str, os.PathLike)) else None
    chosen = check_spec(spec) if spec is not None else preset("tiny")
    of: Any = path if path is not None else firmware
    subject = _Subject(of, chosen, plan or Tortured(), chip or ChipChoices())
    with Workers(subject.open, workers or os.cpu_count() or 1, limit_s) as pool:
        early: list[dict[str, Any]] = []
        tally = _Tally(pool.survey(early.append))
        if case is not None:
            found = pool.one(case)
            if found is not None:
                tally.take(found | {"case": case})
            return TortureReport(_document(subject, tally, interrupted=False, wanted=1))
        interrupted = _try_all(pool, tally, early, _taken_up(subject, tally, earlier), progress)
    return TortureReport(_document(subject, tally, interrupted=interrupted, wanted=tally.about["cases"]))


def _taken_up(subject: _Subject, tally: _Tally, earlier: dict[str, Any] | None) -> bool:
    """Takes over what an earlier run has found, if it was of the same. Whether it did."""
    if earlier is None:
        return False
    if earlier.get("identity") != subject.identity() or earlier.get("format") != FORMAT:
        raise SpecError("what is to be gone on with was made of other firmware, another chip or another plan")
    tally.done = [(first, last) for first, last in earlier["done"]]
    tally.failed = list(earlier["failed"])
    tally.kinds = {(kind["phase"], kind["text"]): kind for kind in earlier["kinds"]}
    return True


def _try_all(
    pool: Workers, tally: _Tally, early: list[dict[str, Any]], taken_up: bool, progress: TortureProgress | None
) -> bool:
    """Tries all cases that were not tried. Whether it was interrupted."""
    wanted = tally.about["cases"]
    if not taken_up:
        for finding in early:
            tally.take(finding)
    todo: deque[Range] = deque()
    at = 0
    for first, last in [*sorted(tally.done), (wanted, wanted)]:
        todo.extend((start, min(start + _AT_ONCE, first)) for start in range(at, first, _AT_ONCE))
        at = max(at, last)

    def ended(done: Range) -> None:
        tally.done = _joined([*tally.done, done])

    def tell(under_way: int) -> None:
        if progress is not None:
            progress(min(tally.tried() + under_way, wanted), wanted)

    try:
        pool.run(todo, tally.take, ended, tell)
    except KeyboardInterrupt:
        return True
    return False


def _joined(ranges: list[Range]) -> list[Range]:
    joined: list[Range] = []
    for first, last in sorted(ranges):
        if joined and joined[-1][1] == first:
            joined[-1] = (joined[-1][0], last)
        else:
            joined.append((first, last))
    return joined


def _document(subject: _Subject, tally: _Tally, *, interrupted: bool, wanted: int) -> dict[str, Any]:
    about = tally.about
    kinds = sorted(tally.kinds.values(), key=lambda kind: tally.rank(kind["first"]))
    return {
        "format": FORMAT,
        "firmware": {"name": about["name"], "sha256": about["sha256"]},
        "seed": subject.plan.seed,
        "steps": about["steps"],
        "after": subject.plan.after,
        "sessions": about["sessions"],
        "cases": {"wanted": wanted, "tried": tally.tried()},
        "table": tally.table(),
        "kinds": kinds,
        "interrupted": interrupted,
        "identity": subject.identity(),
        "done": tally.done,
        "failed": tally.failed,
    }
