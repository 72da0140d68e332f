"""`pumice reproduce`: published experiments run again, with a scoreboard."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pumice.cli import options as opt
from pumice.cli.tables import Column, Sheet
from pumice.cli.terminal import emit, note, show, tell_failures, warn_all
from pumice.errors import SpecError, nearest
from pumice.outputs import REPORT, SCOREBOARD, output_directory
from pumice.report.page import write_report
from pumice.report.scoreboard import accepted, cell_text, counts_text, simulated_text, values_text
from pumice.runs.jobs import Outcome
from pumice_papers.figures import EXPERIMENTS
from pumice_papers.listing import Listing
from pumice_papers.reproduction import Reproduction, Request, reproduce, reproduce_all
from pumice_papers.scoreboard import Board


def _studies(incomplete: str) -> list[tuple[str, str]]:
    """What can be reproduced, as a shell offers it."""
    return [(name, "") for name in (*EXPERIMENTS, "all") if name.startswith(incomplete)]


@opt.takes_options
def reproduce_command(
    paper: Annotated[
        str,
        typer.Argument(
            metavar="|".join((*EXPERIMENTS, "all")),
            help="What to reproduce; all is every row of the four papers.",
            autocompletion=_studies,
        ),
    ],
    *,
    figure: Annotated[
        list[str] | None,
        typer.Option("--figure", metavar="N", help="Only this figure (12a; 12 is all of 12); repeatable."),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full/--quick", help="The whole device and workloads, or a fraction of them.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", help="Output directory; out/PAPER-MODE if absent.", click_type=opt.Directory()
        ),
    ] = None,
    traces: Annotated[
        Path | None,
        typer.Option("--traces", metavar="DIR", help="Folder of recorded traces: PEN's table `traces`, the matrix."),
    ] = None,
    repeat: Annotated[
        int | None,
        typer.Option("--repeat", metavar="N", min=1, help="Seeds of every run, in place of the experiment's number."),
    ] = None,
    place: opt.PlaceOptions,
) -> None:
    """Reproduce a paper's figures and compare them with what it printed."""
    known = [*EXPERIMENTS, "all"]
    if paper not in known:
        raise SpecError(f"paper {paper!r} is unknown{nearest(paper, known)}; allowed: {', '.join(known)}")
    for option, given in (("--figure", figure), ("--repeat", repeat)):
        if paper == "all" and given:
            raise SpecError(f"{option} belongs to one paper; name it in place of 'all'")
    mode = "full" if full else "quick"
    directory = out if out is not None else Path("out") / f"{paper}-{mode}"
    settings = place.settings("reproduce", directory, all_or_none=False)
    request = Request(figure or [], mode, directory, settings, traces, repeat)
    with output_directory(directory, REPORT):
        outcomes = _reproduce_all(request) if paper == "all" else _reproduce_one(paper, request)
        emit(f"figures, {SCOREBOARD} and {REPORT} written to {directory}")
        tell_failures(outcomes)


def _reproduce_one(paper: str, request: Request) -> list[Outcome]:
    done = reproduce(paper, request)
    _tell(paper, request, done)
    write_report([request.directory], request.directory / REPORT)
    return done.outcomes


def _reproduce_all(request: Request) -> list[Outcome]:
    outcomes: list[Outcome] = []

    def tell(paper: str, done: Reproduction) -> None:
        emit(f"{paper}:")
        _tell(paper, request, done)
        outcomes.extend(done.outcomes)

    try:
        joined = reproduce_all(request, tell)
    finally:  # after Ctrl-C, a report on the papers that are finished
        write_report([request.directory], request.directory / REPORT)
    emit(f"all: {counts_text(joined.rows)}")
    return outcomes


def _tell(paper: str, request: Request, done: Reproduction) -> None:
    """Shows the warnings, failures, scoreboard and listing of a paper."""
    warn_all(outcome.document for outcome in done.outcomes)
    for outcome in done.outcomes:
        if outcome.error is not None:
            note(f"{outcome.job.label}: {outcome.error}")
    if done.board.rows:
        _show(done.board)
    if done.listing is not None:
        _show_listing(done.listing)
    elif paper == "pen" and request.traces is None and (not request.figures or "traces" in request.figures):
        note("the table of recorded traces is left out; --traces DIR names a folder of them")


def _show(board: Board) -> None:
    heads = ["row", "published", "simulated", "accepted", "basis", "verdict", "what"]
    rows = [
        [
            row["id"],
            values_text(row["published"]),
            simulated_text(row),
            accepted(row),
            row["basis"],
            row["verdict"],
            row["what"],
        ]
        for row in board.rows
    ]
    show(Sheet([Column(head, "text") for head in heads], rows))
    for row in board.rows:
        if row["note"]:
            emit(f"{row['id']}: {row['note']}")
    emit(counts_text(board.rows))


def _show_listing(made: Listing) -> None:
    columns = [Column(head, "text" if place < made.left else "number") for place, head in enumerate(made.columns)]
    rows = [[cell_text(value) for value in row] for row in made.rows]
    show(Sheet(columns, rows, made.left, [1] * (len(columns) - made.left)), made.title)
    for line in made.notes:
        emit(line)
