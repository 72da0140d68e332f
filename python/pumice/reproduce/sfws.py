"""Figures 2, 3 and 5 of SFWS (GLSVLSI'24), and the steady state beside Figure 5."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pumice import plots
from pumice.document import number
from pumice.reproduce.figure import Ratios, draw_ratios, ratios, write_csv
from pumice.reproduce.scoreboard import Finding
from pumice.reproduce.sfws_block import figure_2, figure_3
from pumice.runner import Outcome

LAYER_FIRST, SUB_BLOCK_FIRST = "lfws", "sfws"
OP = "ftl.over_provisioning"

#: Figures that need no run: figure → function of the directory to draw in.
EXAMPLES: dict[str, Callable[[Path], dict[str, Finding]]] = {"2": figure_2, "3": figure_3}


@dataclass(frozen=True)
class Context:
    """What a figure is made from: the runs by study, and the directory to draw in."""

    runs: Sequence[tuple[str, Outcome]]
    directory: Path

    def documents(self, study: str, **only: float) -> dict[str, dict[str, Any] | None]:
        """Document of every workload of a study; `op` picks one over-provisioning."""
        wanted = only.get("op")
        return {
            str(outcome.job.varied["workload.kind"]): outcome.document
            for name, outcome in self.runs
            if name == study and wanted in (None, outcome.job.varied.get(OP))
        }

    def pair(self, value: Callable[[dict[str, Any] | None], float | None], study: str = "", **only: float) -> Ratios:
        """A quantity of every workload, sub-block first over layer first."""
        over, under = (
            {name: value(found) for name, found in self.documents(f"{study}{order}", **only).items()}
            for order in (SUB_BLOCK_FIRST, LAYER_FIRST)
        )
        return ratios(over, under)


def copies_per_collection(document: dict[str, Any] | None) -> float | None:
    """Pages copied for each erase unit reclaimed."""
    copied, victims = copied_pages(document), number(document, "gc.reclaimed_blocks")
    return copied / victims if copied is not None and victims else None


def copied_pages(document: dict[str, Any] | None) -> float | None:
    """All pages copied."""
    return number(document, "gc.copied_pages")


def response(document: dict[str, Any] | None) -> float | None:
    """Mean response time of writes, µs."""
    return number(document, "host.write.latency_us.mean")


def _figure(context: Context, found: Ratios, what: str, name: str) -> None:
    frame = plots.Frame(f"Figure {name}: {what}, SFWS / LFWS", f"ratio of {what}")
    workloads = list(context.documents(LAYER_FIRST))
    draw_ratios(frame, {"SFWS / LFWS": found}, workloads, context.directory / f"fig{name}")


def _finding(found: Ratios, value: float | None) -> Finding:
    by_workload = ", ".join(f"{name} {found.ratio(name):.3f}" for name in found.over)
    if found.failed or value is None:
        return Finding(None, note=f"failed: {', '.join(found.failed)}")
    return Finding([value], note=by_workload)


def figure_5a(context: Context) -> dict[str, Finding]:
    """Pages copied per collection; the paper compares the mean of the reductions."""
    found = context.pair(copies_per_collection)
    _figure(context, found, "pages copied per collection", "5a")
    return {"fig5a_copies_per_gc": _finding(found, found.means().arithmetic)}


def figure_5b(context: Context) -> dict[str, Finding]:
    """All pages copied, summed over the workloads."""
    found = context.pair(copied_pages)
    _figure(context, found, "pages copied", "5b")
    return {"fig5b_total_copied": _finding(found, found.means().of_means)}


def figure_5c(context: Context) -> dict[str, Finding]:
    """Mean response time."""
    found = context.pair(response)
    _figure(context, found, "mean response time", "5c")
    return {"fig5c_response": _finding(found, found.means().arithmetic)}


def figure_steady(context: Context) -> dict[str, Finding]:
    """Copies in a steady state by over-provisioning: beside Figure 5, no row of the scoreboard."""
    shares = sorted({float(o.job.varied[OP]) for name, o in context.runs if name == f"steady-{LAYER_FIRST}"})
    total = [context.pair(copied_pages, "steady-", op=op).means().of_means for op in shares]
    each = [context.pair(copies_per_collection, "steady-", op=op).means().arithmetic for op in shares]
    columns = ["over-provisioning", "pages copied, SFWS / LFWS", "pages copied per collection, SFWS / LFWS"]
    rows = [list(row) for row in zip(shares, total, each, strict=True)]
    write_csv(context.directory / "steady.csv", columns, rows)
    bars = {"all pages copied": total, "per collection": each}
    frame = plots.Frame("Steady state: copies, SFWS / LFWS", "ratio", (1.0, "no change"))
    groups = [f"OP {share:.0%}" for share in shares]
    plots.grouped_bars(frame, plots.Bars(groups, bars), context.directory / "steady")
    return {}


#: Figures over runs: figure → function of the context.
FIGURES: dict[str, Callable[[Context], dict[str, Finding]]] = {
    "5a": figure_5a,
    "5b": figure_5b,
    "5c": figure_5c,
    "steady": figure_steady,
}
