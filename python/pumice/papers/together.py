"""All papers one after another: one scoreboard and one report over them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

from pumice.papers.experiment import read_experiment
from pumice.papers.reproduction import Reproduction, Request
from pumice.papers.scoreboard import Board, board

#: Reproduces one paper.
Reproduce = Callable[[Request], Reproduction]


def reproduce_all(
    request: Request, papers: Mapping[str, Reproduce], tell: Callable[[str, Reproduction], None]
) -> Board:
    """Reproduces papers in turn, each in a directory of its name, and joins their scoreboards.

    The joined `scoreboard.json` is written whatever happens: rows of papers that an interruption or an
    error left out are "not-run" in it.

    Args:
        request: what holds for every paper; figures cannot be chosen.
        papers: what reproduces each, by name.
        tell: called with the name and what came of it as soon as a paper is finished.

    Returns:
        The joined scoreboard.

    Raises:
        Interrupted: Ctrl-C; finished papers and finished runs of the one under way are kept.
        SpecError, OSError: as the papers themselves.
    """
    finished: dict[str, Board] = {}
    try:
        for name, reproduce in papers.items():
            done = reproduce(dataclasses.replace(request, directory=request.directory / name))
            finished[name] = done.board
            tell(name, done)
    finally:
        joined = _joined(request.mode, list(papers), finished)
        joined.write(request.directory / "scoreboard.json")
    return joined


def _joined(mode: str, papers: list[str], finished: Mapping[str, Board]) -> Board:
    """The rows of all papers; of one that is not finished, every row without a value."""
    boards = [finished.get(name) or board(name, read_experiment(name, mode).expected, {}) for name in papers]
    return Board("all", [row for found in boards for row in found.rows])
