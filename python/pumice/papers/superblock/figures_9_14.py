"""Figures 9 to 14 of the superblock FTL (EMSOFT'06).

The superblock FTL is drawn twice: the paper's full merge read by its words (`copy`, judged by the
scoreboard), and read as leaving D-blocks alone that hold nothing invalid (`keep`, in the notes).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pumice.analysis import plots
from pumice.papers.context import Context, FigureOf, falling
from pumice.papers.ratios import Ratios, ratios, write_csv
from pumice.papers.scoreboard import Finding
from pumice.results.document import lookup, number

KIND, READING = "ftl.kind", "ftl.superblock.valid_blocks"
U_BLOCKS, SIZE, ENTRIES = "ftl.u_blocks", "ftl.superblock.logical", "ftl.map_cache_entries"

#: The workload of figures 10 to 14.
PC = "pc"

#: Parts of the overhead, as the result document names them.
PARTS = ("map", "copy", "erase")
MERGES = ("switch", "partial", "full", "dead")

#: U-blocks from which on the paper has the superblock FTL below FAST.
BELOW_FAST_FROM = 256


LOG, FAST, COPY, KEEP = "log block", "FAST", "superblock", "superblock, keep"

#: FTLs in the figures: name → what picks its runs.
FTLS: dict[str, dict[str, str]] = {
    LOG: {KIND: "log-block", READING: "copy"},
    FAST: {KIND: "fast", READING: "copy"},
    COPY: {KIND: "superblock-2006", READING: "copy"},
    KEEP: {KIND: "superblock-2006", READING: "keep"},
}

#: A number of a run's document, or None if it has none.
Quantity = Callable[[dict[str, Any] | None], float | None]


def overhead(document: dict[str, Any] | None) -> float | None:
    """Time of garbage collection, seconds: map, copies and erases."""
    parts = [number(document, f"gc.time_us.{part}") for part in PARTS]
    return None if None in parts else sum(part for part in parts if part is not None) / 1e6


def _seconds(part: str) -> Quantity:
    def of(document: dict[str, Any] | None) -> float | None:
        found = number(document, f"gc.time_us.{part}")
        return None if found is None else found / 1e6

    return of


def _copied(document: dict[str, Any] | None) -> float | None:
    return number(document, "gc.copied_pages")


def _by_workload(context: Context, name: str, quantity: Quantity) -> dict[str, float | None]:
    """A quantity of one FTL in every workload of figure 9."""
    documents = context.runs.find("overall", FTLS[name])
    return {workload: quantity(document) for workload, document in documents.items()}


def figure_9(context: Context) -> dict[str, Finding]:
    """Overhead by part, and pages copied, of every FTL in every workload."""
    seconds = {name: {part: _by_workload(context, name, _seconds(part)) for part in PARTS} for name in FTLS}
    copied = {name: _by_workload(context, name, _copied) for name in FTLS}
    workloads = list(copied[LOG])
    rows = [
        [load, name, *(seconds[name][part][load] for part in PARTS), copied[name][load]]
        for load in workloads
        for name in FTLS
    ]
    columns = ["workload", "FTL", *(f"{part}, s" for part in PARTS), "pages copied"]
    write_csv(context.directory / "fig9.csv", columns, rows)
    panels = {
        load: plots.Bars(
            ["log", "FAST", "SB", "SB keep"],
            {part: [seconds[name][part][load] for name in FTLS] for part in PARTS},
        )
        for load in workloads
    }
    title = "Figure 9: garbage collection overhead (SB: superblock FTL, two readings of its full merge)"
    plots.stacked_panels(plots.Frame(title, "seconds", digits=0), panels, context.directory / "fig9")
    _draw_copies(context, copied, workloads)
    return _judge_9(context)


def _draw_copies(context: Context, copied: Mapping[str, Mapping[str, float | None]], workloads: Sequence[str]) -> None:
    bars = {name: [_scaled(found[load], 1e6) for load in workloads] for name, found in copied.items()}
    write_csv(context.directory / "fig9-copies.csv", ["FTL", *workloads], [[n, *f.values()] for n, f in copied.items()])
    frame = plots.Frame("Figure 9: valid pages copied", "pages, millions", digits=2)
    plots.grouped_bars(frame, plots.Bars(workloads, bars), context.directory / "fig9-copies")


def _scaled(value: float | None, by: float) -> float | None:
    return None if value is None else value / by


def _judge_9(context: Context) -> dict[str, Finding]:
    def share(name: str) -> Ratios:
        return ratios(_by_workload(context, name, _seconds("map")), _by_workload(context, name, overhead))

    def to_fast(quantity: Quantity, name: str) -> Ratios:
        return ratios(_by_workload(context, name, quantity), _by_workload(context, FAST, quantity))

    return {
        "fig9_overhead": _extremes(to_fast(overhead, COPY), to_fast(overhead, KEEP)),
        "fig9_copies": _extremes(to_fast(_seconds("copy"), COPY), to_fast(_seconds("copy"), KEEP)),
        "fig9_map_share": _extremes(share(COPY), share(KEEP)),
    }


def _extremes(found: Ratios, keep: Ratios) -> Finding:
    """The least and the largest ratio of the workloads; none if a run failed."""
    note = f"{_listed(found)}; with keep: {_listed(keep)}"
    if found.failed or not found.over:
        return Finding(None, note=f"{note}; failed: {', '.join(found.failed)}")
    values = [value for load in found.over if (value := found.ratio(load)) is not None]
    return Finding([min(values), max(values)], note=note)


def _listed(found: Ratios) -> str:
    return ", ".join(f"{load} {found.ratio(load):.3f}" for load in found.over)


def _of_pc(context: Context, name: str) -> dict[str, Any] | None:
    return context.runs.find("overall", FTLS[name]).get(PC)


def figure_10(context: Context) -> dict[str, Finding]:
    """How full the U-blocks are that are reclaimed."""
    fills: dict[str, list[int] | None] = {name: lookup(_of_pc(context, name), "gc.victim_fill") for name in FTLS}
    below = {name: None if fill is None else _below(fill) for name, fill in fills.items()}
    edges = [10.0 * (place + 1) for place in range(10)]
    rows = [[f"below {edge:g} %", *(b[i] if b else None for b in below.values())] for i, edge in enumerate(edges)]
    full = {name: None if b is None else 1 - b[-1] for name, b in below.items()}
    write_csv(context.directory / "fig10.csv", ["pages written", *below], [*rows, ["all", *full.values()]])
    curves = [plots.Curve(name, edges, b) for name, b in below.items() if b is not None]
    frame = plots.Frame(
        "Figure 10: victim U-blocks by pages written (pc)", "share of victims written less",
        x_label="share of the block's pages written, %",
    )  # fmt: skip
    plots.lines(frame, curves, context.directory / "fig10", plots.Scale(ticks=edges))
    shares = [full[name] for name in (LOG, FAST, COPY)]
    if None in shares:
        return {"fig10_full_victims": Finding(None, note="a run failed")}
    known = [share for share in shares if share is not None]
    rises = all(a < b for a, b in itertools.pairwise(known))
    return {"fig10_full_victims": Finding(known, rises, f"with keep: {_shown(full[KEEP])}")}


def _below(fill: Sequence[int]) -> list[float]:
    """Share of victims below 10 %, 20 %, … 100 % written, from the document's histogram."""
    total = sum(fill) or 1
    return [sum(fill[: place + 1]) / total for place in range(len(fill) - 1)]


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def figure_11(context: Context) -> dict[str, Finding]:
    """Block erases by the merge that they belong to."""
    erases = {
        name: {merge: number(_of_pc(context, name), f"gc.erases_by_merge.{merge}.block") for merge in MERGES}
        for name in FTLS
    }
    write_csv(context.directory / "fig11.csv", ["FTL", *MERGES], [[n, *found.values()] for n, found in erases.items()])
    labels = {"dead": "no merge: nothing valid"}
    series = {
        labels.get(merge, f"{merge} merges"): [_scaled(found[merge], 1000) for found in erases.values()]
        for merge in MERGES
    }
    frame = plots.Frame("Figure 11: erases by merge (pc)", "block erases, thousands", digits=1)
    plots.stacked_bars(
        frame, plots.Bars([name.replace(", ", ",\n") for name in erases], series), context.directory / "fig11"
    )
    fast = erases[FAST]["switch"]
    if not fast or erases[COPY]["switch"] is None:
        return {"fig11_switch_erases": Finding(None, note="a run failed, or FAST has no switch merge")}
    by_name = {name: (found["switch"] or 0) / fast for name, found in erases.items()}
    full = {name: _shown(_scaled(found["full"], erases[FAST]["full"] or 1)) for name, found in erases.items()}
    note = (
        f"with keep {by_name[KEEP]:.2f}; erases in full merges, superblock / FAST: {full[COPY]}, with keep {full[KEEP]}"
    )
    return {"fig11_switch_erases": Finding([by_name[COPY]], note=note)}


