"""Beyond the drives: zones and reclaim units of several sizes over several erase units, under several erase schemes.

Every study here varies a *shape* (what is erased, and how much lies in a zone or a reclaim unit), the erase scheme,
and at most one key more. A table has all of its runs; pictures show some columns of it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pumice.analysis import plots
from pumice.analysis.plots import Bars, Frame
from pumice.results.document import number
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.over_seeds import Spread, cells, ends, mean, spread, with_seeds
from pumice_papers.quantities import AEP, WAF, Document, Quantity, quantity, quotient

SCHEME = "erase.scheme"
UNIT, PLANES, DEPTH = "ftl.zns.unit", "ftl.zns.zone_planes", "ftl.zns.units_per_plane"
FINISH = "ftl.zns.finish"
PAGES, GROUP, HANDLES = "geometry.pages_per_block", "ftl.erase_group", "ftl.handles"

MS = 1e3
MIB = float(1 << 20)


def page_bytes(document: Document) -> float | None:
    """Bytes of a page."""
    return quotient(number(document, "device.raw_bytes"), number(document, "device.pages"))


def life(document: Document) -> float | None:
    """Drive writes until the mean block has as many P/E cycles as the requirement on bit errors allows: how often the
    host can write the user capacity, if its load goes on as in the run and wear begins at 0."""
    page, host = page_bytes(document), number(document, "flash.programs.host")
    cycles = quotient(number(document, "wear.pec_at_requirement"), number(document, AEP))
    if page is None or host is None or cycles is None:
        return None
    return quotient(host * page * cycles, number(document, "device.user_bytes"))


def zone_mib(document: Document) -> float | None:
    """What a zone takes, in MiB."""
    pages, page = number(document, "zones.capacity_pages"), page_bytes(document)
    return None if pages is None or page is None else pages * page / MIB


#: Columns of the tables.
SHOWN: Mapping[str, Quantity] = {
    "zone, MiB": zone_mib,
    "write amplification": quantity(WAF),
    "erases a page": quantity(AEP),
    "reset, mean, ms": quantity("zones.reset_latency_us.mean", MS),
    "finish, mean, ms": quantity("zones.finish_latency_us.mean", MS),
    "reads, p99, ms": quantity("host.read.latency_us.p99", MS),
    "reads, p99.99, ms": quantity("host.read.latency_us.p99_99", MS),
    "writes, p99, ms": quantity("host.write.latency_us.p99", MS),
    "life, drive writes": life,
}


@dataclass(frozen=True)
class Picture:
    """Bars of a column of a table, a group for each shape.

    Attributes:
        ending: what its files' names end in, behind the figure's.
        column: the column, one of `SHOWN`.
        series: the key whose values are the bars of a group.
        fixed: further keys, each with its value in the runs that are drawn.
    """

    ending: str
    column: str
    series: str
    fixed: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Layout:
    """How a study is shown.

    Attributes:
        shape: the keys that say what is erased and how much lies together; they change together.
        words: a shape in words.
        others: the further keys that are varied.
    """

    shape: tuple[str, ...]
    words: Callable[[Mapping[str, Any]], str]
    others: tuple[str, ...]


def zone_words(shape: Mapping[str, Any]) -> str:
    """The erase unit of a zone, and its planes × units of each."""
    return f"{shape[UNIT]}, {shape[PLANES]} × {shape[DEPTH]}"


def reclaim_words(shape: Mapping[str, Any]) -> str:
    """Pages of a block, and what is erased as one."""
    blocks = {"plane": "one block", "die": "a block of each plane"}
    return f"{shape[PAGES]} pages, {blocks[shape[GROUP]]}"


ZONES = Layout((UNIT, PLANES, DEPTH), zone_words, (SCHEME,))
FINISHED = Layout((UNIT, PLANES, DEPTH), zone_words, (FINISH, SCHEME))
RECLAIM_UNITS = Layout((PAGES, GROUP), reclaim_words, (HANDLES, SCHEME))


def over_runs(drawing: Drawing, study: str, varied: Mapping[str, Any], column: str) -> Spread | None:
    """A column of the runs in which the given keys have the given values, over the seeds."""
    outcomes = drawing.runs.outcomes(study)
    runs = [run for run in outcomes if all(run.job.varied[key] == value for key, value in varied.items())]
    return spread([SHOWN[column](run.document) for run in runs])


def draw(drawing: Drawing, layout: Layout, pictures: Sequence[Picture]) -> Findings:
    """The table of a figure's study, and its pictures."""
    (study,) = drawing.figure.sweeps
    shapes = drawing.runs.points(study, layout.shape)
    rows: list[list[Any]] = []
    for combination in drawing.runs.points(study, (*layout.shape, *layout.others)):
        found = [over_runs(drawing, study, combination, column) for column in SHOWN]
        numbers = [value for one in found for value in cells(one)]
        rows.append([*combination.values(), *numbers])
    of_columns = [f"{column}{part}" for column in SHOWN for part in ("", ", least", ", largest")]
    drawing.write_csv([*layout.shape, *layout.others, *of_columns], rows)
    for picture in pictures:
        series = {
            value: [over_runs(drawing, study, {**shape, **picture.fixed, picture.series: value}, picture.column)
                    for shape in shapes]
            for value in [point[picture.series] for point in drawing.runs.points(study, (picture.series,))]
        }  # fmt: skip
        _bars(drawing, picture, [layout.words(shape) for shape in shapes], series)
    return {}


