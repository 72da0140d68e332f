"""A Micron 7450 MAX under random writes to the whole of it and to parts: write amplification, window by window."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pumice.analysis import plots
from pumice.analysis.plots import Curve, Frame
from pumice_papers.experiment import Experiment
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.scoreboard import Finding
from pumice_papers.studies.placement.windows import errors, largest, root_mean_square, write_series

POLICY, SPARE, PART = "ftl.gc_policy", "ftl.over_provisioning", "workload.footprint"

#: Capacity of the drive, GiB.
CAPACITY = 745

#: The part that everything is fitted on, GiB, and the flash that fits it, as spare / raw.
FITTED_ON, FITTED = CAPACITY, 0.313996

#: Windows of the fitted run before anything is copied: what the drive's counter shows there beyond the host's bytes is
#: its own (metadata, parity).
BEFORE_COPIES = 4

#: From here on write amplification is steady, in capacities of the part.
STEADY = 3.0

#: Largest error of a model that is the drive's, root mean square of the windows.
WINDOW_ERROR = 0.02


@dataclass(frozen=True)
class Windows:
    """Write amplification of a part of the drive by windows.

    Attributes:
        ends: end of each window, in host bytes over the size of the part.
        amplification: media bytes a host byte in the window.
    """

    ends: Sequence[float]
    amplification: Sequence[float]

    @property
    def steady(self) -> float:
        """Mean write amplification of the steady windows."""
        late = [value for end, value in zip(self.ends, self.amplification, strict=True) if end > STEADY]
        return sum(late) / len(late)


def measured(experiment: Experiment) -> dict[int, Windows]:
    """What the drive's counters show, by the size of the part in GiB."""
    parts: dict[int, list[tuple[float, float]]] = {}
    with (experiment.directory / "micron7450.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            window = float(row["host_capacities"]), float(row["media_bytes_per_host_byte"])
            parts.setdefault(int(row["used_gib"]), []).append(window)
    return {part: Windows(*zip(*windows, strict=True)) for part, windows in parts.items()}


def counter_overhead(drive: Mapping[int, Windows]) -> float:
    """Media bytes a host byte before anything is copied, of the fitted run."""
    first = drive[FITTED_ON].amplification[:BEFORE_COPIES]
    return sum(first) / len(first)


def simulated(document: Mapping[str, Any], part: float, drive: Mapping[int, Windows], ends: Sequence[float]) -> Windows:
    """The drive's windows of a simulated run on a part of it (share of the capacity), the counter's overhead added."""
    series, overhead = write_series(document), counter_overhead(drive)
    begins = [0.0, *ends[:-1]]
    found = [series.amplification(begin * part, end * part) for begin, end in zip(begins, ends, strict=True)]
    return Windows(ends, [value * overhead for value in found])


def whole_drive(drawing: Drawing, drive: Mapping[int, Windows], policy: str, spare: float) -> Windows:
    """The simulated run on the whole drive under a policy, with so much flash."""
    document = drawing.runs.one("micron7450", {POLICY: policy, SPARE: spare})
    return simulated(document, 1.0, drive, drive[FITTED_ON].ends)


def rms(found: Windows, drive: Windows) -> float:
    """Relative error of the windows, root mean square."""
    return root_mean_square(errors(found.amplification, drive.amplification))


@figure(
    frame=Frame("Micron 7450 MAX 800 GB", "media bytes a host byte", x_label="host bytes over the size of the part"),
    studies=("micron7450", "micron7450-parts"),
    rows=("micron7450_whole", "micron7450_windows", "micron7450_steady", "micron7450_rivals"),
    needs_all=True,
)
def figure_micron7450(drawing: Drawing) -> Findings:
    """Windows of the whole drive (fitted) and of its parts (predicted), and other rules of collection."""
    drive = measured(drawing.experiment)
    found = {FITTED_ON: whole_drive(drawing, drive, "greedy", FITTED)}
    for share in drawing.runs.values("micron7450-parts", PART):
        part = round(share * CAPACITY)
        document = drawing.runs.one("micron7450-parts", {PART: share})
        found[part] = simulated(document, share, drive, drive[part].ends)
    draw(drawing, drive, found)
    predicted = [part for part in found if part != FITTED_ON]
    return {
        "micron7450_whole": fit(drawing, drive, found[FITTED_ON]),
        "micron7450_windows": Finding([rms(found[part], drive[part]) for part in predicted]),
        "micron7450_steady": Finding([found[part].steady / drive[part].steady for part in predicted]),
        "micron7450_rivals": rivals(drawing, drive),
    }


def draw(drawing: Drawing, drive: Mapping[int, Windows], found: Mapping[int, Windows]) -> None:
    """The curves of all parts, and a table."""
    curves = []
    for part, windows in found.items():
        curves += [Curve(f"{part} GiB, drive", windows.ends, drive[part].amplification, kind="points")]
        curves += [Curve(f"{part} GiB, simulated", windows.ends, windows.amplification, kind="plain")]
    plots.lines(drawing.frame, curves, drawing.file())
    rows = [
        [part, *window]
        for part, windows in found.items()
        for window in zip(windows.ends, drive[part].amplification, windows.amplification, strict=True)
    ]
    drawing.write_csv(["part, GiB", "host bytes over the part", "drive", "simulated"], rows)


def fit(drawing: Drawing, drive: Mapping[int, Windows], found: Windows) -> Finding:
    """The errors of the fitted run, and in words those of its neighbours."""
    others = {
        spare: rms(whole_drive(drawing, drive, "greedy", spare), drive[FITTED_ON])
        for spare in drawing.runs.values("micron7450", SPARE)
    }
    note = "; ".join(f"{CAPACITY / (1 - spare):,.0f} GiB: {error:.1%}" for spare, error in others.items())
    worst = largest(errors(found.amplification, drive[FITTED_ON].amplification))
    return Finding([rms(found, drive[FITTED_ON]), worst], None, f"root mean square by flash: {note}")


def rivals(drawing: Drawing, drive: Mapping[int, Windows]) -> Finding:
    """How well each rule of collection fits the whole drive, each with the flash that suits it best."""
    spares = drawing.runs.values("micron7450", SPARE)
    best = {
        policy: min(rms(whole_drive(drawing, drive, policy, spare), drive[FITTED_ON]) for spare in spares)
        for policy in drawing.runs.values("micron7450", POLICY)
    }
    note = "; ".join(f"{policy} {error:.1%}" for policy, error in best.items())
    refuted = [best["d-choices"], best["random"]]
    return Finding(refuted, min(refuted) > WINDOW_ERROR, f"least root mean square of the windows: {note}")
