"""Progress: a bar with rate and time left, on a terminal (on stderr) or in a notebook, and nothing anywhere else."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Protocol, Self

from pumice.text import count

#: Least seconds between two repaints of the bar; the engine reports far more often.
REPAINT_S = 0.1

#: Columns of the bar itself on a terminal, and of what stands around it.
_BAR_COLUMNS, _EXTRA_COLUMNS = 20, 6

#: Least share of a run from which its time is projected.
_SHARE_MIN = 0.005


def on_terminal() -> bool:
    """Whether stderr is a terminal that can show a bar."""
    return sys.stderr.isatty()


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook, which shows what is displayed as HTML."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


class _Painter(Protocol):
    """What shows a bar."""

    def paint(self, share: float | None, pieces: Sequence[str]) -> None:
        """Shows the share done, None if it is unknown, and pieces of text, the most important one first."""

    def close(self) -> None:
        """Takes the bar away."""


class _Terminal:
    """A bar on stderr."""

    def __init__(self, title: str) -> None:
        # Loaded here: a command whose progress nobody sees starts sooner without it.
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

        console = Console(stderr=True)
        self._room = console.width - len(title) - _BAR_COLUMNS - _EXTRA_COLUMNS
        columns = [SpinnerColumn(), TextColumn("{task.description}"), BarColumn(_BAR_COLUMNS)]
        if self._room < _BAR_COLUMNS:  # a narrow terminal: the numbers are worth more than the bar
            self._room += _BAR_COLUMNS
            columns = columns[:2]
        self._bar = Progress(*columns, TextColumn("{task.fields[text]}"), console=console, transient=True)
        self._task = self._bar.add_task(title, total=None, text="")
        self._bar.start()

    def paint(self, share: float | None, pieces: Sequence[str]) -> None:
        total = None if share is None else 1.0
        self._bar.update(self._task, total=total, completed=share or 0.0, text=fitting(pieces, self._room))

    def close(self) -> None:
        self._bar.stop()


class _Notebook:
    """A bar below the cell of a notebook that runs. It needs no extension of the notebook."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._shown: Any = None

    def paint(self, share: float | None, pieces: Sequence[str]) -> None:
        from IPython.display import HTML, display  # type: ignore[import-not-found, unused-ignore]

        value = "" if share is None else f' value="{share:.3f}"'
        text = html.escape(", ".join(pieces))
        shown = HTML(f"<div>{html.escape(self._title)} <progress max='1'{value}></progress> {text}</div>")
        if self._shown is None:
            self._shown = display(shown, display_id=True)
        else:
            self._shown.update(shown)

    def close(self) -> None:
        from IPython.display import HTML

        if self._shown is not None:
            self._shown.update(HTML(""))


class _Nobody:
    """No bar: nobody would see it."""

    def paint(self, share: float | None, pieces: Sequence[str]) -> None:
        pass

    def close(self) -> None:
        pass


def _painter(title: str) -> _Painter:
    if in_notebook():
        return _Notebook(title)
    return _Terminal(title) if on_terminal() else _Nobody()


def fitting(pieces: Sequence[str], room: int) -> str:
    """As many pieces of text as there is room for, from the first on; a piece is shown whole or not at all."""
    text = ""
    for piece in pieces:
        longer = f"{text}, {piece}" if text else piece
        if len(longer) > room:
            break
        text = longer
    return text


def duration_text(seconds: float) -> str:
    """A duration in words, as exact as an estimate is: `40 s`, `12 min`, `3.5 h`."""
    if seconds < 60:
        return f"{max(seconds, 1):.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


class _Bar:
    """A bar that is shown while its block runs."""

    def __init__(self, title: str, *, shown: bool = True) -> None:
        self._title = title
        self._shown = shown
        self._painter: _Painter = _Nobody()
        self._painted = -REPAINT_S

    def __enter__(self) -> Self:
        if self._shown:
            self._painter = _painter(self._title)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._painter.close()

    @property
    def is_seen(self) -> bool:
        """Whether anybody sees the bar."""
        return not isinstance(self._painter, _Nobody)

    def _paint(self, share: float | None, pieces: Sequence[str]) -> None:
        now = time.monotonic()
        if now - self._painted >= REPAINT_S:
            self._painted = now
            self._painter.paint(share, pieces)


class RunProgress(_Bar):
    """Bar of a single run. Used as a context; `update` has the shape of the engine's callback."""

    def __init__(self, title: str, *, shown: bool = True, ageing_reports: float | None = None) -> None:
        """With `ageing_reports`, about as many reports come before the first request, while the device is aged."""
        super().__init__(title, shown=shown)
        self._started = time.monotonic()
        self._ageing_reports = ageing_reports
        self._reports = 0
        #: Time of the first report and the share done then. What comes before, as filling the device, is no measure.
        self._first: tuple[float, float] | None = None
        #: Requests finished so far.
        self.requests = 0

    def update(self, requests: int, share: float | None, simulated_s: float) -> bool:
        """Shows the engine's report; always returns True, so that the run goes on."""
        self.requests = requests
        now = time.monotonic()
        if requests == 0:
            self._age(now)
            return True
        if self._first is None:
            self._started = now if self._reports else self._started
            self._first = now, share or 0.0
        rate = requests / max(now - self._started, 1e-9)
        pieces = [count(requests, "request"), f"{rate / 1000:,.0f} k/s", f"{simulated_s:,.0f} s simulated"]
        if share is not None:
            pieces = [f"{100 * share:.0f} %", *self._left(now, share), *pieces]
        self._paint(share, pieces)
        return True

    def _age(self, now: float) -> None:
        """Shows how far the ageing of the device has come, which is no part of the run's share."""
        self._reports += 1
        if self._ageing_reports is None:
            self._paint(None, ["ageing the device", f"{duration_text(now - self._started)} so far"])
            return
        share = min(self._reports / self._ageing_reports, 1.0)
        left_s = (now - self._started) * (1 - share) / share
        self._paint(
            share, [f"ageing the device: {100 * share:.0f} %", f"{duration_text(left_s)} left, then the requests"]
        )

    def _left(self, now: float, share: float) -> list[str]:
        if self._first is None:
            return []
        since, done = self._first
        if share - done < _SHARE_MIN:
            return []
        return [f"{duration_text((now - since) * (1 - share) / (share - done))} left"]


class BatchProgress(_Bar):
    """Bar of a batch of runs. A run under way counts for the share of it that is done."""

    def __init__(self, title: str, runs: int) -> None:
        super().__init__(title)
        self._runs = runs

    def update(self, finished: int, shares: Sequence[float], left_s: float | None) -> None:
        """Reports the runs finished, the shares done of those under way, and the seconds that are left, None if
        they are not known yet."""
        share = (finished + sum(shares)) / max(self._runs, 1)
        left = [f"{duration_text(left_s)} left"] if left_s is not None else []
        self._paint(share, [f"{finished}/{self._runs} runs", *left, f"{100 * share:.0f} %"])


class CountProgress(_Bar):
    """Bar of work that comes in pieces which take about as long each."""

    def __init__(self, noun: str) -> None:
        super().__init__(noun)
        self._noun = noun
        self._started = time.monotonic()

    def update(self, done: int, wanted: int) -> None:
        """Reports the pieces done, of those wanted."""
        rate = done / max(time.monotonic() - self._started, 1e-9)
        left = duration_text((wanted - done) / rate) if done > 0 else "?"
        self._paint(done / max(wanted, 1), [f"{done:,}/{wanted:,} {self._noun}", f"{left} left", f"{rate:,.0f}/s"])
