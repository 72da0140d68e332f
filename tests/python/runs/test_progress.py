"""Progress bars: on a terminal whole numbers at any width, in a notebook without any extension, else nothing."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import pytest

import pumice
from conftest import on_a_terminal
from pumice.runs.pace import ageing_reports
from pumice.runs.progress import BatchProgress, RunProgress

#: Long enough for the engine to report: it does so every few thousand requests.
TINY = pumice.preset("tiny").with_(run={"max_requests": 100_000}, workload={"requests": 100_000})


class Display:
    """Stands for a notebook: keeps what is displayed below a cell."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def display(self, content: Any, display_id: bool) -> Display:
        assert display_id
        self.update(content)
        return self

    def update(self, content: Any) -> None:
        self.shown.append(content)


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Display:
    display = Display()
    ipython, shown = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    ipython.get_ipython = lambda: types.SimpleNamespace(kernel=object())  # type: ignore[attr-defined]
    shown.HTML, shown.display = str, display.display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", shown)
    return display


def test_a_run_in_a_notebook_has_a_bar_that_is_taken_away(notebook: Display) -> None:
    pumice.run(TINY)
    assert "<progress max='1'" in notebook.shown[0]
    assert "requests" in notebook.shown[0]
    assert notebook.shown[-1] == ""
    notebook.shown.clear()
    pumice.run(TINY, progress=False)
    assert notebook.shown == []


def test_a_sweep_in_a_notebook_has_a_bar(notebook: Display) -> None:
    pumice.sweep(TINY, {"seed": [1, 2]}, workers=1)
    assert "sweep" in notebook.shown[0]
    assert notebook.shown[-1] == ""


def test_elsewhere_nothing_is_shown(capfd: pytest.CaptureFixture[str]) -> None:
    pumice.run(TINY, progress=True)
    assert capfd.readouterr() == ("", "")


def test_a_callback_still_stops_a_run() -> None:
    with pytest.raises(pumice.Interrupted):
        pumice.run(TINY, progress=lambda *_: False)


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_the_bar_of_a_terminal_cuts_no_number_off(tmp_path: Path, width: int) -> None:
    """The bar ended in `2,076 s s…` at 40 columns."""
    text = on_a_terminal(["run", "--preset", "tiny"], width, tmp_path, watched="stderr")
    assert "%" in text
    assert "…" not in text
    assert ("simulated" in text) == (width >= 80)


def test_ageing_is_named_with_its_own_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine reports an aged device before the first request, as often as `ageing_reports` foresees."""
    spec = TINY.with_(geometry={"blocks_per_plane": 1024}, initial={"age_writes": 8.0})
    reports: list[tuple[int, float | None, float]] = []
    pumice.run(spec, progress=lambda *report: reports.append(report))
    foreseen = ageing_reports(spec.resolve())
    assert foreseen is not None
    assert sum(requests == 0 for requests, _, _ in reports) == pytest.approx(foreseen, rel=0.3)
    assert ageing_reports(TINY.with_(initial={"age_writes": 0.0}).resolve()) is None
    clock = iter([0.0, 10.0, 20.0, 30.0, 40.0])
    monkeypatch.setattr("pumice.runs.progress.time.monotonic", lambda: next(clock))
    bar, painted = RunProgress("run", ageing_reports=4.0), []
    monkeypatch.setattr(bar, "_paint", lambda share, pieces: painted.append((share, pieces)))
    bar.update(0, 0.0, 0.0)
    bar.update(0, 0.0, 0.0)
    bar.update(10, 0.1, 1.0)
    bar.update(20, 0.3, 2.0)
    assert painted[0] == (0.25, ["ageing the device: 25 %", "30 s left, then the requests"])
    assert painted[1] == (0.5, ["ageing the device: 50 %", "20 s left, then the requests"])
    assert painted[3][1][:2] == ["30 %", "35 s left"], "the ageing is no measure of the requests"


def test_the_time_left_is_what_the_share_done_took(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 10.0, 20.0, 30.0])
    monkeypatch.setattr("pumice.runs.progress.time.monotonic", lambda: next(clock))
    bar, painted = RunProgress("run"), []
    monkeypatch.setattr(bar, "_paint", lambda share, pieces: painted.append(pieces))
    bar.update(10, 0.1, 1.0)
    bar.update(20, 0.3, 2.0)
    assert painted[0][:2] == ["10 %", "10 requests"], "one report says nothing about speed"
    assert painted[1][:2] == ["30 %", "35 s left"], "a fifth took 10 s"


def test_a_batch_shows_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    bar, painted = BatchProgress("sweep", 4), []
    monkeypatch.setattr(bar, "_paint", lambda share, pieces: painted.append((share, pieces)))
    bar.update(1, [0.5, 0.5], None)
    bar.update(2, [], 90.0)
    assert painted == [(0.5, ["1/4 runs", "50 %"]), (0.5, ["2/4 runs", "2 min left", "50 %"])]
