"""`pumice reproduce`: published experiments run again, with a scoreboard."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from pumice import files
from pumice.cli import options as opt
from pumice.cli.output import emit, note, plain_table, show, tell_failures, warn_all
from pumice.errors import SpecError, nearest
from pumice.report import accepted, write_report
from pumice.reproduce.runs import Request, reproduce_pen
from pumice.reproduce.scoreboard import Board

PAPERS = ("pen", "all")


def reproduce_command(
    paper: Annotated[str, typer.Argument(metavar="pen|all", help="Whose evaluation to reproduce.")],
    *,
    figure: Annotated[
        list[str] | None,
        typer.Option("--figure", metavar="N", help="Only this figure (12a; 12 is all of 12); repeatable."),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full/--quick", help="The whole device and workloads, or a fraction of them.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Output directory; out/PAPER-MODE if absent.")
    ] = None,
    workers: opt.WorkersOption = None,
    dask: opt.DaskOption = None,
    resume: opt.ResumeOption = False,
) -> None:
    """Reproduce a paper's figures and compare them with what it printed."""
    if paper not in PAPERS:
        raise SpecError(f"paper {paper!r} is unknown{nearest(paper, PAPERS)}; allowed: {', '.join(PAPERS)}")
    mode = "full" if full else "quick"
    directory = out if out is not None else Path("out") / f"pen-{mode}"
    files.prepare(directory)
    done = reproduce_pen(Request(figure or [], mode, directory, workers, resume, dask))
    warn_all([warning for o in done.outcomes if o.document is not None for warning in o.document.get("warnings") or []])
    for outcome in done.outcomes:
        if outcome.error is not None:
            note(f"{outcome.job.label}: {outcome.error}")
    _show(done.board)
    write_report([directory], directory / "report.html")
    emit(f"figures, scoreboard.json and report.html written to {directory}")
    tell_failures(done.outcomes)


def _show(board: Board) -> None:
    table = plain_table(["row", "published", "simulated", "accepted", "verdict", "what"], left=6)
    for row in board.rows:
        table.add_row(
            row["id"], _values(row["published"]), _values(row["simulated"]), accepted(row), row["verdict"], row["what"]
        )
    show(table)
    for row in board.rows:
        if row["note"]:
            emit(f"{row['id']}: {row['note']}")
    emit(", ".join(f"{count} {verdict}" for verdict, count in board.counts().items()))


def _values(values: list[Any] | None) -> str:
    return (
        "–"
        if values is None
        else ", ".join(f"{value:.4g}" if isinstance(value, float) else str(value) for value in values)
    )
