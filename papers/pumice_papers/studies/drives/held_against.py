"""Values of a drive beside simulated ones: bands, errors, and how many lie inside."""

from __future__ import annotations

import csv
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pumice_papers.figures import Drawing, Findings
from pumice_papers.scoreboard import Finding, trend

#: Share of the values that no number was set on that should lie inside their bands, and the largest median of errors.
INSIDE, MEDIAN_ERROR = 0.8, 0.08


@dataclass(frozen=True)
class Setting:
    """Runs of a drive under one setting: what was varied, and each run's figures by column.

    Attributes:
        run: name of the kind of run.
        at: what was varied, as in the file.
        figures: figures of each equal run; a figure that was not recorded is left out.
    """

    run: str
    at: tuple[float, ...]
    figures: Sequence[Mapping[str, float]]

    def values(self, column: str) -> list[float]:
        """What the equal runs show in a column."""
        return [figures[column] for figures in self.figures if column in figures]

    def mean(self, column: str) -> float:
        """Their mean."""
        return statistics.fmean(self.values(column))

    def band(self, column: str, width: float) -> tuple[float, float]:
        """What is accepted: the larger of a relative width and the spread of the equal runs."""
        found, mean = self.values(column), self.mean(column)
        return min(mean * (1 - width), *found), max(mean * (1 + width), *found)


@dataclass(frozen=True)
class Held:
    """One value of a drive, and the simulated one.

    Attributes:
        row: the row of the scoreboard.
        column: what is compared.
        setting: the drive's runs.
        width: relative width of the band.
        simulated: the simulated value.
        counted: whether no number was set on it.
    """

    row: str
    column: str
    setting: Setting
    width: float
    simulated: float
    counted: bool

    @property
    def error(self) -> float:
        """Relative error."""
        return self.simulated / self.setting.mean(self.column) - 1

    @property
    def is_inside(self) -> bool:
        """Whether it lies in its band."""
        low, high = self.setting.band(self.column, self.width)
        return low <= self.simulated <= high


def read_settings(path: Path, keys: Sequence[str]) -> list[Setting]:
    """The runs of a file, those of equal settings together. The first of `keys` names the run, the others what is
    varied."""
    found: dict[tuple[str, tuple[float, ...]], list[dict[str, float]]] = {}
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            at = tuple(float(row[key]) for key in keys[1:])
            figures = {name: float(text) for name, text in row.items() if text and name not in keys}
            found.setdefault((row[keys[0]], at), []).append(figures)
    return [Setting(run, at, figures) for (run, at), figures in found.items()]


def findings(held: Sequence[Held], total: str) -> Findings:
    """The simulated values row by row, and under `total` how many of those that no number was set on lie inside."""
    rows: dict[str, list[Held]] = {}
    for one in held:
        rows.setdefault(one.row, []).append(one)
    found = {
        row: Finding([one.simulated for one in of_row], None, errors_in_words(of_row)) for row, of_row in rows.items()
    }
    return found | {total: totals([one for one in held if one.counted])}


def totals(held: Sequence[Held]) -> Finding:
    """Share of such values inside their bands, and the median of their errors."""
    inside = statistics.fmean(one.is_inside for one in held)
    median = statistics.median(abs(one.error) for one in held)
    note = f"{sum(one.is_inside for one in held)} of {len(held)} values inside"
    return trend([inside, median], lambda values: values[0] >= INSIDE and values[1] <= MEDIAN_ERROR, note)


def errors_in_words(held: Sequence[Held]) -> str:
    """The errors of a row, those outside their bands marked."""
    return ", ".join(f"{one.error:+.1%}{'' if one.is_inside else ' (out)'}" for one in held)


def write_table(drawing: Drawing, held: Sequence[Held], ending: str = "") -> None:
    """Every value with its band and its error."""
    rows = [
        [
            one.row,
            one.setting.run,
            " ".join(f"{value:g}" for value in one.setting.at),
            one.column,
            one.setting.mean(one.column),
            *one.setting.band(one.column, one.width),
            one.simulated,
            one.error,
            "inside" if one.is_inside else "outside",
            "no" if one.counted else "yes",
        ]
        for one in held
    ]
    columns = ["row", "run", "setting", "figure", "drive", "from", "to", "simulated", "error", "band", "fitted on"]
    drawing.write_csv(columns, rows, ending)
