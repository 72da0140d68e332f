"""What figures 9, 10, 12 and 13 are with other mixtures of `pc`. Full mode only; no row of the scoreboard.

The mixture of `pc` is a free choice that was fitted to the baselines of figure 10. Other mixtures meet these
baselines as well. What changes between them says nothing about the FTL.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from pumice.analysis import plots
from pumice.analysis.plots import Frame
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.quantities import Quantity, quotient
from pumice_papers.superblock.figure_10 import fully_written
from pumice_papers.superblock.figure_13 import size_rule
from pumice_papers.superblock.ftls import COPY, FAST, FTLS, KEEP, LOG, PC, overhead, swept

#: Keys of a mixture.
MIXTURE, UPDATE, FLUSH = "workload.fat_mixture", "workload.fat_update_kib", "workload.fat_flush_kib"

STUDY, BY_U_BLOCKS, BY_SIZE = "mixtures", "mixtures-u-blocks", "mixtures-size"

#: Values of the keys of a mixture.
Point = Mapping[str, Any]

#: A value by what was swept.
Swept = Mapping[float, float | None]


@dataclasses.dataclass(frozen=True)
class _Mixture:
    """What was found with one mixture.

    Attributes:
        point: its keys.
        own: shares of fully written victims and ratios of overheads, by name.
        by_u_blocks: overhead of the superblock FTL over FAST's by the number of U-blocks.
        by_size: overhead by the size of the superblock, that of size 1 being 1.
    """

    point: Point
    own: Mapping[str, float | None]
    by_u_blocks: Swept
    by_size: Swept

    @property
    def row(self) -> list[Any]:
        """A row of the CSV file."""
        rule = None if None in self.by_size.values() else size_rule(self.by_size)
        keys = [*self.point[MIXTURE], self.point[UPDATE], self.point[FLUSH]]
        return [*keys, *self.own.values(), *self.by_u_blocks.values(), *self.by_size.values(), rule]


@figure(
    frame=Frame("Mixtures of pc: web cache, documents, updates; longest update, flush", "share of victims; ratio"),
    studies=(STUDY, BY_U_BLOCKS, BY_SIZE),
)
def figure_mixtures(drawing: Drawing) -> Findings:
    """Victims fully written, overhead over FAST's, the same by U-blocks, and overhead by size, for each mixture."""
    points = {_label(point): point for point in drawing.runs.points(STUDY, (MIXTURE, UPDATE, FLUSH))}
    found = {label: _found(drawing, point) for label, point in points.items()}
    first = next(iter(found.values()))
    columns = ["web cache", "documents", "updates", "longest update, KiB", "flush, KiB", *first.own]
    columns += [f"{count:g} U-blocks, superblock / FAST" for count in first.by_u_blocks]
    columns += [f"size {size:g}" for size in first.by_size]
    drawing.write_csv([*columns, "rule of figure 13 holds"], [mixture.row for mixture in found.values()])
    bars = {name: [mixture.own[name] for mixture in found.values()] for name in first.own}
    plots.grouped_bars(drawing.frame, plots.Bars(list(found), bars), drawing.file())
    by_u_blocks = {label: mixture.by_u_blocks for label, mixture in found.items()}
    frame = Frame("Figure 12 by mixture", "overhead, superblock / FAST", (1.0, "FAST"), x_label="U-blocks")
    _lines(drawing, frame, by_u_blocks, "-u-blocks")
    by_size = {label: mixture.by_size for label, mixture in found.items()}
    frame = Frame("Figure 13 by mixture", "overhead, size 1 = 1", x_label="logical blocks of a superblock")
    _lines(drawing, frame, by_size, "-size")
    return {}


def _found(drawing: Drawing, point: Point) -> _Mixture:
    full = {name: _of(drawing, name, point, fully_written) for name in (LOG, FAST, COPY)}
    seconds = {name: _of(drawing, name, point, overhead) for name in (FAST, COPY, KEEP)}
    own = {f"full, {name}": share for name, share in full.items()}
    own |= {f"overhead, {name} / FAST": quotient(seconds[name], seconds[FAST]) for name in (COPY, KEEP)}
    by_count = {
        name: swept(drawing, BY_U_BLOCKS, {**FTLS[name], **point}, "ftl.u_blocks", overhead) for name in (COPY, FAST)
    }
    by_u_blocks = {count: quotient(over, by_count[FAST][count]) for count, over in by_count[COPY].items()}
    by_size = swept(drawing, BY_SIZE, {**FTLS[COPY], **point}, "ftl.superblock.logical", overhead)
    first = next(iter(by_size.values()), None)
    return _Mixture(point, own, by_u_blocks, {size: quotient(value, first) for size, value in by_size.items()})


def _of(drawing: Drawing, name: str, point: Point, quantity: Quantity) -> float | None:
    return quantity(drawing.runs.find(STUDY, {**FTLS[name], **point}).get(PC))


def _label(point: Point) -> str:
    web, documents, updates = (f"{100 * share:g}" for share in point[MIXTURE])
    return f"{web}, {documents}, {updates} %; {point[UPDATE]}, {point[FLUSH]} KiB"


def _lines(drawing: Drawing, frame: Frame, series: Mapping[str, Swept], ending: str) -> None:
    curves = [plots.Curve(label, list(found), list(found.values())) for label, found in series.items()]
    ticks = list(next(iter(series.values()), {}))
    plots.lines(frame, curves, drawing.file(ending), plots.Scale(log_x=True, ticks=ticks))
