"""A zoned drive, Western Digital ZN540: reads over depth, and reads and writes beside resets and finishes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pumice.analysis import plots
from pumice.analysis.plots import Curve, Frame
from pumice.results.document import number
from pumice_papers.experiment import Experiment, published_rows
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.studies.drives.held_against import Held, Setting, findings, read_settings, write_table

#: Varied keys: depth of the flow that is measured (of reads, or so many zones), and time between two zone commands.
DEPTH, BETWEEN = "workload.flow.0.queue_depth", "workload.flow.1.mean_interarrival_us"

#: The varied depth of runs with one workload.
ALONE = "host.queue_depth"

#: What is held against the drive, as columns of its file with the width of their bands.
RATE, MEAN, P99, P99_9 = "per_s", "mean_us", "p99", "p99_9"

FIELDS = {MEAN: "mean", P99: "p99", P99_9: "p99_9"}


@dataclass(frozen=True)
class Kind:
    """Runs of one kind.

    Attributes:
        study: the sweep.
        requests: whether reads or writes are measured.
        bands: what is compared, with the width of each band.
        paced: whether the zone commands beside come at a rate.
        tails_from: depth from which tails are compared.
    """

    study: str
    requests: str
    bands: Mapping[str, float]
    paced: bool = False
    tails_from: int = 1


#: Writers: their rate, and tails from depth 4 on.
OF_WRITERS = {RATE: 0.07, P99_9: 0.25}

KINDS = {
    "reads": Kind("zn540-reads", "read", {RATE: 0.03, MEAN: 0.03, P99: 0.15, P99_9: 0.25}),
    "reads-resets": Kind("zn540-reads-resets", "read", {RATE: 0.05, P99_9: 0.30}, paced=True),
    "reads-resets-free": Kind("zn540-reads-resets-free", "read", {RATE: 0.05}, paced=True),
    "writes": Kind("zn540-writes", "write", OF_WRITERS, tails_from=4),
    "writes-resets": Kind("zn540-writes-resets", "write", OF_WRITERS, paced=True, tails_from=4),
    "writes-resets-free": Kind("zn540-writes-resets-free", "write", OF_WRITERS, paced=True, tails_from=4),
    "reads-finishes-free": Kind("zn540-reads-finishes-free", "read", {RATE: 0.10}),
    "writes-finishes-free": Kind("zn540-writes-finishes-free", "write", {RATE: 0.10}),
}

#: What was fitted: run, depth, zone commands a second (rounded), column.
#: In a closed loop the mean follows from the rate.
FITTED = {
    *(("reads", depth, 0, column) for depth in (1, 32, 128) for column in (RATE, MEAN)),
    ("reads", 1, 0, P99),
    ("writes", 1, 0, RATE),
    ("writes", 4, 0, RATE),
    ("writes-resets", 4, 30, RATE),
    ("reads-finishes-free", 1, 1, RATE),
}

#: Runs of the drive that are not simulated: 14 writers were at work for 30 ms only, and resets fewer than one a second
#: would take minutes.
WRITERS_LEFT_OUT, RESETS_FROM = 14, 1.0


def settings(experiment: Experiment) -> list[Setting]:
    """The drive's runs of the kinds that are simulated."""
    keys = ("run", "depth", "other_per_s")
    found = []
    for setting in read_settings(experiment.directory / "zn540.csv", keys):
        depth, rate = setting.at
        is_rare = setting.run.endswith("resets") and rate < RESETS_FROM
        if setting.run in KINDS and depth != WRITERS_LEFT_OUT and not is_rare:
            found.append(setting)
    return found


def varied(setting: Setting) -> dict[str, Any]:
    """What names the simulated run of a setting."""
    depth, rate = setting.at
    kind = KINDS[setting.run]
    if kind.paced:
        return {DEPTH: int(depth), BETWEEN: float(round(1e6 / rate))}
    return {(ALONE if rate == 0 else DEPTH): int(depth)}


def held(drawing: Drawing, settings_: Sequence[Setting]) -> list[Held]:
    """Every compared value."""
    found = []
    for setting in settings_:
        kind = KINDS[setting.run]
        document = drawing.runs.one(kind.study, varied(setting))
        for column, width in kind.bands.items():
            if (column == P99_9 and setting.at[0] < kind.tails_from) or not setting.values(column):
                continue
            fitted = (setting.run, int(setting.at[0]), round(setting.at[1]), column) in FITTED
            row = f"zn540_{setting.run.replace('-', '_')}_{column}" + ("_fitted" if fitted else "")
            found.append(Held(row, column, setting, width, simulated(document, kind, column), not fitted))
    return found


def simulated(document: Mapping[str, Any], kind: Kind, column: str) -> float:
    """A simulated figure in the unit of the drive's column."""
    if column == RATE:
        requests = number(document, f"host.{kind.requests}.requests") or 0.0
        return requests / (number(document, "host.simulated_s") or 1.0)
    return number(document, f"host.{kind.requests}.latency_us.{FIELDS[column]}") or float("nan")


@figure(
    frame=Frame("ZN540: reads of 8 KiB", "p99 of reads, µs", x_label="thousand reads a second"),
    studies=tuple(kind.study for kind in KINDS.values()),
    rows=published_rows("drives", "zn540_reads", "zn540_writes", "zn540_inside"),
    needs_all=True,
)
def figure_zn540(drawing: Drawing) -> Findings:
    """Reads over depth, alone and beside resets; every value that is held against the drive."""
    compared = held(drawing, settings(drawing.experiment))
    write_table(drawing, compared)
    draw(drawing, compared)
    return findings(compared, "zn540_inside")


def draw(drawing: Drawing, compared: Sequence[Held]) -> None:
    """Tails of reads over their rate."""
    tails = [one for one in compared if one.setting.run == "reads" and one.column == P99]
    rates = [one for one in compared if one.setting.run == "reads" and one.column == RATE]
    by_drive = [one.setting.mean(RATE) / 1e3 for one in rates], [one.setting.mean(P99) for one in tails]
    by_engine = [one.simulated / 1e3 for one in rates], [one.simulated for one in tails]
    curves = [Curve("drive", *by_drive, kind="points"), Curve("simulated", *by_engine, kind="plain")]
    plots.lines(drawing.frame, curves, drawing.file())
