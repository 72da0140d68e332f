"""What the figures beside closed forms share: their runs, their CSV and SVG files, and a plane's spare share."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pumice import files
from pumice.analysis import plots
from pumice.runs.batch import Settings
from pumice.runs.jobs import Outcome
from pumice.runs.sweep import read_sweep, run_grid
from pumice_papers.experiment import ROOT

#: Blocks of a plane that hold no data when a victim is chosen: the free one and the one copied into.
EMPTY_BLOCKS = 2


def run_study(study: str) -> list[Outcome]:
    """Runs a sweep file of `experiments/ground_truth`.

    Raises:
        SystemExit: a run failed.
    """
    outcomes = run_grid(read_sweep(ROOT / "ground_truth" / f"{study}.toml"), Settings(study))
    for outcome in outcomes:
        if outcome.document is None:
            raise SystemExit(f"{outcome.job.label}: {outcome.error}")
    return outcomes


def alpha_of(spare: float, shape: tuple[int, int]) -> float:
    """Pages of the blocks that hold data over user pages, of a plane of (blocks, pages a block) with a share
    of its pages spare."""
    blocks, pages = shape
    return (blocks - EMPTY_BLOCKS) * pages / int(blocks * pages * (1.0 - spare))


def shape_of(document: Mapping[str, Any]) -> tuple[int, int]:
    """Blocks a plane and pages a block of a run."""
    geometry = document["config"]["geometry"]
    return int(geometry["blocks_per_plane"]), int(geometry["pages_per_block"])


def read_rows(path: Path) -> list[list[str]]:
    """The lines of a CSV file below its first."""
    with path.open(encoding="utf-8") as file:
        return list(csv.reader(file))[1:]


def worst_difference(rows: Sequence[Sequence[str]], simulated: int) -> float:
    """Largest relative difference between the column of simulated values and the next one, theory."""
    return max(abs(float(row[simulated]) / float(row[simulated + 1]) - 1) for row in rows)


def draw_svg(frame: plots.Frame, curves: Sequence[plots.Curve], path: Path, scale: plots.Scale) -> None:
    """Draws `path`.svg, which is small enough for a repository."""
    with tempfile.TemporaryDirectory() as directory:
        drawn = Path(directory) / path.name
        plots.lines(frame, curves, drawn, scale)
        files.write_text(path.with_suffix(".svg"), drawn.with_suffix(".svg").read_text(encoding="utf-8"))
