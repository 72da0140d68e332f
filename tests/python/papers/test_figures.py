"""Every registered figure: declared once, its runs and rows exist, and it is drawn from made-up runs."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import pumice_papers
from made_up import drawer, outcomes
from pumice.analysis.plots import Frame
from pumice.results.fields import fields
from pumice_papers import studies
from pumice_papers.experiment import MODES, ROOT, read_experiment
from pumice_papers.figures import EXPERIMENTS, PAPERS, Figure, figure, figures_of
from pumice_papers.reproduction import figures_made

FIGURES = [(paper, id) for paper in EXPERIMENTS for id in figures_of(paper)]

#: Figures that plan their runs themselves; `pen/test_recorded_traces.py` and `matrix/test_matrix.py` draw them.
PLANNED = [("pen", "traces"), ("matrix", "matrix")]


def document(_study: str, varied: Mapping[str, Any]) -> dict[str, Any]:
    """A document with every field of a result. Its numbers depend on what the run varies."""
    weight = 1 + sum(str(varied).encode()) % 97
    made: dict[str, Any] = {}
    for field in fields():
        if field.type in ("integer", "number") and not field.path.startswith(("config.", "workload.")):
            node = made
            *above, last = field.path.split(".")
            for part in above:
                node = node.setdefault(part, {})
            node[last] = 2_000_000 if last == "requests" else weight
    made["gc"]["victim_fill"] = [weight, *[1] * 10]
    made["utilisation"] = {"die": [0.5, 0.5], "channel": [0.5]}
    made["time_series"] = [{"start_s": 3600.0 * hour, "write_mean_us": float(weight)} for hour in range(3)]
    window = {"host_programs": 100, "map_programs": 0, "erases": 1}
    made["write_series"] = [{**window, "gc_programs": weight + place % 7} for place in range(320)]
    made["device"].update(user_bytes=1000.0, raw_bytes=1200.0, pages=1200)
    return made


def smallest_mode(paper: str, id: str) -> str:
    """The quick mode, unless it does not make the figure or leaves one of its rows out."""
    experiment = read_experiment(paper, "quick")
    made = figures_made(experiment).get(id)
    only_full = {row.id for row in experiment.expected if row.needs == "full"}
    return "full" if made is None or only_full & set(made.rows) else "quick"


@pytest.mark.parametrize(("paper", "id"), [known for known in FIGURES if known not in PLANNED])
def test_a_figure_is_drawn_and_finds_its_rows(tmp_path: Path, paper: str, id: str) -> None:
    mode = smallest_mode(paper, id)
    draw = drawer(paper, mode, outcomes(paper, mode, [id], document), tmp_path, blocks={mode: 1000})
    found = draw(id)
    assert set(found) == set(figures_of(paper)[id].rows)
    assert [row for row, finding in found.items() if finding.values is None] == []
    stem = figures_of(paper)[id].stem
    written = {path.name for path in tmp_path.iterdir()}
    assert [name for name in written if not name.startswith(stem)] == []
    assert [name for name in written if name.endswith(".csv")]
    assert {name[:-4] for name in written if name.endswith(".png")} == {
        name[:-4] for name in written if name.endswith(".svg")
    }
    if not id.startswith("table"):
        assert [name for name in written if name.endswith(".png")]


def test_figures_that_plan_their_runs_are_drawn_by_tests_of_their_own() -> None:
    assert [(paper, id) for paper, id in FIGURES if figures_of(paper)[id].planned] == PLANNED


@pytest.mark.parametrize("paper", EXPERIMENTS)
def test_every_published_row_belongs_to_one_figure(paper: str) -> None:
    declared = [row for one in figures_of(paper).values() for row in one.rows]
    assert sorted(declared) == sorted(row.id for row in read_experiment(paper, "quick").expected)


@pytest.mark.parametrize("paper", PAPERS)
def test_every_study_is_read_and_every_sweep_file_is_a_study(paper: str) -> None:
    studies = {study for one in figures_of(paper).values() for study in one.sweeps}
    in_some_mode = {study for study in studies for mode in MODES if read_experiment(paper, mode).has(study)}
    assert in_some_mode == studies
    files = {path.stem for path in (ROOT / paper).glob("*.toml")} - {"experiment", "expected"}
    assert files <= {f"{study}{ending}" for study in studies for ending in ("", "-quick", "-full")}
    assert set(figures_made(read_experiment(paper, "full"))) == set(figures_of(paper))


def test_every_package_of_figures_is_an_experiment() -> None:
    folders = [*pumice_papers.__path__, *studies.__path__]
    packages = {module.name for module in pkgutil.iter_modules(folders) if module.ispkg}
    assert packages == {*EXPERIMENTS, "ground_truth", "studies"}


def test_a_figure_is_declared_once() -> None:
    figures_of("pen")
    with pytest.raises(ValueError, match="pen has two figures '6'"):
        figure(frame=Frame("again", ""))(figures_of("pen")["6"].draw)


def test_files_are_named_after_numbers_or_names() -> None:
    def stem(id: str) -> str:
        return Figure("pen", id, Frame("", ""), (), (), lambda _drawing: {}).stem

    assert (stem("12a"), stem("modern")) == ("fig12a", "modern")
