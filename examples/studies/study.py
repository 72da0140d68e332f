"""What the studies share: their command line, and a figure with the numbers behind it."""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa

import pumice
from pumice.analysis import plots
from pumice.analysis.statistics import summary

#: Lines of a figure: by name, the values of y at each x over the seeds.
Lines = Mapping[str, Mapping[float, Sequence[float]]]


def main(draw: Callable[[Path, float], None], about: str | None) -> None:
    """Runs a study from the command line: `python STUDY.py [--out DIR] [--size SHARE]`."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--out", type=Path, default=Path("out/studies"), help="directory of the figure")
    parser.add_argument(
        "--size", type=float, default=1.0, help="share of the requests to run; below 1 for a quick look"
    )
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    draw(given.out, given.size)


def device(size: float, **sections: Mapping[str, object]) -> pumice.Spec:
    """A device of 256 blocks with a page-level layer that is aged before measuring, under random writes that find it
    busy; `sections` are laid over it."""
    spec = pumice.preset("tiny").with_(
        ftl={"kind": "page", "over_provisioning": 0.2},
        initial={"age_writes": 1.0},
        workload={"requests": round(20_000 * size), "footprint": 1.0, "read_fraction": 0.0},
        host={"mode": "closed-loop", "queue_depth": 8},
    )
    return spec.with_(**sections)


def lines_of(table: pa.Table, x: str, y: str, name: str | None = None) -> dict[str, dict[float, list[float]]]:
    """The rows of a sweep as lines: `y` over `x`, a line for each value of `name`.

    Raises:
        RuntimeError: a run failed.
    """
    found: dict[str, dict[float, list[float]]] = {}
    for row in table.to_pylist():
        if row["error"] is not None:
            raise RuntimeError(row["error"])
        line = "" if name is None else str(row[name])
        found.setdefault(line, {}).setdefault(float(row[x]), []).append(row[y])
    return found


def figure(path: Path, frame: plots.Frame, lines: Lines, scale: plots.Scale | None = None) -> None:
    """Draws means over the seeds with their 95 % intervals, and writes the numbers beside the figure as CSV."""
    curves, rows = [], []
    for name, points in lines.items():
        found = {x: summary(values) for x, values in sorted(points.items())}
        spread = [(one.mean - (one.half_width or 0.0), one.mean + (one.half_width or 0.0)) for one in found.values()]
        curves.append(plots.Curve(name, list(found), [one.mean for one in found.values()], ranges=spread))
        rows += [[name, x, one.mean, one.half_width] for x, one in found.items()]
    plots.lines(frame, curves, path, scale)
    write_csv(path, ["line", frame.x_label or "x", frame.y_label, "half of the 95 % interval"], rows)


def bars(path: Path, frame: plots.Frame, groups: Sequence[str], series: Mapping[str, Sequence[float | None]]) -> None:
    """Draws bars side by side, and writes the numbers beside the figure as CSV."""
    plots.grouped_bars(frame, plots.Bars(groups, series), path)
    write_csv(path, ["", *groups], [[name, *values] for name, values in series.items()])


def write_csv(path: Path, head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Writes `path`.csv."""
    with path.with_suffix(".csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])
    print(json.dumps({"figure": f"{path}.svg", "rows": len(rows)}))
