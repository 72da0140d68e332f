"""Every configuration of PEN on recorded traces: a table, no comparison with the paper.

The paper's traces cannot be shipped, so this takes the traces that a folder holds. They are replayed
unscaled on the whole device. A trace whose addresses lie beyond the device is packed onto pages one
after the other (`compact`), or folded (`wrap`) if even its footprint is larger than the device.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pumice import _engine
from pumice.analysis.plots import Frame
from pumice.errors import SpecError, TraceError, one_line, reason
from pumice.results.document import lookup, number
from pumice.runs.jobs import Job, Outcome
from pumice.runs.spec import preset
from pumice_papers.experiment import Experiment
from pumice_papers.figures import Drawing, PlannedStudy, figure
from pumice_papers.listing import Listing, Row
from pumice_papers.quantities import WAF, WRITE_LATENCY

#: Name of the table among the figures, and of its study.
TRACES = "traces"

#: FTL in the table → presets of its baseline and of its M-Merge.
DEVICES = {
    "NFTL": ("pen-1tb", "pen-1tb-m-merge"),
    "superblock 4:5": ("pen-superblock-4-5", "pen-superblock-4-5-m-merge"),
}

#: Share of the raw capacity that every device above offers its host, rounded down.
USER_SHARE = 0.9

COLUMNS = (
    "trace", "format", "requests", "addresses", "FTL", "write latency, µs: baseline", "M-Merge", "ratio",
    "write amplification: baseline", "M-Merge", "merges: baseline", "M-Merge", "corrupt pages", "note",
)  # fmt: skip


@dataclass(frozen=True)
class Recorded:
    """A trace file: its format, its number of requests and how its addresses are placed; or the error with
    which it cannot be read."""

    path: Path
    trace_format: str = ""
    requests: int = 0
    address: str = "exact"
    error: str | None = None


def recorded_traces(directory: Path) -> list[Recorded]:
    """Every file of a directory by name, without hidden files and texts (.md, .txt).

    Raises:
        SpecError: no such directory, or nothing in it can be read as a trace.
    """
    try:
        paths = sorted(path for path in directory.iterdir() if path.is_file() and not path.name.startswith("."))
    except OSError as error:
        raise SpecError(f"{directory}: {reason(error)}") from None
    config = preset("pen-1tb").resolve()["config"]
    found = [_recorded(path, _user_bytes(config)) for path in paths if path.suffix not in (".md", ".txt")]
    if all(trace.error is not None for trace in found):
        first = f"; the first, {found[0].error}" if found else ""
        raise SpecError(f"{directory}: holds no trace that can be read{first}")
    return found


@dataclass(frozen=True)
class TracePlan:
    """The traces of a folder, and their runs: each trace on each device."""

    traces: Sequence[Recorded]

    @property
    def jobs(self) -> list[Job]:
        """The runs; a trace that cannot be read has none."""
        return [
            Job(
                f"{trace.path.name}, {name}",
                preset(name).with_(workload={"kind": "trace", "path": str(trace.path), "address": trace.address}),
                {"trace": trace.path.name, "preset": name},
            )
            for trace in self.traces
            if trace.error is None
            for pair in DEVICES.values()
            for name in pair
        ]


def plan_traces(_experiment: Experiment, traces: Path | None, _directory: Path) -> TracePlan | None:
    """Plans the runs over a folder of traces; None without a folder.

    Raises:
        SpecError: as `recorded_traces`.
    """
    return None if traces is None else TracePlan(recorded_traces(traces))


@figure(
    frame=Frame("Recorded traces", ""),
    studies=(PlannedStudy(TRACES, plan_traces),),
)
def figure_traces(drawing: Drawing) -> Listing:
    """A line for each trace and FTL; a trace that cannot be read has one line that says why."""
    plan: TracePlan = drawing.plans[TRACES]
    by_run = {(o.job.varied["trace"], o.job.varied["preset"]): o for o in drawing.runs.outcomes(TRACES)}
    rows: list[Row] = []
    for trace in plan.traces:
        if trace.error is not None:
            rows.append([trace.path.name, *[None] * (len(COLUMNS) - 2), trace.error])
            continue
        for ftl, (base, ours) in DEVICES.items():
            pair = [by_run[trace.path.name, name] for name in (base, ours)]
            rows.append([trace.path.name, trace.trace_format, trace.requests, trace.address, ftl, *_cells(pair)])
    drawing.write_csv(COLUMNS, rows)
    return Listing(drawing.frame.title, COLUMNS, rows, left=5)


def _recorded(path: Path, user_bytes: float) -> Recorded:
    try:
        info = json.loads(_engine.trace_info(path))
    except (TraceError, SpecError) as error:
        return Recorded(path, error=one_line(error))
    footprint = sum(number(info, f"{kind}.footprint.bytes") or 0.0 for kind in ("read", "write"))
    address = "exact"
    if (number(info, "last_byte") or 0.0) >= user_bytes:
        address = "compact" if footprint < user_bytes else "wrap"
    return Recorded(path, str(lookup(info, "facts.format")), int(info["requests"]), address)


def _user_bytes(config: dict[str, Any]) -> float:
    sizes = ("channels", "chips_per_channel", "dies_per_chip", "planes_per_die", "blocks_per_plane", "pages_per_block")
    pages = 1
    for name in sizes:
        pages *= int(config["geometry"][name])
    return USER_SHARE * pages * int(config["geometry"]["page_bytes"])


def _cells(pair: Sequence[Outcome]) -> Row:
    documents = [outcome.document for outcome in pair]
    latency, waf, merges = (
        [number(document, path) for document in documents] for path in (WRITE_LATENCY, WAF, "gc.invocations")
    )
    ratio = latency[1] / latency[0] if latency[0] and latency[1] is not None else None
    corrupt = [number(document, "integrity.corrupt_pages") for document in documents]
    errors = [outcome.error for outcome in pair if outcome.error is not None]
    total = None if None in corrupt else sum(value or 0.0 for value in corrupt)
    return [*latency, ratio, *waf, *merges, total, errors[0] if errors else ""]
