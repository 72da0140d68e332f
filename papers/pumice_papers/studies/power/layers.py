"""Recovery time of the layers that recover from spare areas: against size, and by what it goes into."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from pumice.analysis import plots
from pumice.analysis.plots import Frame
from pumice.results.document import number
from pumice.runs.jobs import Outcome
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.over_seeds import Spread, cells, curve, ends, mean, spread, with_seeds
from pumice_papers.quantities import Document
from pumice_papers.studies.power.recovery_time import raw_gib, seconds

KIND, DIES, BLOCKS = "ftl.kind", "geometry.channels", "geometry.blocks_per_plane"

#: What a start does, and where its count is in the document.
COMMANDS = {
    "spare areas read": "power.spare_reads",
    "pages copied": "power.recovery_programs",
    "blocks erased": "power.recovery_erases",
}

#: Runs of a layer on one device, one a seed.
Runs = Sequence[Outcome]

#: Layer, dies, blocks a plane.
Device = tuple[str, int, int]


def command_us(document: Document) -> list[float | None]:
    """Time that each of `COMMANDS` takes on an idle die, us: a spare area passes the channel, a page that is copied
    does not."""
    keys = ("t_r_us", "t_prog_us", "t_bers_us", "channel_mb_per_s")
    read, program, erase, rate = (number(document, f"config.timing.{key}") for key in keys)
    spare_bytes = number(document, "config.geometry.spare_bytes")
    if read is None or program is None or erase is None or not rate or spare_bytes is None:
        return [None] * len(COMMANDS)
    return [read + spare_bytes / rate, read + program, erase]


def seconds_by_command(outcome: Outcome) -> list[float | None]:
    """Seconds that each of `COMMANDS` takes in a start, if the dies share them alike."""
    document, dies = outcome.document, float(outcome.job.varied[DIES])
    counts = [number(document, path) for path in COMMANDS.values()]
    return [
        None if count is None or each is None else count * each / 1e6 / dies
        for count, each in zip(counts, command_us(document), strict=True)
    ]


def _by_device(drawing: Drawing) -> dict[Device, list[Outcome]]:
    found: dict[Device, list[Outcome]] = {}
    for outcome in drawing.runs.outcomes("layers"):
        kind, dies, blocks = (outcome.job.varied[key] for key in (KIND, DIES, BLOCKS))
        found.setdefault((kind, dies, blocks), []).append(outcome)
    return found


def _parts(runs: Runs) -> list[float | None]:
    """Means over the seeds of `seconds_by_command`."""
    return [mean(spread(list(values))) for values in zip(*map(seconds_by_command, runs), strict=True)]


def _seconds(runs: Runs) -> Spread | None:
    return spread([seconds(run) for run in runs])


@figure(
    frame=Frame("Recovery time by layer, scan, one die", "time until the host is served, s", x_label="blocks a plane"),
    studies=("layers",),
)
def figure_layers(drawing: Drawing) -> Findings:
    """Recovery time of each layer against the size of a die, and what the largest goes into."""
    found = _by_device(drawing)
    _write(drawing, found)
    blocks = sorted({size for _, dies, size in found if dies == 1})
    one_die = {kind: [found[kind, 1, size] for size in blocks] for kind in dict.fromkeys(kind for kind, *_ in found)}
    seconds_of = {kind: [_seconds(runs) for runs in of_sizes] for kind, of_sizes in one_die.items()}
    curves = [curve(kind, blocks, shown) for kind, shown in seconds_of.items()]
    scale = plots.Scale(log_x=True, log_y=True, ticks=blocks, from_zero=False)
    seeds = len(next(iter(found.values())))
    plots.lines(with_seeds(drawing.frame, seeds), curves, drawing.file(), scale)
    parts = [_parts(of_sizes[-1]) for of_sizes in one_die.values()]
    series = {name: [of_layer[nth] for of_layer in parts] for nth, name in enumerate(COMMANDS)}
    bars = plots.Bars(list(one_die), series, ranges={"total": [ends(shown[-1]) for shown in seconds_of.values()]})
    title = f"What a recovery goes into, one die of {blocks[-1]:,} blocks a plane"
    frame = dataclasses.replace(drawing.frame, title=title, y_label="s", x_label=None, digits=0)
    plots.stacked_bars(with_seeds(frame, seeds), bars, drawing.file("-commands"))
    return {}


def _write(drawing: Drawing, found: dict[Device, list[Outcome]]) -> None:
    rows = []
    for (kind, dies, blocks), runs in found.items():
        counts = [mean(spread([number(run.document, path) for run in runs])) for path in COMMANDS.values()]
        shown = _seconds(runs)
        size = max(map(raw_gib, runs))
        rows.append([kind, dies, blocks, size, *cells(shown), *counts, *_parts(runs)])
    columns = ["recovery, s", "least", "largest", *COMMANDS, *(f"{name}, s" for name in COMMANDS)]
    drawing.write_csv(["layer", "dies", "blocks a plane", "raw GiB", *columns], rows)
