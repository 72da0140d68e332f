"""Latency over simulated time, in at most a few hundred windows, from a time series or a request log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pumice.errors import SpecError, one_line
from pumice.outputs import FILES
from pumice.results.document import number

#: Most windows that a page shows.
WINDOWS_MAX = 240


@dataclass(frozen=True)
class Window:
    """Requests that were done in a stretch of simulated time. Latencies are None without requests of the kind."""

    start_s: float
    length_s: float
    requests: int
    write_mean_us: float | None
    write_max_us: float | None
    read_mean_us: float | None
    read_max_us: float | None


def windows(document: Mapping[str, Any], directory: Path | None) -> list[Window]:
    """The windows of a run's time series; without one those of the request log in its directory; else none.

    Raises:
        SpecError: there is a request log that cannot be read.
    """
    series = document.get("time_series")
    step = number(document, "config.output.time_series_s")
    if isinstance(series, list) and series and step:
        return _of_series(series, step)
    log = directory / FILES["request_log"] if directory is not None else None
    return _of_log(log) if log is not None and log.is_file() else []


def _of_series(series: Sequence[Mapping[str, Any]], step: float) -> list[Window]:
    """Neighbouring windows joined until they are few enough."""
    first, last = series[0]["start_s"], series[-1]["start_s"]
    join = max(1, -(-round((last - first) / step + 1) // WINDOWS_MAX))
    groups: dict[int, list[Mapping[str, Any]]] = {}
    for entry in series:
        groups.setdefault(round((entry["start_s"] - first) / step) // join, []).append(entry)
    return [_joined(first + nth * join * step, join * step, entries) for nth, entries in groups.items()]


def _joined(start_s: float, length_s: float, entries: Sequence[Mapping[str, Any]]) -> Window:
    def mean(kind: str) -> float | None:
        done = sum(entry[f"{kind}s"] for entry in entries)
        total = sum(entry[f"{kind}s"] * (entry[f"{kind}_mean_us"] or 0.0) for entry in entries)
        return total / done if done else None

    def worst(kind: str) -> float | None:
        known = [entry[f"{kind}_max_us"] for entry in entries if entry[f"{kind}_max_us"] is not None]
        return max(known, default=None)

    requests = sum(entry[name] for entry in entries for name in ("reads", "writes", "trims", "flushes"))
    return Window(start_s, length_s, requests, mean("write"), worst("write"), mean("read"), worst("read"))


def _of_log(path: Path) -> list[Window]:
    import numpy as np
    import pyarrow.parquet as pq

    try:
        with open(path, "rb") as file:  # Arrow takes no name that is not UTF-8
            table = pq.read_table(file, columns=["done_ns", "kind", "latency_us"])
        done = table["done_ns"].to_numpy() / 1e9
        latency = table["latency_us"].to_numpy()
        kinds = np.array(table["kind"].to_pylist())
    except Exception as error:  # a damaged file: Arrow raises many kinds
        raise SpecError(f"{path}: no request log: {one_line(error)}") from None
    if not len(done) or done.max() <= done.min():
        return []
    edges = np.linspace(done.min(), done.max(), WINDOWS_MAX + 1)
    place = np.clip(np.searchsorted(edges, done, side="right") - 1, 0, WINDOWS_MAX - 1)
    length = float(edges[1] - edges[0])

    def figures(window: int, kind: str) -> tuple[float | None, float | None]:
        own = latency[(place == window) & (kinds == kind)]
        return (float(own.mean()), float(own.max())) if len(own) else (None, None)

    counts = np.bincount(place, minlength=WINDOWS_MAX)
    found = [
        Window(float(edges[nth]), length, int(counts[nth]), *figures(nth, "write"), *figures(nth, "read"))
        for nth in range(WINDOWS_MAX)
    ]
    return [window for window in found if window.requests]
