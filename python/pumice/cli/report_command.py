"""`pumice report`: results as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pumice import files
from pumice.cli import options as opt
from pumice.cli.terminal import emit, note
from pumice.outputs import REPORT, REPORT_KIND, output_file
from pumice.report.page import write_report
from pumice.results.comparison import chosen_metrics
from pumice.results.table_text import ENDINGS


def report_command(
    results: Annotated[
        list[Path],
        typer.Argument(metavar="RESULT...", help="Result files, or directories that run, compare or reproduce wrote."),
    ],
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="HTML, or the table alone as .csv, .md or .tex; - for standard output; report.html if absent.",
        ),
    ] = None,
    metrics: opt.MetricsOption = None,
) -> None:
    """Write a self-contained HTML report."""
    chosen = chosen_metrics(metrics)
    first = results[0]
    path = out if out is not None else (first if first.is_dir() else first.parent) / REPORT
    with output_file(path, None if path.suffix in ENDINGS else REPORT_KIND):
        write_report(results, path, chosen)
    (note if files.is_stdout(path) else emit)(f"report written to {path}")