def _bars(
    drawing: Drawing, picture: Picture, groups: Sequence[str], series: Mapping[Any, Sequence[Spread | None]]
) -> None:
    """A picture: the means over the seeds, and how far these lie apart."""
    held = ", ".join(f"{key} = {value}" for key, value in picture.fixed.items())
    frame = dataclasses.replace(drawing.frame, y_label=picture.column, x_label=held or None)
    name = picture.series.rpartition(".")[2]
    bars = Bars(
        [group.replace(", ", "\n") for group in groups],
        {f"{name} {value}": [mean(one) for one in found] for value, found in series.items()},
        ranges={f"{name} {value}": [ends(one) for one in found] for value, found in series.items()},
    )
    seeds = len(drawing.runs.seeds(drawing.figure.sweeps))
    plots.grouped_bars(with_seeds(frame, seeds), bars, drawing.file(picture.ending))


@figure(
    frame=Frame("Zones by erase unit, size and scheme", ""),
    studies=("zone-units",),
)
def figure_zone_units(drawing: Drawing) -> Findings:
    """Zones that the host writes to their end."""
    columns = {"wa": "write amplification", "reset": "reset, mean, ms", "reads": "reads, p99, ms",
               "tail": "reads, p99.99, ms", "life": "life, drive writes"}  # fmt: skip
    return draw(drawing, ZONES, [Picture(f"-{ending}", column, SCHEME) for ending, column in columns.items()])


@figure(
    frame=Frame("Zones finished when 0.6 of them is written", ""),
    studies=("zone-finish",),
)
def figure_zone_finish(drawing: Drawing) -> Findings:
    """Zones that the host finishes early, filled to the end of the zone or of its erase units."""
    pictures = [
        Picture("-wa", "write amplification", FINISH, {SCHEME: "ispe"}),
        Picture("-finish", "finish, mean, ms", FINISH, {SCHEME: "ispe"}),
        Picture("-reset", "reset, mean, ms", SCHEME, {FINISH: "pad-units"}),
        Picture("-life", "life, drive writes", SCHEME, {FINISH: "pad-units"}),
    ]
    return draw(drawing, FINISHED, pictures)


@figure(
    frame=Frame("A cache on reclaim units of four sizes", ""),
    studies=("reclaim-units",),
)
def figure_reclaim_units(drawing: Drawing) -> Findings:
    """Reclaim units of a drive with placement, with two handles and with one, which is none."""
    pictures = [
        Picture("-wa", "write amplification", HANDLES, {SCHEME: "ispe"}),
        Picture("-reads", "reads, p99, ms", SCHEME, {HANDLES: 2}),
        Picture("-tail", "reads, p99.99, ms", SCHEME, {HANDLES: 2}),
        Picture("-life", "life, drive writes", SCHEME, {HANDLES: 2}),
    ]
    return draw(drawing, RECLAIM_UNITS, pictures)
