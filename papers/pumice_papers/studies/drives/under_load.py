"""Four data-centre drives under reads and writes of 4 KiB in equal shares, from light load to saturation."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from pumice.analysis import plots
from pumice.analysis.plots import Curve, Frame
from pumice.results.document import number
from pumice_papers.experiment import Experiment, published_rows
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.scoreboard import Finding
from pumice_papers.studies.drives.held_against import Held, Setting, findings, read_settings, write_table

#: The varied key: the mean time between two requests.
BETWEEN = "workload.mean_interarrival_us"

#: What is compared: columns of the drives' file, with the width of their bands and where results have them.
READS = {
    "r_mean": (0.08, "host.read.latency_us.mean"),
    "r_p50": (0.08, "host.read.latency_us.p50"),
    "r_p99": (0.15, "host.read.latency_us.p99"),
    "r_p99_9": (0.25, "host.read.latency_us.p99_9"),
}
WRITES = (0.10, "host.write.latency_us.p50")

#: Medians of writes are compared where they differ from that of the lightest load by more, µs.
DIFFERS = 2.0

#: Loads that everything was fitted on, from the lightest.
FITTED_LOADS = 2

#: Requests a second that the measuring thread adds to what was asked for.
ADDED = 5_000

#: Share of its largest rate from which a drive's queues are full, so that nothing but that is compared; share of time
#: from which simulated dies are.
FULL = 0.98

#: The drives by sweep, with the name that figures show.
DRIVES = {
    "pe8110": "SK Hynix PE8110, 960 GB",
    "pm9a3": "Samsung PM9A3, 960 GB",
    "micron7450-clock": "Micron 7450 MAX, 800 GB",
    "cm7-r": "Kioxia CM7-R, 3.84 TB",
}


def settings(experiment: Experiment, drive: str) -> list[Setting]:
    """The drive's runs by the rate asked for, ascending."""
    found = read_settings(experiment.directory / "under_load.csv", ("drive", "asked"))
    return sorted((one for one in found if one.run == drive.removesuffix("-clock")), key=lambda one: one.at)


def below_saturation(loads: Sequence[Setting]) -> list[Setting]:
    """The loads at which the drive's queues are not full."""
    largest = max(one.mean("done") for one in loads)
    return [one for one in loads if one.mean("done") < FULL * largest]


def between(setting: Setting) -> float:
    """Mean time between two requests of the load, µs."""
    return round(1e6 / (setting.at[0] + ADDED), 3)


def document_of(drawing: Drawing, drive: str, setting: Setting) -> Mapping[str, Any]:
    """The simulated run of a load."""
    return drawing.runs.one(drive, {BETWEEN: between(setting)})


def held(drawing: Drawing, drive: str) -> list[Held]:
    """Every compared value of a drive, below its saturation."""
    loads = below_saturation(settings(drawing.experiment, drive))
    simulated = set(drawing.runs.values(drive, BETWEEN))
    found = []
    for nth, setting in enumerate(loads):
        if between(setting) not in simulated:
            continue
        fitted = nth < FITTED_LOADS
        document = document_of(drawing, drive, setting)
        columns = dict(READS)
        if abs(setting.mean("w_p50") - loads[0].mean("w_p50")) > DIFFERS:
            columns["w_p50"] = WRITES
        for column, (width, path) in columns.items():
            row = f"{drive.replace('-', '_')}_{column}" + ("_fitted" if fitted else "")
            found.append(Held(row, column, setting, width, number(document, path) or float("nan"), not fitted))
    return found


def saturation(drawing: Drawing, drive: str) -> Finding:
    """The last rate asked for at which the simulated dies have time left, beside that at which the drive's queues are
    not full."""
    loads = settings(drawing.experiment, drive)
    simulated = set(drawing.runs.values(drive, BETWEEN))
    rates = []
    for setting in loads:
        if between(setting) in simulated:
            busy = document_of(drawing, drive, setting)["utilisation"]["die"]
            if statistics.fmean(busy) < FULL:
                rates.append(setting.at[0])
    of_drive = below_saturation(loads)[-1].at[0]
    last = max(rates, default=0.0)
    return Finding([last], last == of_drive, f"the drive: {of_drive:,.0f} requests/s asked")


@figure(
    frame=Frame("Reads under load", "latency of reads, µs", x_label="thousand requests a second, half of them writes"),
    studies=tuple(DRIVES),
    rows=published_rows("drives", *(f"{drive.replace('-', '_')}_" for drive in DRIVES), "under_load_"),
    needs_all=True,
)
def figure_under_load(drawing: Drawing) -> Findings:
    """Means and tails of reads over load, of every drive and simulated."""
    compared = {drive: held(drawing, drive) for drive in DRIVES}
    everything = [one for of_drive in compared.values() for one in of_drive]
    write_table(drawing, everything)
    panels = {name: curves(compared[drive]) for drive, name in DRIVES.items()}
    plots.line_panels(drawing.frame, panels, drawing.file())
    return findings(everything, "under_load_inside") | {
        f"{drive.replace('-', '_')}_saturation": saturation(drawing, drive) for drive in DRIVES
    }


def curves(compared: Sequence[Held]) -> list[Curve]:
    """Mean and p99 of a drive's reads, measured and simulated."""
    found = []
    for colour, (column, name) in enumerate({"r_mean": "mean", "r_p99": "p99"}.items()):
        of_column = [one for one in compared if one.column == column]
        load = [one.setting.mean("done") / 1e3 for one in of_column]
        found.append(Curve(f"{name}, drive", load, [one.setting.mean(column) for one in of_column], "points", colour))
        found.append(Curve(f"{name}, simulated", load, [one.simulated for one in of_column], "plain", colour))
    return found
