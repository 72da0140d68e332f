"""`pumice sweep`: every combination in a sweep file, one Parquet row a run, and a summary on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from pumice import files
from pumice.cli import options as opt
from pumice.cli.tables import Column, Sheet
from pumice.cli.terminal import emit, note, show, tell_failures, warn_all
from pumice.outputs import RUNS, one_set, output_directory
from pumice.results import grid_summary
from pumice.results.comparison import Metric, chosen_metrics
from pumice.results.notes import notes_of_seeds
from pumice.runs import run_list
from pumice.runs.batch import keeping
from pumice.runs.jobs import Outcome
from pumice.runs.sweep import outcome_table, read_sweep, run_grid
from pumice.text import count, printable

#: Longer summaries are left to the report.
SUMMARY_ROWS_MAX = 60


@opt.takes_options
def sweep_command(
    sweep: Annotated[Path, typer.Argument(metavar="SWEEP.toml", help="A spec with scale, repeat and a table vary.")],
    *,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Output directory; out/NAME if absent.", click_type=opt.Directory()),
    ] = None,
    policy: opt.PolicyOption = None,
    plugin: opt.PluginOption = None,
    fit: opt.FitOption = False,
    metrics: opt.MetricsOption = None,
    place: opt.PlaceOptions,
) -> None:
    """Run every combination of a sweep file; one Parquet row a run."""
    chosen = chosen_metrics(metrics) if metrics is not None else grid_summary.FIRST_METRICS
    grid = read_sweep(sweep)
    if policy is not None:
        grid = replace(grid, base=grid.base.with_policy(policy))
    if plugin is not None:
        grid = replace(grid, base=grid.base.with_plugins(*plugin))
    directory = out if out is not None else Path("out") / sweep.stem
    table = f"{sweep.stem}.parquet"
    with output_directory(directory, table):
        settings = place.settings("sweep", directory)
        outcomes = run_grid(grid, settings, fit=fit)
        warn_all(outcome.document for outcome in outcomes)
        for outcome in outcomes:
            if outcome.error is not None:
                note(f"{outcome.job.label}: {outcome.error}")
        with keeping(outcomes, settings), one_set(directory, RUNS) as staged:
            files.write_parquet(outcome_table(outcomes), staged / table)
            run_list.write(outcomes, staged, run_list.SweepFile(printable(sweep.name), grid.text))
        _show(outcomes, chosen)
        reused = sum(outcome.reused for outcome in outcomes)
        emit(f"{count(len(outcomes), 'run')} ({reused} reused) written to {directory / table}")
        tell_failures(outcomes)


def _show(outcomes: Sequence[Outcome], metrics: Sequence[Metric]) -> None:
    """A row a combination: the varied keys and the metrics that a study is first read by."""
    runs = [grid_summary.Run(o.job.label, o.job.varied, o.document, o.error) for o in outcomes]
    found = [point for point in grid_summary.points(runs) if point.documents]
    if len(found) > SUMMARY_ROWS_MAX:
        emit(f"{count(len(found), 'combination')}: `pumice report` shows them all")
    elif found:
        head, rows = grid_summary.table(found, metrics)
        names = len(grid_summary.keys(found))
        columns = [Column(text, "text" if place < names else "number") for place, text in enumerate(head)]
        table = Sheet(columns, rows, names, [1] * (len(columns) - names))
        repeated = max(len(point.documents) for point in found) > 1
        show(table, "± is the 95 % interval of the mean over the seeds" if repeated else "One run each.")
        for line in notes_of_seeds((point.name(), point.documents) for point in found):
            emit(f"\nnote: {line}\n")
