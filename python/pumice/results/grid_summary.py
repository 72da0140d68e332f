"""The runs of a grid, a row a combination of the varied keys: means over seeds with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pumice.analysis.statistics import Summary, summary
from pumice.results.comparison import METRICS, Metric, scale_of
from pumice.results.comparison import value_text as mean_text
from pumice.results.document import number

#: Rows of a comparison that a study is first read by; the terminal shows these.
FIRST = (
    "host.write.latency_us.mean", "host.write.latency_us.p99", "host.read.latency_us.p99", "host.service_iops",
    "write_amplification", "wear.aep",
)  # fmt: skip

#: What says nothing of the device.
_OF_THE_MACHINE = ("run.wall_s",)


@dataclass(frozen=True)
class Run:
    """One run of a grid.

    Attributes:
        label: its name.
        varied: value of each varied key.
        document: its result; None if it failed.
        error: why it failed.
    """

    label: str
    varied: Mapping[str, Any]
    document: Mapping[str, Any] | None
    error: str | None = None


@dataclass(frozen=True)
class Point:
    """A combination of the varied keys, and its runs, one a seed. Those that failed have no document here."""

    varied: Mapping[str, Any]
    documents: Sequence[Mapping[str, Any]]
    failed: int

    def name(self) -> str:
        """The varied keys with their values."""
        return ", ".join(f"{key} = {value_text(value)}" for key, value in self.varied.items())

    def value(self, metric: Metric) -> Summary | None:
        """Mean and interval of a metric over the seeds; None without a value."""
        values = [value for one in self.documents if (value := number(one, metric.path)) is not None]
        return summary(values) if values else None


def points(runs: Sequence[Run]) -> list[Point]:
    """The combinations in the order in which they were run."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(repr(sorted(run.varied.items(), key=lambda pair: pair[0])), []).append(run)
    return [
        Point(
            own[0].varied,
            [run.document for run in own if run.document is not None],
            sum(run.document is None for run in own),
        )
        for own in groups.values()
    ]


def keys(found: Sequence[Point]) -> list[str]:
    """The keys that vary, in order; one that has the same value everywhere is left out."""
    named = dict.fromkeys(key for point in found for key in point.varied)
    return [key for key in named if len({repr(point.varied.get(key)) for point in found}) > 1] or list(named)


#: The metrics of the device, and those that a study is first read by.
OF_DEVICE = tuple(metric for metric in METRICS if metric.path not in _OF_THE_MACHINE)
FIRST_METRICS = tuple(metric for metric in METRICS if metric.path in FIRST)


def table(found: Sequence[Point], metrics: Sequence[Metric] = OF_DEVICE) -> tuple[list[str], list[list[str]]]:
    """Head and rows as they are shown: the varied keys, then the metrics with their units that some combination has a
    value of."""
    named = keys(found)
    head, columns = list(named), [[value_text(point.varied.get(key)) for point in found] for key in named]
    for metric in metrics:
        values = [point.value(metric) for point in found]
        means = [value.mean for value in values if value is not None]
        if means:
            scale = scale_of(metric, means)
            head.append(f"{metric.label}, {scale.unit}" if scale.unit else metric.label)
            columns.append([mean_text(scale, value) for value in values])
    return head, [list(row) for row in zip(*columns, strict=True)]


def value_text(value: Any) -> str:
    """The value of a varied key as it is shown."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)
