"""Figures 2, 3 and 5 of SFWS (GLSVLSI'24), and what stands beside Figure 5: the steady state, sub-blocks
erased apart, ways of collecting, and the price in reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pumice.analysis import plots
from pumice.papers.ratios import Ratios, draw_ratios, ratios, write_csv
from pumice.papers.scoreboard import Finding
from pumice.papers.sfws.figures_2_3 import figure_2, figure_3
from pumice.papers.sfws.price import draw_price
from pumice.results.document import number
from pumice.runs.batch import Outcome

LAYER_FIRST, SUB_BLOCK_FIRST = "lfws", "sfws"
OP, MODE = "ftl.over_provisioning", "ftl.gc_mode"

#: A number of a run's document, or None if it has none.
Quantity = Callable[[dict[str, Any] | None], float | None]

#: Varied keys and their values.
Varied = Mapping[str, Any]

#: Figures that need no run: figure → function of the directory to draw in.
EXAMPLES: dict[str, Callable[[Path], dict[str, Finding]]] = {"2": figure_2, "3": figure_3}


@dataclass(frozen=True)
class Context:
    """What a figure is made from: the runs by study, the directory to draw in, and whether all of it ran."""

    runs: Sequence[tuple[str, Outcome]]
    directory: Path
    full_scale: bool

    def values(self, quantity: Quantity, study: str, varied: Varied | None = None) -> dict[str, float | None]:
        """A quantity of every workload of a study, in the runs with these varied values."""
        wanted = (varied or {}).items()
        return {
            str(outcome.job.varied["workload.kind"]): quantity(outcome.document)
            for name, outcome in self.runs
            if name == study and all(outcome.job.varied[key] == value for key, value in wanted)
        }

    def pair(self, quantity: Quantity, study: str = "", varied: Varied | None = None) -> Ratios:
        """A quantity of every workload, sub-block first over layer first."""
        over, under = (self.values(quantity, f"{study}{order}", varied) for order in (SUB_BLOCK_FIRST, LAYER_FIRST))
        return ratios(over, under)


def copies_per_collection(document: dict[str, Any] | None) -> float | None:
    """Pages copied for each erase."""
    copied, collections = copied_pages(document), erases(document)
    return copied / collections if copied is not None and collections else None


def copied_pages(document: dict[str, Any] | None) -> float | None:
    """All pages copied."""
    return number(document, "gc.copied_pages")


def response(document: dict[str, Any] | None) -> float | None:
    """Mean response time of writes, µs."""
    return number(document, "host.write.latency_us.mean")


def erases(document: dict[str, Any] | None) -> float | None:
    """Erase operations."""
    found = [number(document, f"flash.erases.{unit}") for unit in ("block", "sub_block")]
    return None if document is None else sum(count for count in found if count is not None)


#: What is compared of devices: words → quantity.
QUANTITIES: dict[str, Quantity] = {
    "pages copied": copied_pages,
    "erase operations": erases,
    "pages copied per erase": copies_per_collection,
    "mean response time, µs": response,
}


def _figure(context: Context, found: Ratios, what: str, name: str) -> None:
    frame = plots.Frame(f"Figure {name}: {what}, SFWS / LFWS", f"ratio of {what}")
    workloads = list(context.values(copied_pages, LAYER_FIRST))
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
    return {"fig5c_response": _finding(found, found.means().arithmetic)} if context.full_scale else {}


def figure_steady(context: Context) -> dict[str, Finding]:
    """Copies in a steady state by over-provisioning: beside Figure 5, no row of the scoreboard."""
    shares = sorted({float(o.job.varied[OP]) for name, o in context.runs if name == f"steady-{LAYER_FIRST}"})
    total = [context.pair(copied_pages, "steady-", {OP: share}).means().of_means for share in shares]
    each = [context.pair(copies_per_collection, "steady-", {OP: share}).means().arithmetic for share in shares]
    columns = ["over-provisioning", "pages copied, SFWS / LFWS", "pages copied per collection, SFWS / LFWS"]
    rows = [list(row) for row in zip(shares, total, each, strict=True)]
    write_csv(context.directory / "steady.csv", columns, rows)
    bars = {"all pages copied": total, "per collection": each}
    frame = plots.Frame("Steady state: copies, SFWS / LFWS", "ratio", (1.0, "no change"))
    groups = [f"OP {share:.0%}" for share in shares]
    plots.grouped_bars(frame, plots.Bars(groups, bars), context.directory / "steady")
    return {}


def figure_sub_blocks(context: Context) -> dict[str, Finding]:
    """Blocks of 512 pages erased by their sub-blocks, both orders, beside the two devices of Figure 5."""
    blocking = {MODE: "blocking"}
    devices: dict[str, tuple[str, Varied]] = {
        "LFWS, 512-page blocks": (f"modes-{LAYER_FIRST}", blocking),
        "SFWS, 32-page blocks": (f"modes-{SUB_BLOCK_FIRST}", blocking),
        "LFWS, sub-blocks": ("sub-blocks", {"geometry.write_sequence": LAYER_FIRST}),
        "SFWS, sub-blocks": ("sub-blocks", {"geometry.write_sequence": SUB_BLOCK_FIRST}),
    }
    workloads = _workloads(context, f"modes-{LAYER_FIRST}")
    rows: list[list[Any]] = []
    for what, quantity in QUANTITIES.items():
        values = {name: context.values(quantity, study, varied) for name, (study, varied) in devices.items()}
        rows += [[what, name, *found.values()] for name, found in values.items()]
    write_csv(context.directory / "sub-blocks.csv", ["quantity", "device", *workloads], rows)
    copied = {name: context.values(copied_pages, study, varied) for name, (study, varied) in devices.items()}
    base = copied.pop("LFWS, 512-page blocks")
    bars = {name: [ratios(found, base).ratio(load) for load in workloads] for name, found in copied.items()}
    frame = plots.Frame("Pages copied, by what is erased", "ratio to LFWS, 512-page blocks", (1.0, "no change"))
    plots.grouped_bars(frame, plots.Bars(workloads, bars), context.directory / "sub-blocks")
    return {}


def figure_modes(context: Context) -> dict[str, Finding]:
    """Response time by the way of collecting."""
    modes = sorted({str(o.job.varied[MODE]) for name, o in context.runs if name == f"modes-{LAYER_FIRST}"})
    found = {mode: context.pair(response, "modes-", {MODE: mode}) for mode in modes}
    frame = plots.Frame("Mean response time by the way of collecting, SFWS / LFWS", "ratio of mean response times")
    draw_ratios(frame, found, _workloads(context, f"modes-{LAYER_FIRST}"), context.directory / "modes")
    return {}


def figure_price(context: Context) -> dict[str, Finding]:
    """Read latency and retries over P/E cycles, beside what is saved."""
    draw_price(context.runs, context.directory)
    return {}


def _workloads(context: Context, study: str) -> list[str]:
    return list(context.values(copied_pages, study))


#: Figures over runs: figure → function of the context.
FIGURES: dict[str, Callable[[Context], dict[str, Finding]]] = {
    "5a": figure_5a,
    "5b": figure_5b,
    "5c": figure_5c,
    "steady": figure_steady,
    "sub-blocks": figure_sub_blocks,
    "modes": figure_modes,
    "price": figure_price,
}