def _swept(
    context: Context, study: str, varied: Mapping[str, Any], key: str, quantity: Quantity
) -> dict[float, float | None]:
    """A quantity of the workload `pc` by the value of what is swept, ascending."""
    values = context.runs.values(study, key)
    return {value: quantity(context.runs.find(study, {**varied, key: value}).get(PC)) for value in values}


def _draw_sweep(
    context: Context, frame: plots.Frame, series: Mapping[str, dict[float, float | None]], name: str, scale: plots.Scale
) -> None:
    x = list(next(iter(series.values())))
    curves = [plots.Curve(label, list(found), list(found.values())) for label, found in series.items()]
    plots.lines(frame, curves, context.directory / name, scale)
    rows = [[value, *(found.get(value) for found in series.values())] for value in x]
    write_csv(context.directory / f"{name}.csv", [frame.x_label or "", *series], rows)


def figure_12(context: Context) -> dict[str, Finding]:
    """Overhead by the number of U-blocks."""
    series = {name: _swept(context, "u-blocks", varied, U_BLOCKS, overhead) for name, varied in FTLS.items()}
    ticks = list(series[LOG])
    frame = plots.Frame("Figure 12: overhead by U-blocks (pc)", "seconds", x_label="U-blocks")
    _draw_sweep(context, frame, series, "fig12", plots.Scale(log_x=True, log_y=True, ticks=ticks))
    found = {name: ratios(_named(series[name]), _named(series[FAST])) for name in (COPY, KEEP)}
    to_fast = [found[COPY].ratio(f"{count:g}") for count in ticks]
    values = [ratio for ratio in to_fast if ratio is not None]
    note = f"superblock / FAST at {_listed(found[COPY])}; with keep {_listed(found[KEEP])}"
    if len(values) < len(ticks) or not ticks:
        return {"fig12_u_blocks": Finding(None, note=note)}
    rising = [name for name in (LOG, FAST, COPY) if not falling([v for v in series[name].values() if v is not None])]
    below = all(ratio < 1 for count, ratio in zip(ticks, values, strict=True) if count >= BELOW_FAST_FROM)
    note += f"; not falling throughout: {', '.join(rising)}" if rising else ""
    return {"fig12_u_blocks": Finding(values, not rising and below, note)}


