"""A figure or table of one's own out of stored runs: any key or field over any other, by colour and by panel."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pumice.errors import SpecError
from pumice.outputs import COMPARISON, RESULT, RUNS, STORE
from pumice.results import comparison
from pumice.results.document import lookup
from pumice.results.fields import fields
from pumice.results.grid_summary import Run, value_text
from pumice.results.names import field_called
from pumice.results.result import read_result
from pumice.runs import run_list
from pumice.runs.keys import keys
from pumice.text import printable

#: What a comparison's variants vary, if they come from several files.
VARIANT = "variant"


@dataclass(frozen=True)
class Choice:
    """What a figure shows: each a varied key, another key of the spec, or a field of the result.

    Attributes:
        x: the x axis.
        y: the y axis; a number.
        colour: a curve for each of its values; None for one curve.
        panel: a panel for each of its values; None for one panel.
    """

    x: str
    y: str
    colour: str | None = None
    panel: str | None = None

    @property
    def names(self) -> list[str]:
        """What is shown, panels first."""
        return [name for name in (self.panel, self.colour, self.x, self.y) if name is not None]


@dataclass(frozen=True)
class Place:
    """A point of a figure: the runs that differ in their seed alone.

    Attributes:
        panel, colour: what it belongs to, as shown; empty where nothing is chosen.
        x: as the runs have it: a number, or a text.
        values: y of each run.
    """

    panel: str
    colour: str
    x: Any
    values: Sequence[float]

    @property
    def mean(self) -> float:
        """Mean of y over the runs."""
        return sum(self.values) / len(self.values)


def stored_runs(source: Path) -> list[Run]:
    """The runs with results in a directory that `run`, `compare` or `sweep` wrote, or in the store of a study.

    Raises:
        SpecError: it holds none, or they cannot be read.
    """
    if (source / RUNS).exists():
        return [run for run in run_list.read(source) if run.document is not None]
    if (source / COMPARISON).exists():
        variants = comparison.read(source)
        return [Run(one.label, {VARIANT: one.label}, document) for one in variants for document in one.documents]
    found = [source / RESULT] if (source / RESULT).exists() else sorted((source / STORE).glob("*.json"))
    if not found:
        raise SpecError(f"{source}: holds no results; expected what run, compare or sweep write")
    return [Run(file.stem, {}, read_result(file).document) for file in found]


def named(choice: Choice, runs: Sequence[Run]) -> Choice:
    """A choice with nicknames of fields replaced by the fields.

    Raises:
        SpecError: a name is nothing that a run has, or can mean several fields.
    """
    known = {key.path for key in keys()}
    had = {name for name in choice.names if any(value_of(run, name) is not None for run in runs)}
    path = {name: name if name in had else field_called(name, known) for name in choice.names}
    colour, panel = (name and path[name] for name in (choice.colour, choice.panel))
    return Choice(path[choice.x], path[choice.y], colour, panel)


def places(runs: Sequence[Run], choice: Choice) -> list[Place]:
    """The points of a figure, curve by curve in the order of the runs, each curve by ascending x.

    Raises:
        SpecError: no run has what is chosen, y is not a number, or one point would join runs of different specs.
    """
    found: dict[tuple[str, str, Any], list[tuple[str, float]]] = {}
    for run in runs:
        x, y = value_of(run, choice.x), value_of(run, choice.y)
        if x is None or y is None:
            continue
        if isinstance(y, bool) or not isinstance(y, int | float):
            raise SpecError(f"{choice.y} is {printable(str(y))}: the y axis needs a number")
        panel, colour = (
            "" if name is None else value_text(value_of(run, name)) for name in (choice.panel, choice.colour)
        )
        found.setdefault((panel, colour, x), []).append((config_text(run.document), float(y)))
    for name in choice.names:
        if all(value_of(run, name) is None for run in runs):
            raise SpecError(f"{name} is absent or null in every run")
    if not found:
        raise SpecError(f"no run has both {choice.x} and {choice.y}")
    for (panel, colour, x), of_place in found.items():
        _check_one_spec(of_place, ", ".join([*filter(None, (panel, colour)), value_text(x)]), runs)
    order = {curve: nth for nth, curve in enumerate(dict.fromkeys(key[:2] for key in found))}
    ascending = sorted(found, key=lambda key: (order[key[:2]], _rank(key[2])))
    return [Place(*key, [value for _, value in found[key]]) for key in ascending]


def value_of(run: Run, name: str) -> Any:
    """What a run has under a name: a varied key, a key of its spec, or a field of its result; None if it has none."""
    if name in run.varied:
        return run.varied[name]
    document: Mapping[str, Any] = run.document or {}
    for path in (f"config.{name}", name):
        value = lookup(document, path)
        if value is not None and not isinstance(value, Mapping | list):
            return value
    return None


def label(name: str) -> str:
    """A name with its unit, as an axis shows it: what comparisons call it, if they have it."""
    called = {metric.path: metric.label for metric in comparison.METRICS}.get(name, name)
    units = {key.path: key.unit for key in keys()} | {field.path: field.unit for field in fields()}
    unit = {"us": "µs"}.get(units.get(name, ""), units.get(name, ""))
    return f"{called}, {unit}" if unit else called


def config_text(document: Mapping[str, Any] | None) -> str:
    """The spec of a result without its seed, as text: equal for runs that differ in their seed alone."""
    config = lookup(document, "config") or {}
    return json.dumps({key: value for key, value in config.items() if key != "seed"}, sort_keys=True)


def _rank(x: Any) -> tuple[bool, Any]:
    """Numbers ascend; texts keep the order in which they come."""
    is_number = isinstance(x, int | float)
    return (not is_number, x if is_number else 0)


def _check_one_spec(of_place: Sequence[tuple[str, float]], where: str, runs: Sequence[Run]) -> None:
    if len({spec for spec, _ in of_place}) > 1:
        varied = sorted({key for run in runs for key in run.varied})
        raise SpecError(
            f"at {printable(where)} there are {len(of_place)} runs that differ in more than their seed; choose what"
            f" sets them apart by --colour or --panel: {', '.join(varied)}"
        )
