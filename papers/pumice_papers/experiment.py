"""An experiment's directory: its modes, its studies, and what the paper published."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pumice.errors import SpecError
from pumice.runs.grid import Grid
from pumice.runs.jobs import Job
from pumice.runs.sweep import read_sweep
from pumice.runs.values import toml_text
from pumice_papers.scoreboard import Expected, read_expected

#: Where the experiments of this package lie.
ROOT = Path(__file__).resolve().parent / "experiments"

MODES = ("quick", "full")

#: The file of an experiment's published rows.
EXPECTED = "expected.toml"

#: The number of seeds, in a mode's settings and in a sweep file.
REPEAT = "repeat"


@dataclass(frozen=True)
class Experiment:
    """What `experiment.toml` and `expected.toml` of a directory say, in one mode.

    Attributes:
        name: name of the directory; the ids of the scoreboard's rows begin with it.
        mode: "quick" or "full".
        directory: the directory.
        content: content of `experiment.toml`.
        expected: the published rows; none for an experiment that compares nothing with a paper.
        repeat: seeds of every study, in place of what mode and sweep files say; None leaves those.
    """

    name: str
    mode: str
    directory: Path
    content: Mapping[str, Any]
    expected: Sequence[Expected]
    repeat: int | None = None

    @property
    def high_write(self) -> Sequence[str]:
        """The workloads that write much."""
        return list(self.content.get("high_write", []))

    @property
    def settings(self) -> Mapping[str, Any]:
        """The mode's own table."""
        found: Mapping[str, Any] = self.content["modes"][self.mode]
        return found

    def has(self, study: str) -> bool:
        """Whether a study is run in this mode."""
        return self._sweep_file(study) is not None

    def grid(self, study: str) -> Grid:
        """The runs of a study, with the mode's settings laid over them; `repeat` among these is the number
        of seeds.

        The study is `STUDY.toml` in the directory, or `STUDY-MODE.toml` where the modes differ.

        Raises:
            SpecError: the study is not run in this mode, or its file is not a sweep.
        """
        path = self._sweep_file(study)
        if path is None:
            raise SpecError(f"{self.directory}: no sweep file for the study {study!r} in mode {self.mode!r}")
        sweep = read_sweep(path)
        overrides = [(key, toml_text(key, value)) for key, value in self.settings.items() if key != REPEAT]
        repeat = self.repeat or int(self.settings.get(REPEAT, sweep.repeat))
        return Grid(sweep.base.with_sets(overrides, "experiment.toml"), sweep.vary, repeat, study)

    def jobs(self, studies: Sequence[str]) -> list[tuple[str, Job]]:
        """Study and job of every run of some studies, in order."""
        return [(study, self._expecting(study, job)) for study in studies for job in self.grid(study).jobs()]

    def _sweep_file(self, study: str) -> Path | None:
        paths = (self.directory / f"{study}.toml", self.directory / f"{study}-{self.mode}.toml")
        return next((path for path in paths if path.is_file()), None)

    def _expecting(self, study: str, job: Job) -> Job:
        """The job with the seconds that it is expected to take on one core: by its number of requests if
        that is varied, else those of its study."""
        rate, requests = self.content.get("requests_per_s"), job.varied.get("run.max_requests")
        seconds = self.content.get("run_s", {}).get(study)
        if rate is not None and isinstance(requests, int):
            seconds = requests / rate
        return dataclasses.replace(job, expected_s=seconds)


def published_rows(name: str, *beginnings: str) -> tuple[str, ...]:
    """The ids of an experiment's published rows that begin with one of some texts, in order."""
    return tuple(row.id for row in read_expected(ROOT / name / EXPECTED) if row.id.startswith(beginnings))


def read_experiment(name: str, mode: str, repeat: int | None = None) -> Experiment:
    """Reads the experiment `name` in a mode ("quick" or "full"), with another number of seeds if one is given.

    Raises:
        SpecError: a file is missing or not as described, or a number of seeds is given for an experiment
            whose modes have none.
    """
    directory = ROOT / name
    path = directory / "experiment.toml"
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise SpecError(f"{path}: {error}") from None
    if mode not in content.get("modes", {}):
        raise SpecError(f"{path}: the table [modes.{mode}] is missing")
    if repeat is not None and REPEAT not in content["modes"][mode]:
        raise SpecError(f"the figures of {name} are not drawn over seeds, so its runs cannot be repeated")
    published = directory / EXPECTED
    expected = read_expected(published) if published.exists() else []
    return Experiment(name, mode, directory, content, expected, repeat)
