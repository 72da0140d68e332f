"""Processes in which firmware is tortured: it may crash, end the process or never return, and is tried on all the same.

A worker opens the firmware once and takes ranges of cases. It notes each case in memory that it shares with its parent
before it tries it, so that the parent knows which case has ended it.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import select
import signal
import struct
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from pumice.errors import SimulationError, SpecError, how_ended

#: A range of cases: the first, and one past the last.
Range = tuple[int, int]

#: What a worker notes before it tries a case: the case's number, and when.
_NOTE = struct.Struct("<Qd")

#: The number while the firmware is opened and its sessions run.
_OPENING = 2**64 - 1

#: Seconds between two looks at workers that say nothing.
_LOOK_S = 0.05

#: What the time between two looks counts for at most.
_LOOK_MOST_S = 4 * _LOOK_S

#: Bytes read at once.
_READ_BYTES = 1 << 16


class _Worker:
    """One process, and what it is at."""

    def __init__(self, open_torture: Callable[[Callable[[str], None]], Any], others: Sequence[_Worker]) -> None:
        orders, self.orders = os.pipe()
        self.answers, answers = os.pipe()
        self.note = mmap.mmap(-1, mmap.PAGESIZE)
        self.range: Range | None = None
        self.is_hanging = False
        #: What was found in its range. It counts when the range has ended: else that is tried again, and counted twice.
        self.found: list[dict[str, Any]] = []
        self._looked: tuple[int | None, float, float] = (None, 0.0, time.monotonic())
        self._rest = b""
        _NOTE.pack_into(self.note, 0, _OPENING, time.monotonic())
        self.pid = os.fork()
        if not self.pid:
            for other in others:
                os.close(other.orders)
            os.close(self.orders)
            os.close(self.answers)
            _serve(open_torture, orders, answers, self.note)
        os.close(orders)
        os.close(answers)

    def at(self) -> tuple[int | None, float]:
        """The case that it is at, and since when; None while it opens the firmware."""
        number, since = _NOTE.unpack_from(self.note)
        return (None if number == _OPENING else number), since

    def waited(self) -> float:
        """Seconds that its case has taken, as far as this process was awake to see it: a machine that sleeps, or has no
        time for either process, is no firmware that hangs."""
        (at, since), now = self.at(), time.monotonic()
        before, waited, looked = self._looked
        waited = waited + min(now - looked, _LOOK_MOST_S) if before == at else 0.0
        self._looked = (at, waited, now)
        return waited if now - since >= waited else 0.0

    def tried(self) -> int:
        """Cases of its range that have ended."""
        at = self.at()[0]
        return max(at - self.range[0], 0) if self.range is not None and at is not None else 0

    def give(self, todo: Range) -> None:
        """Orders a range of cases."""
        self.range = todo
        _NOTE.pack_into(self.note, 0, todo[0], time.monotonic())
        with contextlib.suppress(BrokenPipeError):
            os.write(self.orders, f"{todo[0]} {todo[1]}\n".encode())

    def read(self) -> list[dict[str, Any]] | None:
        """What it has said since; None if it has ended."""
        data = os.read(self.answers, _READ_BYTES)
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [json.loads(line) for line in lines] if data else None

    def end(self) -> int:
        """Ends the process. Returns its status; below 0: the signal that killed it."""
        for descriptor in (self.orders, self.answers):
            os.close(descriptor)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def _serve(open_torture: Callable[[Callable[[str], None]], Any], orders: int, answers: int, note: mmap.mmap) -> None:
    """The life of a worker. It does not return."""

    def say(answer: dict[str, Any]) -> None:
        os.write(answers, json.dumps(answer).encode() + b"\n")

    def found(text: str) -> None:
        say({"found": json.loads(text)})

    def begins(number: int) -> None:
        _NOTE.pack_into(note, 0, number, time.monotonic())

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    # What the firmware prints does not come into the answer of a command.
    os.dup2(2, 1)
    try:
        torture = open_torture(found)
        say({"about": json.loads(torture.about())})
        with os.fdopen(orders) as lines:
            for line in lines:
                word, _, rest = line.strip().partition(" ")
                if word == "case":
                    one = torture.try_case(rest)
                    say({"tried": None if one is None else json.loads(one)})
                else:
                    torture.try_cases(int(word), int(rest), begins, found)
                    say({"done": [int(word), int(rest)]})
    except SpecError as error:
        say({"error": str(error), "usage": True})
    except BaseException as error:
        say({"error": str(error) or type(error).__name__, "usage": False})
    os._exit(0)


class Workers:
    """Worker processes for one kind of firmware."""

    def __init__(self, open_torture: Callable[[Callable[[str], None]], Any], workers: int, limit_s: float) -> None:
        """Starts no process yet.

        Args:
            open_torture: opens the firmware, in a worker; is given what is told of findings.
            workers: processes.
            limit_s: seconds after which a case counts as one that hangs.
        """
        if not hasattr(os, "fork"):
            raise SpecError("torture needs a system with fork, such as Linux or macOS")
        self._open, self._most, self._limit_s = open_torture, workers, limit_s
        self._workers: list[_Worker] = []

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            os.kill(worker.pid, signal.SIGKILL)
            worker.end()
        self._workers.clear()

    def survey(self, found: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
        """Runs the sessions without a cut. What goes wrong in them is told to `found`. Returns sessions, combinations
        and the number of cases.

        Raises:
            SimulationError: the format failed, or the firmware ended the process.
        """
        worker = self._start()
        while True:
            for answer in self._hear(worker):
                if "about" in answer:
                    about: dict[str, Any] = answer["about"]
                    return about
                found(answer["found"])

    def one(self, case: str) -> dict[str, Any] | None:
        """Tries one case. Returns what was found."""
        worker = self._workers[0]
        os.write(worker.orders, f"case {case}\n".encode())
        worker.range = (0, 1)
        _NOTE.pack_into(worker.note, 0, 0, time.monotonic())
        while True:
            if not select.select([worker.answers], [], [], _LOOK_S)[0]:
                self._kill_if_hanging(worker)
                continue
            answers = worker.read()
            if answers is None:
                return self._crash(worker, 0)
            for answer in answers:
                _raise_if_error(answer)
                if "tried" in answer:
                    tried: dict[str, Any] | None = answer["tried"]
                    return tried

    def run(
        self,
        todo: deque[Range],
        found: Callable[[dict[str, Any]], None],
        ended: Callable[[Range], None],
        progress: Callable[[int], None],
    ) -> None:
        """Tries all cases of the ranges. `ended` is told of ranges that were tried, `progress` how many more cases are
        under way or done of the ranges that are not."""
        while todo or any(worker.range for worker in self._workers):
            while todo and len(self._workers) < min(self._most, len(todo) + len(self._workers)):
                if not all(worker.range for worker in self._workers):
                    break
                self._start()
            for worker in self._workers:
                if worker.range is None and todo:
                    worker.give(todo.popleft())
            self._look(todo, found, ended)
            progress(sum(worker.tried() for worker in self._workers))

    def _look(
        self, todo: deque[Range], found: Callable[[dict[str, Any]], None], ended: Callable[[Range], None]
    ) -> None:
        """Hears what workers say, and ends those that hang."""
        by_pipe = {worker.answers: worker for worker in self._workers}
        for pipe in select.select(list(by_pipe), [], [], _LOOK_S)[0]:
            worker = by_pipe[pipe]
            answers = worker.read()
            if answers is None:
                self._replace(worker, todo, found, ended)
                continue
            for answer in answers:
                _raise_if_error(answer)
                if "done" in answer and worker.range is not None:
                    self._end_range(worker, worker.range, found, ended)
                elif "found" in answer and answer["found"]["phase"] != "session":
                    worker.found.append(answer["found"])
        for worker in self._workers:
            self._kill_if_hanging(worker)

    def _replace(
        self,
        worker: _Worker,
        todo: deque[Range],
        found: Callable[[dict[str, Any]], None],
        ended: Callable[[Range], None],
    ) -> None:
        """Notes the case that has ended a worker, and puts the cases behind it back."""
        at, todo_of = worker.at()[0], worker.range
        finding = self._crash(worker, at)
        if at is None or todo_of is None:
            raise SimulationError(f"the firmware did not come through its session: {finding['text']}")
        worker.found.append(finding)
        self._end_range(worker, (todo_of[0], at + 1), found, ended)
        if at + 1 < todo_of[1]:
            todo.appendleft((at + 1, todo_of[1]))

    @staticmethod
    def _end_range(
        worker: _Worker, done: Range, found: Callable[[dict[str, Any]], None], ended: Callable[[Range], None]
    ) -> None:
        """Counts a range that a worker has tried, with what was found in it."""
        for finding in worker.found:
            found(finding)
        ended(done)
        worker.found, worker.range = [], None

    def _crash(self, worker: _Worker, number: int | None) -> dict[str, Any]:
        """Takes a worker away that has ended. Returns the finding."""
        self._workers.remove(worker)
        how = how_ended(worker.end())
        phase, text = ("hang", f"nothing for {self._limit_s:g} s") if worker.is_hanging else ("crash", f"it {how}")
        return {"index": number, "case": "", "phase": phase, "text": text, "operation": "", "done": None}

    def _kill_if_hanging(self, worker: _Worker) -> None:
        is_at_work = worker.at()[0] is None or worker.range is not None
        if worker.waited() > self._limit_s and is_at_work and not worker.is_hanging:
            worker.is_hanging = True
            os.kill(worker.pid, signal.SIGKILL)

    def _start(self) -> _Worker:
        worker = _Worker(self._open, self._workers)
        self._workers.append(worker)
        return worker

    def _hear(self, worker: _Worker) -> list[dict[str, Any]]:
        """What a worker says next, before it is given a case.

        Raises:
            SimulationError: it has ended.
        """
        if not select.select([worker.answers], [], [], _LOOK_S)[0]:
            self._kill_if_hanging(worker)
            return []
        answers = worker.read()
        if answers is None:
            finding = self._crash(worker, None)
            raise SimulationError(f"the firmware did not come through its session: {finding['text']}")
        for answer in answers:
            _raise_if_error(answer)
        return answers


def _raise_if_error(answer: dict[str, Any]) -> None:
    if "error" in answer:
        raise (SpecError if answer["usage"] else SimulationError)(answer["error"])
