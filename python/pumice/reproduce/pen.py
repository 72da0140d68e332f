"""Figures 12 and 13 of PEN (FAST'18): twelve workloads under a block-level FTL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pumice import plots
from pumice.document import number
from pumice.reproduce.experiment import Runs
from pumice.reproduce.figure import Ratios, describe, draw_ratios, ratios
from pumice.reproduce.pen_examples import figure_6, figure_10, figure_11
from pumice.reproduce.scoreboard import Finding

BASE, OURS = "block-erase", "m-merge"

#: Workloads that the paper names as gaining most.
GAIN_MOST = ("proj_1", "usr_1", "prn_1")

#: Worked examples: figure → function of the directory to draw in.
EXAMPLES: dict[str, Callable[[Path], dict[str, Finding]]] = {"6": figure_6, "10": figure_10, "11": figure_11}


@dataclass(frozen=True)
class Context:
    """What a figure is made from: the runs, the high-write set and the directory to draw in."""

    runs: Runs
    high_write: Sequence[str]
    directory: Path
    full_scale: bool

    def values(self, study: str, merge: str, path: str) -> dict[str, float | None]:
        """A field of every workload's run."""
        return {name: number(self.runs.document(study, name, merge), path) for name in self.runs.workloads()}


def figure_12a(context: Context) -> dict[str, Finding]:
    """Mean write latency, M-Merge / baseline."""
    path = "host.write.latency_us.mean"
    found = _pair(context, "open-loop", path)
    frame = plots.Frame("Figure 12a: mean write latency, M-Merge / baseline", "ratio of mean write latencies")
    draw_ratios(frame, {"M-Merge / baseline": found}, context.runs.workloads(), context.directory / "fig12a")
    findings = {"fig12a_latency_nftl": _mean_finding(context, found), "fig12a_order": _order(found)}
    if context.full_scale:
        findings["prn_1_merges"] = _merges(context, "prn_1")
    return findings


def figure_12b(context: Context) -> dict[str, Finding]:
    """IOPS with one request outstanding, M-Merge / baseline."""
    found = _pair(context, "closed-loop", "host.service_iops")
    frame = plots.Frame("Figure 12b: IOPS at queue depth 1, M-Merge / baseline", "ratio of IOPS")
    draw_ratios(frame, {"M-Merge / baseline": found}, context.runs.workloads(), context.directory / "fig12b")
    return {"fig12b_iops_nftl": _mean_finding(context, found)}


def figure_13a(context: Context) -> dict[str, Finding]:
    """Write amplification, baseline / M-Merge; the paper compares the means over workloads."""
    path = "write_amplification"
    found = ratios(context.values("open-loop", BASE, path), context.values("open-loop", OURS, path))
    frame = plots.Frame("Figure 13a: write amplification, baseline / M-Merge", "ratio of write amplification")
    draw_ratios(frame, {"baseline / M-Merge": found}, context.runs.workloads(), context.directory / "fig13a")
    value = None if found.failed else found.means().of_means
    return {"fig13a_waf_nftl": Finding(None if value is None else [value], note=describe(found, context.high_write))}


def figure_13b(context: Context) -> dict[str, Finding]:
    """Erases per page, M-Merge / baseline."""
    found = _pair(context, "open-loop", "wear.aep")
    frame = plots.Frame("Figure 13b: erases per page (AEP), M-Merge / baseline", "ratio of AEP")
    draw_ratios(frame, {"M-Merge / baseline": found}, context.runs.workloads(), context.directory / "fig13b")
    finding = _mean_finding(context, found)
    holds = finding.values is not None and finding.values[0] < 1
    return {"fig13b_aep": Finding(finding.values, holds, finding.note)}


def figure_13c(context: Context) -> dict[str, Finding]:
    """Variance of erases per page, M-Merge / baseline, at two wear limits."""
    under = context.values("open-loop", BASE, "wear.vep")
    tight = ratios(context.values("open-loop", OURS, "wear.vep"), under)
    loose = ratios(context.values("wear-limit-64", OURS, "wear.vep"), under)
    frame = plots.Frame("Figure 13c: variance of erases per page (VEP), M-Merge / baseline", "ratio of VEP", digits=1)
    draw_ratios(frame, {"W = 16": tight, "W = 64": loose}, context.runs.workloads(), context.directory / "fig13c")
    note = f"W = 16: {describe(tight, context.high_write)}; W = 64: {describe(loose, context.high_write)}"
    means = [tight.means().arithmetic, loose.means().arithmetic]
    values = [value for value in means if value is not None]
    if tight.failed or loose.failed or len(values) < 2:
        return {"fig13c_vep": Finding(None, note=note)}
    return {"fig13c_vep": Finding(values, values[0] < values[1], note)}


#: Figures over workloads: figure → function of the context.
FIGURES: dict[str, Callable[[Context], dict[str, Finding]]] = {
    "12a": figure_12a,
    "12b": figure_12b,
    "13a": figure_13a,
    "13b": figure_13b,
    "13c": figure_13c,
}


def _pair(context: Context, study: str, path: str) -> Ratios:
    return ratios(context.values(study, OURS, path), context.values(study, BASE, path))


def _mean_finding(context: Context, found: Ratios) -> Finding:
    """The arithmetic mean; no value if a run failed, since a mean over fewer workloads is another."""
    mean = None if found.failed else found.means().arithmetic
    return Finding(None if mean is None else [mean], note=describe(found, context.high_write))


def _order(found: Ratios) -> Finding:
    if found.failed:
        return Finding(None, note=f"failed: {', '.join(found.failed)}")
    by_gain = sorted(found.over, key=lambda name: found.ratio(name) or 0.0)
    places = [by_gain.index(name) + 1 for name in GAIN_MOST if name in by_gain]
    holds = len(places) == len(GAIN_MOST) and all(place <= 4 for place in places)
    lowest = ", ".join(f"{name} {found.ratio(name):.3f}" for name in by_gain[:5])
    return Finding([*places], holds, f"places of {', '.join(GAIN_MOST)}; lowest: {lowest}")


def _merges(context: Context, workload: str) -> Finding:
    merges = number(context.runs.document("open-loop", workload, BASE), "gc.invocations")
    return Finding(None if merges is None else [int(merges)])
