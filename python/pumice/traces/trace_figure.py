"""One figure that shows what a trace is like: heat, arrivals, footprint, sizes and sequential runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pumice.analysis.plots import COLOURS, GREY, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

READ, WRITE = COLOURS[0], COLOURS[1]
Bins = Sequence[Mapping[str, int]]


def trace_figure(info: Mapping[str, Any], title: str, path: Path) -> list[Path]:
    """Draws the `shape` of a trace's statistics. Writes `path`.png and `path`.svg.

    Args:
        info: what `pumice trace info --json` prints.
        title: name of the trace.
        path: where to write, without an ending.
    """
    shape, kinds = info["shape"], (("read", READ), ("write", WRITE))

    def draw(grid: Any) -> None:
        ((heat, arrivals, footprint), (sizes, runs, facts)) = grid
        _heat(heat, shape["hottest_percent_share"])
        _histogram(arrivals, [("", GREY, shape["interarrival_ns"])], 1e3)
        arrivals.set(title="Inter-arrival times", xlabel="µs", ylabel="share of requests")
        _footprint(footprint, shape["footprint"])
        _histogram(sizes, [(kind, colour, shape[f"{kind}_bytes"]) for kind, colour in kinds], 1024)
        sizes.set(title="Request sizes", xlabel="KiB", ylabel="share of the kind")
        _histogram(runs, [(kind, colour, shape[f"{kind}_runs"]) for kind, colour in kinds], 1)
        runs.set(title="Sequential runs", xlabel="requests in the run", ylabel="share of the kind")
        _facts(facts, info, title)

    return panels(draw, path)


def _heat(axes: Axes, share: Sequence[float]) -> None:
    """Share of the page writes over the share of the written pages, hottest first."""
    axes.set(title="Heat of writes", xlabel="hottest pages, % of those written", ylabel="share of page writes, %")
    axes.set_xlim(0, 100)
    axes.set_ylim(0, 102)
    if not share:
        _nothing(axes, "no writes")
        return
    axes.plot([0, 100], [0, 100], color=GREY, linewidth=0.8, linestyle=(0, (4, 3)))
    axes.plot(range(len(share)), [100 * value for value in share], color=WRITE, linewidth=1.8)
    for percent in (1, 10, 20):
        level = 100 * share[percent]
        axes.plot([percent], [level], color=WRITE, marker="o", markersize=4)
        axes.annotate(
            f"{percent} % take {level:.0f} %",
            (percent, level),
            xytext=(6, -8),
            textcoords="offset points",
            fontsize=7.5,
        )


def _histogram(axes: Axes, series: Sequence[tuple[str, str, Bins]], unit: float) -> None:
    """Shares of powers of two, as steps; the bin of 0 is drawn left of all others."""
    from matplotlib.ticker import FuncFormatter, NullLocator

    axes.set_xscale("log", base=10 if unit == 1e3 else 2)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    drawn = [(name, colour, bins) for name, colour, bins in series if bins]
    for place, (name, colour, bins) in enumerate(drawn):
        total = sum(step["count"] for step in bins)
        lows = [max(step["from"], 0.5) / unit for step in bins]
        shares = [step["count"] / total for step in bins]
        axes.stairs(shares, [*lows, 2 * lows[-1]], fill=True, color=colour, alpha=0.25)
        axes.stairs(shares, [*lows, 2 * lows[-1]], color=colour, linewidth=1.4)
        axes.annotate(
            name, (1, 1), xycoords="axes fraction", xytext=(0, -11 * place), textcoords="offset points",
            color=colour, fontweight="bold", ha="right", va="top",
        )  # fmt: skip
    if drawn:
        axes.set_ylim(0, 1.15 * axes.dataLim.y1)
    else:
        _nothing(axes, "too few requests")


def _footprint(axes: Axes, samples: Sequence[Mapping[str, float]]) -> None:
    """Distinct bytes touched over time."""
    largest = max((sample[f"{kind}_bytes"] for sample in samples for kind in ("read", "written")), default=0)
    unit, name = (2**30, "GiB") if largest >= 2**30 else (2**20, "MiB")
    axes.set(title="Footprint", xlabel="hours", ylabel=f"distinct {name} touched")
    hours = [sample["at_s"] / 3600 for sample in samples]
    if hours and hours[-1] < 0.1:
        axes.set_xlabel("seconds")
        hours = [sample["at_s"] for sample in samples]
    for kind, colour in (("read", READ), ("written", WRITE)):
        touched = [sample[f"{kind}_bytes"] / unit for sample in samples]
        if touched and touched[-1] > 0:
            axes.plot(hours, touched, color=colour, linewidth=1.8)
            axes.annotate(
                kind, (hours[-1], touched[-1]), xytext=(-3, 4), textcoords="offset points",
                color=colour, fontweight="bold", ha="right",
            )  # fmt: skip
    axes.set_ylim(bottom=0)


def _facts(axes: Axes, info: Mapping[str, Any], title: str) -> None:
    """What does not need a curve."""
    axes.axis("off")
    lines = [title, ""]
    for kind in ("read", "write"):
        part = info[kind]
        if part["requests"]:
            lines += [
                f"{kind}s  {part['requests']:,}, {_size(part['bytes'])}",
                f"   {_size(part['footprint']['bytes'])} distinct, {100 * part['sequential_share']:.0f} % sequential",
            ]
    if info["trim"]["requests"]:
        lines.append(f"trims  {info['trim']['requests']:,}, {_size(info['trim']['bytes'])}")
    if info["flushes"] or info["fua_writes"]:
        lines.append(f"flushes  {info['flushes']:,}, writes with FUA {info['fua_writes']:,}")
    if len(info["writes_by_stream"]) > 1:
        lines.append(f"writes by stream  {', '.join(f'{writes:,}' for writes in info['writes_by_stream'])}")
    lines.append(f"span  {_time(info['span_us'] / 1e6)}")
    if info["interarrival_mean_us"] is not None:
        variation = info["interarrival_cv"]
        tail = "" if variation is None else f", variation {variation:.2f}"
        lines.append(f"inter-arrival  {_time(info['interarrival_mean_us'] / 1e6)}{tail}")
    if info["overwrite_factor"] is not None:
        lines.append(f"each byte written is written {info['overwrite_factor']:.2f} times")
    for place, line in enumerate(lines):
        axes.text(
            0, 1 - 0.1 * place, line, transform=axes.transAxes, va="top", fontsize=8.5,
            fontweight="bold" if place == 0 else "normal",
        )  # fmt: skip


def _nothing(axes: Axes, text: str) -> None:
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=GREY)


def _size(count: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:,.4g} {unit}"
        count /= 1024
    return f"{count:,.4g} GiB"


def _time(seconds: float) -> str:
    for limit, factor, unit in ((1e-3, 1e6, "µs"), (1.0, 1e3, "ms"), (600.0, 1.0, "s")):
        if seconds < limit:
            return f"{seconds * factor:,.3g} {unit}"
    return f"{seconds / 3600:,.3g} h"
