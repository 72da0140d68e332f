"""Progress on a terminal: a bar with rate and time left on stderr, nothing anywhere else."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn

#: Least seconds between two repaints of the bar; the engine reports far more often.
REPAINT_S = 0.1


def on_terminal() -> bool:
    """Whether stderr is a terminal that can show a bar."""
    return sys.stderr.isatty()


class _Bar:
    """A bar that is shown while its block runs."""

    _bar: Progress

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()


class RunProgress(_Bar):
    """Bar of a single run. Used as a context; `update` has the shape of the engine's callback."""

    def __init__(self, title: str) -> None:
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[detail]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
            disable=not on_terminal(),
        )
        self._task = self._bar.add_task(title, total=None, detail="")
        self._started = time.monotonic()
        self._painted = 0.0
        #: Requests finished so far.
        self.requests = 0

    def update(self, requests: int, share: float | None, simulated_s: float) -> bool:
        """Shows the engine's report; always returns True, so that the run goes on."""
        self.requests = requests
        now = time.monotonic()
        if now - self._painted >= REPAINT_S:
            self._painted = now
            rate = requests / max(now - self._started, 1e-9)
            detail = f"{requests:,} requests, {rate / 1000:,.0f} k/s, {simulated_s:,.0f} s simulated"
            total = 1.0 if share is not None else None
            self._bar.update(self._task, total=total, completed=share or 0.0, detail=detail)
        return True


class BatchProgress(_Bar):
    """Bar of a batch of runs. A run under way counts for the share of it that is done."""

    def __init__(self, title: str, runs: int) -> None:
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[finished]}/{task.fields[runs]} runs"),
            TaskProgressColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
            disable=not on_terminal(),
        )
        self._task = self._bar.add_task(title, total=float(max(runs, 1)), finished=0, runs=runs)

    def update(self, finished: int, shares: list[float]) -> None:
        """Reports the runs finished and the shares done of those under way."""
        self._bar.update(self._task, completed=finished + sum(shares), finished=finished)