def _named(values: Mapping[float, float | None]) -> dict[str, float | None]:
    return {f"{key:g}": value for key, value in values.items()}


def figure_13(context: Context) -> dict[str, Finding]:
    """Overhead by the size of the superblock, the map in RAM."""
    series = {name: _swept(context, "size", FTLS[name], SIZE, overhead) for name in (COPY, KEEP)}
    fast = overhead(context.runs.find("fast", {}).get(PC))
    frame = plots.Frame(
        "Figure 13: overhead by the size of the superblock (pc)", "seconds",
        None if fast is None else (fast, "FAST"), x_label="logical blocks of a superblock",
    )  # fmt: skip
    _draw_sweep(context, frame, series, "fig13", plots.Scale(log_x=True, ticks=list(series[COPY])))
    seconds = [value for value in series[COPY].values() if value is not None]
    if len(seconds) < len(series[COPY]) or not seconds:
        return {"fig13_size": Finding(None, note="a run failed")}
    holds = size_rule(series[COPY])
    relative = [value / seconds[0] for value in seconds]
    note = f"size 1 / FAST {_shown(None if not fast else seconds[0] / fast)}; with keep {_relative(series[KEEP])}"
    note += f" (the rule {'holds' if size_rule(series[KEEP]) else 'does not hold'})"
    return {"fig13_size": Finding(relative, holds, note)}


def _relative(found: Mapping[float, float | None]) -> str:
    first = next(iter(found.values()), None)
    return ", ".join(_shown(None if value is None or not first else value / first) for value in found.values())


def size_rule(by_size: Mapping[float, float | None]) -> bool:
    """Whether the overhead falls from size 1 to its least, and by more up to size 4 than from there on."""
    seconds = {size: value for size, value in by_size.items() if value is not None}
    best = min(seconds, key=lambda size: seconds[size], default=1)
    down = [value for size, value in seconds.items() if size <= best]
    if best == 1 or not falling(down):
        return False
    return seconds[1] - seconds[4] > seconds[4] - seconds[best]


def figure_14(context: Context) -> dict[str, Finding]:
    """Look-ups that the map cache answers, by its entries."""
    series = {name: _swept(context, "cache", FTLS[name], ENTRIES, _hit_ratio) for name in (COPY, KEEP)}
    frame = plots.Frame("Figure 14: the map cache (pc)", "share of look-ups answered", x_label="entries")
    scale = plots.Scale(log_x=True, ticks=list(series[COPY]), from_zero=False)
    _draw_sweep(context, frame, series, "fig14", scale)
    known = [value for value in series[COPY].values() if value is not None]
    if len(known) < len(series[COPY]) or not known:
        return {"fig14_hit_ratio": Finding(None, note="a run failed")}
    note = "with keep " + ", ".join(_shown(value) for value in series[KEEP].values())
    return {"fig14_hit_ratio": Finding([known[0], known[-1] - known[0]], note=note)}


def _hit_ratio(document: dict[str, Any] | None) -> float | None:
    hits, misses = (number(document, f"gc.map.{what}") for what in ("hits", "misses"))
    return None if hits is None or misses is None else hits / ((hits + misses) or 1)


#: Figures over runs: figure → function of the context.
FIGURES: dict[str, FigureOf] = {
    "9": figure_9,
    "10": figure_10,
    "11": figure_11,
    "12": figure_12,
    "13": figure_13,
    "14": figure_14,
}
