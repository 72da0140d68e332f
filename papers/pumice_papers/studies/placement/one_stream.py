"""One stream of random writes over a whole drive: write amplification over a pass, beside the drives' own counters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pumice.analysis import plots
from pumice.analysis.plots import Curve, Frame
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.scoreboard import Finding
from pumice_papers.studies.placement.windows import (
    WINDOWS,
    WriteSeries,
    errors,
    largest,
    root_mean_square,
    write_series,
)

MIXED, POLICY, MODE = "ftl.hot_cold", "ftl.gc_policy", "ftl.gc_mode"

#: Ways of collection that are not the drive's, as far as its curve tells: words → what picks the run.
ALTERNATIVES: dict[str, Mapping[str, Any]] = {
    "host and collected data mixed": {MIXED: "mixed", POLICY: "greedy"},
    "fifo": {MIXED: "gc", POLICY: "fifo"},
    "best of 4 random units": {MIXED: "gc", POLICY: "d-choices"},
    "cost-benefit": {MIXED: "gc", POLICY: "cost-benefit"},
}

#: The alternatives that the drive's curve refutes.
REFUTED = ("host and collected data mixed", "fifo", "best of 4 random units")

#: Largest error of a window of a model that is the drive's.
WINDOW_ERROR = 0.10

#: The size of units whose run is compared; the others show that sizes do not matter.
SAMSUNG_UNITS = {"geometry.pages_per_block": 4096}
FADU_UNITS = 1090

#: Spare units a unit of the host's space, as fitted to the FADU drive (presets/fdp-fadu-4t.toml).
FADU_SPARE = 0.09

#: Largest error of a window of a model that is the FADU drive's.
FADU_ERROR = 0.15

#: The windows of FADU's first quarter of a pass.
QUARTER = WINDOWS // 4


def series(drawing: Drawing, study: str, varied: Mapping[str, Any]) -> WriteSeries:
    """The write series of the run of a study in which the given keys have the given values."""
    return write_series(drawing.runs.one(study, varied))


def measured(drawing: Drawing, drive: str) -> list[float]:
    """Write amplification of each window of a pass, by a drive's own counters."""
    windows: list[float] = drawing.experiment.content["drives"][drive]["windows"]
    return windows


def middles() -> list[float]:
    """The middle of each window of a pass."""
    return [(window + 0.5) / WINDOWS for window in range(WINDOWS)]


def draw_profiles(drawing: Drawing, drive: Sequence[float], profiles: Mapping[str, Sequence[float]]) -> None:
    """The drive's profile and simulated ones: a table, and the curves."""
    columns = ["share of a pass, middle of the window", "drive", *profiles]
    drawing.write_csv(columns, [list(row) for row in zip(middles(), drive, *profiles.values(), strict=True)])
    curves = [Curve("drive", middles(), drive, kind="points")]
    curves += [Curve(name, middles(), profile, kind="plain") for name, profile in profiles.items()]
    plots.lines(drawing.frame, curves, drawing.file())


def fit(profile: Sequence[float], drive: Sequence[float], others: Mapping[str, Sequence[float]]) -> Finding:
    """The errors of a profile, and in words those of other units."""
    note = "; ".join(f"{name}: {root_mean_square(errors(other, drive)):.1%}" for name, other in others.items())
    found = errors(profile, drive)
    return Finding([largest(found), root_mean_square(found)], None, f"root mean square by units: {note}")


@figure(
    frame=Frame("Samsung PM9D3a, one stream", "write amplification", x_label="share of a pass over the drive"),
    studies=("samsung",),
    rows=("samsung_pass", "samsung_windows", "samsung_first_copy"),
    needs_all=True,
)
def figure_samsung(drawing: Drawing) -> Findings:
    """The profile of a pass, its mean, and when an empty drive begins to copy."""
    drive = measured(drawing, "samsung")
    pages = drawing.runs.values("samsung", "geometry.pages_per_block")
    of_units = {size: series(drawing, "samsung", {"geometry.pages_per_block": size}) for size in pages}
    profiles = {f"units of {size / 64:.0f} MiB": one.profile() for size, one in of_units.items()}
    draw_profiles(drawing, drive, profiles)
    compared = series(drawing, "samsung", SAMSUNG_UNITS)
    first = compared.first_copy()
    return {
        "samsung_pass": Finding([compared.per_pass()], None, "mean of passes 6 to 10"),
        "samsung_windows": fit(compared.profile(), drive, profiles),
        "samsung_first_copy": Finding(None if first is None else [first], None, "to a hundredth of the capacity"),
    }


@figure(
    frame=Frame("The same, collected otherwise", "write amplification", x_label="share of a pass over the drive"),
    studies=("samsung-alternatives",),
    rows=("samsung_alternatives",),
    needs_all=True,
)
def figure_samsung_alternatives(drawing: Drawing) -> Findings:
    """Profiles of other ways of collection, and whether the drive's refutes them."""
    drive = measured(drawing, "samsung")
    profiles = {
        name: series(drawing, "samsung-alternatives", varied).profile() for name, varied in ALTERNATIVES.items()
    }
    draw_profiles(drawing, drive, profiles)
    worst = {name: largest(errors(profile, drive)) for name, profile in profiles.items()}
    values = [worst[name] for name in REFUTED]
    note = "; ".join(f"{name} {error:.0%}" for name, error in worst.items())
    return {"samsung_alternatives": Finding(values, min(values) > WINDOW_ERROR, note)}


@figure(
    frame=Frame("FADU drive, one stream", "write amplification", x_label="share of a pass over the drive"),
    studies=("fadu",),
    rows=("fadu_pass", "fadu_windows", "fadu_first_quarter", "fadu_unpaced"),
    needs_all=True,
)
def figure_fadu(drawing: Drawing) -> Findings:
    """The profile of a pass and its mean, paced, and as if the drive copied no earlier than it must."""
    drive = measured(drawing, "fadu")
    blocks = drawing.runs.values("fadu", "geometry.blocks_per_plane")
    profiles = {f"{count / (1 + FADU_SPARE):,.0f} units": fadu(drawing, count, "paced").profile() for count in blocks}
    unpaced = fadu(drawing, FADU_UNITS, "blocking").profile()
    draw_profiles(drawing, drive, {**profiles, "not paced": unpaced})
    compared = fadu(drawing, FADU_UNITS, "paced")
    profile = compared.profile()
    early = {name: one[:QUARTER] for name, one in profiles.items()}
    late = {name: one[QUARTER:] for name, one in profiles.items()}
    missed = largest(errors(unpaced[:QUARTER], drive[:QUARTER]))
    return {
        "fadu_pass": Finding([compared.per_pass()], None, "mean of passes 6 to 10"),
        "fadu_windows": fit(profile[QUARTER:], drive[QUARTER:], late),
        "fadu_first_quarter": fit(profile[:QUARTER], drive[:QUARTER], early),
        "fadu_unpaced": Finding([missed], missed > FADU_ERROR, "the largest error of a window of the first quarter"),
    }


def fadu(drawing: Drawing, blocks: int, mode: str) -> WriteSeries:
    """The write series of the FADU drive with so many units, collected in a mode."""
    return series(drawing, "fadu", {"geometry.blocks_per_plane": blocks, MODE: mode})
