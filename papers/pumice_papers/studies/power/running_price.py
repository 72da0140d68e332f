"""What recovery costs while the device runs: programs, capacity and RAM, against the length of a round."""

from __future__ import annotations

import dataclasses
from typing import Any

from pumice.analysis import plots
from pumice.analysis.plots import Frame
from pumice.results.document import number
from pumice.runs.jobs import Outcome
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.studies.power.recovery_time import METHOD, seconds

INTERVAL = "ftl.checkpoint_interval"

#: Columns of the table: words → path in the document.
SHOWN = {
    "write amplification": "write_amplification",
    "journal pages": "power.journal_pages",
    "map pages": "power.map_pages",
    "summary pages a block": "power.summary_pages",
    "log blocks a plane": "power.log_blocks",
    "log RAM, bytes": "power.log_ram_bytes",
}


def own_pages(outcome: Outcome) -> float | None:
    """Pages programmed to recover from, for each page of the host."""
    own, host = (number(outcome.document, f"flash.programs.{cause}") for cause in ("map", "host"))
    return own / host if own is not None and host else None


@figure(
    frame=Frame("Price of a checkpoint", "own pages programmed a page of the host", x_label="round, user capacities"),
    studies=("price", "methods"),
)
def figure_running_price(drawing: Drawing) -> Findings:
    """Own pages and recovery time over the length of a round, and one table with the other methods."""
    runs = drawing.runs.outcomes("price")
    rounds = [float(run.job.varied[INTERVAL]) for run in runs]
    rows: list[list[Any]] = [
        [
            run.job.varied.get(METHOD),
            run.job.varied.get(INTERVAL),
            own_pages(run),
            seconds(run),
            *(number(run.document, path) for path in SHOWN.values()),
        ]
        for run in [*drawing.runs.outcomes("methods"), *runs]
    ]
    drawing.write_csv(["method", "round", "own pages a host page", "recovery, s", *SHOWN], rows)
    scale = plots.Scale(log_x=True, log_y=True, from_zero=False)
    plots.lines(drawing.frame, [plots.Curve("checkpoint", rounds, list(map(own_pages, runs)))], drawing.file(), scale)
    frame = dataclasses.replace(drawing.frame, title="Recovery time", y_label="time until the host is served, s")
    curve = plots.Curve("checkpoint", rounds, list(map(seconds, runs)))
    plots.lines(frame, [curve], drawing.file("-recovery"), plots.Scale(log_x=True, from_zero=False))
    return {}
