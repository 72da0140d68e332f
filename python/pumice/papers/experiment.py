"""An experiment's directory: its studies, its modes, its expectations."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pumice.errors import SpecError, nearest
from pumice.papers.scoreboard import Expected, read_expected
from pumice.runs.batch import Job, Outcome
from pumice.runs.grid import Grid
from pumice.runs.spec import toml_text
from pumice.runs.sweep import read_sweep

#: Where the experiments of this package lie.
ROOT = Path(__file__).resolve().parent.parent / "experiments"


@dataclass(frozen=True)
class PlannedStudy:
    """A sweep that serves some figures; `run_s` is what one of its runs is expected to take on one core, where
    that does not follow from its requests."""

    name: str
    figures: list[str]
    study: Grid
    run_s: float | None = None


@dataclass(frozen=True)
class Experiment:
    """What `experiment.toml` and `expected.toml` of a directory say, in one mode.

    Attributes:
        name: the directory's, which begins the id of every row.
        mode: "quick" or "full".
        requests_per_s: requests that one core is expected to simulate in a second; None if that was not measured.
    """

    name: str
    mode: str
    studies: list[PlannedStudy]
    expected: list[Expected]
    high_write: list[str]
    requests_per_s: float | None = None

    def serving(self, figure: str) -> list[str]:
        """Names of the studies that a figure needs."""
        return [planned.name for planned in self.studies if figure in planned.figures]

    def jobs(self, figures: Collection[str]) -> list[tuple[str, Job]]:
        """Grid and job of every run that the figures need, in order."""
        needed = [planned for planned in self.studies if set(planned.figures) & set(figures)]
        return [(planned.name, self._expecting(planned, job)) for planned in needed for job in planned.study.jobs()]

    def _expecting(self, planned: PlannedStudy, job: Job) -> Job:
        """The job with the time that it is expected to take: its study's, or by its varied number of requests."""
        requests = job.varied.get("run.max_requests")
        seconds = planned.run_s
        if self.requests_per_s is not None and isinstance(requests, int):
            seconds = requests / self.requests_per_s
        return dataclasses.replace(job, expected_s=seconds)


def read_experiment(name: str, mode: str) -> Experiment:
    """Reads the experiment `name`; `mode` is "quick" or "full". A study with `modes` is in these only.

    Raises:
        SpecError: a file is missing or not as described.
    """
    directory = ROOT / name
    path = directory / "experiment.toml"
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        overrides = [(key, toml_text(value)) for key, value in content["modes"][mode].items()]
        entries = [entry for entry in content["studies"] if mode in entry.get("modes", [mode])]
        studies = [_study(directory, entry, overrides) for entry in entries]
        expected = read_expected(directory / "expected.toml")
        return Experiment(name, mode, studies, expected, content.get("high_write", []), content.get("requests_per_s"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise SpecError(f"{path}: {error}") from None
    except KeyError as error:
        raise SpecError(f"{path}: {error} is missing") from None


def _study(directory: Path, entry: Mapping[str, Any], overrides: Sequence[tuple[str, str]]) -> PlannedStudy:
    sweep = read_sweep(directory / entry["spec"])
    study = Grid(sweep.base.with_sets(list(overrides)), sweep.vary, sweep.repeat, entry["name"])
    return PlannedStudy(entry["name"], list(entry["figures"]), study, entry.get("run_s"))


class Runs:
    """Documents of an experiment's runs, found by study and varied keys."""

    def __init__(self, named: Sequence[tuple[str, Outcome]]) -> None:
        self._named = named

    def workloads(self, study: str) -> list[str]:
        """Workloads of a study in the order of their runs."""
        return list(dict.fromkeys(_workload(outcome.job) for name, outcome in self._named if name == study))

    def find(self, study: str, varied: Mapping[str, Any]) -> dict[str, dict[str, Any] | None]:
        """The documents of the runs in which the given keys have the given values, by workload; None
        for a run that failed. Together with the workload they name one run."""
        found: dict[str, dict[str, Any] | None] = {}
        for name, outcome in self._named:
            if name == study and all(outcome.job.varied.get(key) == value for key, value in varied.items()):
                workload = _workload(outcome.job)
                assert workload not in found, f"{study}: {dict(varied)} names several runs of {workload}"
                found[workload] = outcome.document
        return found

    def values(self, study: str, key: str) -> list[Any]:
        """The values of a varied key in the runs of a study, ascending."""
        return sorted({outcome.job.varied[key] for name, outcome in self._named if name == study})

    def error(self, studies: Collection[str]) -> str | None:
        """Why the first run of these studies that failed did so; None if none failed."""
        errors = (f"{o.job.label}: {o.error}" for name, o in self._named if name in studies and o.error is not None)
        return next(errors, None)

    def any_done(self, studies: Collection[str]) -> bool:
        """Whether any run of these studies has a document."""
        return any(name in studies and outcome.document is not None for name, outcome in self._named)


def _workload(job: Job) -> str:
    return str(job.varied["workload.kind"]).removeprefix("twin:")


def choose_figures(wanted: Sequence[str], known: Sequence[str]) -> list[str]:
    """The figures to make: all if none is wanted; `12` stands for 12a, 12b and so on.

    Raises:
        SpecError: a figure that this experiment does not make.
    """
    chosen: set[str] = set()
    for figure in wanted:
        matching = [name for name in known if name == figure or name.rstrip("abcdefgh") == figure]
        if not matching:
            raise SpecError(f"figure {figure!r} is not made{nearest(figure, known)}; allowed: {', '.join(known)}")
        chosen.update(matching)
    return [name for name in known if name in chosen or not wanted]
