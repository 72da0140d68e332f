"""A timeline file, drawn: what dies and channels did in its window, a row each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pumice.analysis.plots.style import COLOURS, GREY
from pumice.errors import SpecError
from pumice.report.drawing import drawing
from pumice.report.parts import Figure, Numbers
from pumice.results.stored import read_json
from pumice.text import count

#: More events than this are not drawn, and more rows of dies.
EVENTS_MAX, DIES_MAX = 4_000, 24

#: Numbers of the processes in the file.
_REQUESTS, _DIES, _CHANNELS = 1, 2, 4

#: Colour of each kind of command; what garbage collection does is hatched.
KIND_COLOURS = {
    "read": COLOURS[4], "spare search": COLOURS[3], "program": COLOURS[0], "copy": COLOURS[2], "erase": COLOURS[5],
    "partial erase": COLOURS[1], "sub-block erase": COLOURS[6], "pause": GREY, "transfer": COLOURS[7],
}  # fmt: skip


def timeline_figure(path: Path, prefix: str) -> Figure | None:
    """The figure of a timeline file; None if its window is empty.

    Raises:
        SpecError: it cannot be read or is no timeline.
    """
    document = read_json(path)
    events = document.get("traceEvents") if isinstance(document, dict) else None
    about = document.get("otherData") if isinstance(document, dict) else None
    if not isinstance(events, list) or not isinstance(about, dict) or not {"from_us", "until_us"} <= about.keys():
        raise SpecError(f"{path}: no timeline; expected traceEvents and the window in otherData")
    window = (float(about["from_us"]), float(about["until_us"]))
    complete = [event for event in events if event.get("ph") == "X" and event.get("pid") in (_DIES, _CHANNELS)]
    begins = {event["id"]: event["ts"] for event in events if event.get("ph") == "b"}
    ends = {event["id"]: event["ts"] for event in events if event.get("ph") == "e"}
    if not complete:
        return None
    shown = _busiest(complete)
    left = ""
    if len(complete) > len(shown):
        left = f" Of {len(complete):,} commands and transfers {len(shown):,} are drawn, the first ones."
    svg = _draw(shown, window, prefix)
    counts: dict[str, tuple[int, float]] = {}
    for event in complete:
        number, time = counts.get(event["name"], (0, 0.0))
        counts[event["name"]] = (number + 1, time + float(event["dur"]))
    rows = [[name, f"{number:,}", f"{time:,.1f}"] for name, (number, time) in counts.items()]
    inside = sum(1 for name in begins if name in ends)
    return Figure(
        svg,
        "Timeline",
        f"What each die and channel did from {window[0] / 1e6:g} s to {window[1] / 1e6:g} s, while"
        f" {count(inside, 'request')} {'was' if inside == 1 else 'were'} under way. White is idle; hatched is garbage"
        " collection. ui.perfetto.dev opens the file timeline.json"
        f" beside this report, where one can zoom in.{left}",
        Numbers(["", "number", "time, µs"], rows, "Commands and transfers of the window"),
    )


def _busiest(events: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The events of the first dies and of all channels, the earliest first, as many as are drawn."""
    dies = sorted({event["tid"] for event in events if event["pid"] == _DIES})[:DIES_MAX]
    own = [event for event in events if event["pid"] == _CHANNELS or event["tid"] in dies]
    return sorted(own, key=lambda event: float(event["ts"]))[:EVENTS_MAX]


def _draw(events: Sequence[Mapping[str, Any]], window: tuple[float, float], prefix: str) -> str:
    from matplotlib.patches import Patch

    tracks = sorted({(event["pid"], event["tid"]) for event in events})
    names = [f"{'die' if process == _DIES else 'channel'} {thread}" for process, thread in tracks]
    rows = {track: row for row, track in enumerate(tracks)}
    kinds = [kind for kind in KIND_COLOURS if any(event["name"] == kind for event in events)]
    with drawing(1.5 + 0.26 * len(tracks)) as drawn:
        axes = drawn.figure.add_subplot()
        for kind in kinds:
            for collects in (False, True):
                own = [
                    event
                    for event in events
                    if event["name"] == kind and (event.get("cat") == "garbage collection") == collects
                ]
                axes.barh(
                    [rows[event["pid"], event["tid"]] for event in own],
                    [float(event["dur"]) / 1e3 for event in own], 0.78,
                    left=[float(event["ts"]) / 1e3 for event in own], color=KIND_COLOURS[kind],
                    edgecolor="#FFFFFF", linewidth=0.0, hatch="////" if collects else None,
                )  # fmt: skip
        axes.set_yticks(range(len(tracks)), names)
        axes.invert_yaxis()
        axes.grid(visible=False)
        axes.set_xlim(window[0] / 1e3, max(window[0] / 1e3 + 1e-6, _last(events, window)))
        axes.set_xlabel("simulated time, ms")
        patches = [Patch(color=KIND_COLOURS[kind], label=kind) for kind in kinds]
        axes.legend(handles=patches, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=4, frameon=False)
        return drawn.svg("Commands of each die and transfers of each channel over simulated time", prefix)


def _last(events: Sequence[Mapping[str, Any]], window: tuple[float, float]) -> float:
    """Where the axis ends, in milliseconds: with the last event, at most with the window."""
    return min(window[1], max(float(event["ts"]) + float(event["dur"]) for event in events)) / 1e3
