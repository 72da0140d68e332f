"""`pumice sweep`: every combination in a sweep file, one Parquet row a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pumice import files
from pumice.cli import options as opt
from pumice.cli.terminal import emit, note, tell_failures, warn_all
from pumice.runs.batch import Settings
from pumice.runs.sweep import outcome_table, read_sweep, run_grid


@opt.takes_options
def sweep_command(
    sweep: Annotated[Path, typer.Argument(metavar="SWEEP.toml", help="A spec with scale, repeat and a table vary.")],
    *,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Output directory; out/NAME if absent.")
    ] = None,
    place: opt.PlaceOptions,
) -> None:
    """Run every combination of a sweep file; one Parquet row a run."""
    grid = read_sweep(sweep)
    directory = out if out is not None else Path("out") / sweep.stem
    files.prepare(directory)
    outcomes = run_grid(grid, Settings("sweep", place.workers, directory / "runs", place.resume, dask=place.dask))
    warn_all(outcome.document for outcome in outcomes)
    for outcome in outcomes:
        if outcome.error is not None:
            note(f"{outcome.job.label}: {outcome.error}")
    path = directory / f"{sweep.stem}.parquet"
    files.write_parquet(outcome_table(outcomes), path)
    reused = sum(outcome.reused for outcome in outcomes)
    emit(f"{len(outcomes)} runs ({reused} reused) written to {path}")
    tell_failures(outcomes)
