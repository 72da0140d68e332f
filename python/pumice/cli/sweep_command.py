"""`pumice sweep`: every combination in a sweep file, one Parquet row a run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from pumice import files
from pumice.cli import options as opt
from pumice.cli.terminal import emit, note, tell_failures, warn_all
from pumice.outputs import RUNS, STORE, one_set
from pumice.runs import run_list
from pumice.runs.batch import Settings
from pumice.runs.sweep import outcome_table, read_sweep, run_grid
from pumice.text import count


@opt.takes_options
def sweep_command(
    sweep: Annotated[Path, typer.Argument(metavar="SWEEP.toml", help="A spec with scale, repeat and a table vary.")],
    *,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Output directory; out/NAME if absent.")
    ] = None,
    policy: opt.PolicyOption = None,
    fit: opt.FitOption = False,
    place: opt.PlaceOptions,
) -> None:
    """Run every combination of a sweep file; one Parquet row a run."""
    grid = read_sweep(sweep)
    if policy is not None:
        grid = replace(grid, base=grid.base.with_policy(policy))
    directory = out if out is not None else Path("out") / sweep.stem
    with files.output_directory(directory):
        store = directory / STORE
        settings = Settings("sweep", place.workers, store, place.resume, dask=place.dask, announce=note)
        outcomes = run_grid(grid, settings, fit=fit)
        warn_all(outcome.document for outcome in outcomes)
        for outcome in outcomes:
            if outcome.error is not None:
                note(f"{outcome.job.label}: {outcome.error}")
        table = f"{sweep.stem}.parquet"
        with one_set(directory, RUNS) as staged:
            files.write_parquet(outcome_table(outcomes), staged / table)
            run_list.write(outcomes, staged)
        reused = sum(outcome.reused for outcome in outcomes)
        emit(f"{count(len(outcomes), 'run')} ({reused} reused) written to {directory / table}")
        tell_failures(outcomes)
