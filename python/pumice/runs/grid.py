"""Grids: every combination of the values of some keys, each repeated over seeds."""

from __future__ import annotations

import itertools
import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pumice.errors import SpecError
from pumice.runs.jobs import Job
from pumice.runs.spec import SPECIAL_KEYS, TRACE_KEY, Spec, check_keys, from_folder
from pumice.runs.values import Value, toml_text
from pumice.text import printable

#: Most runs of one batch, repetitions included.
RUNS_MAX = 100_000

#: Two numbers that users write for all between them.
_RANGE = re.compile(r"\s*(-?[\d.]+?)(?:\.\.|:)(-?[\d.]+)\s*")

#: Largest seed that the engine takes.
SEED_MAX = 2**63 - 1


@dataclass(frozen=True)
class Grid:
    """A base spec, the keys to vary over it, and how often each point is run.

    Attributes:
        base: spec of every run.
        vary: values of each varied key; every combination is run. Keys that change together share
            an entry: `"a.b, c.d": [[1, 2], [3, 4]]` gives a.b = 1 with c.d = 2, then 3 with 4.
        repeat: runs of each combination, with the seeds seed, seed + 1, …
        name: begins the label of every run.
        origin: where the varied values come from, as messages name it.
        text: the sweep file that it was read from; empty if it was made otherwise.
        folder: where relative paths of traces among the varied values start.
    """

    base: Spec
    vary: Mapping[str, Sequence[Value]]
    repeat: int = 1
    name: str = ""
    origin: str = "vary"
    text: str = ""
    folder: Path = Path()

    def points(self) -> list[dict[str, Value]]:
        """Every combination; the last key varies fastest."""
        choices = [[_together(entry, value) for value in values] for entry, values in self.vary.items()]
        return [
            {key: value for chosen in combination for key, value in chosen.items()}
            for combination in itertools.product(*choices)
        ]

    def groups(self) -> list[tuple[str, list[Job]]]:
        """Label and runs of each combination, one run a seed.

        Raises:
            SpecError: an unknown key, a key without values, seeds both varied and repeated, or too many runs.
        """
        check_vary(self.vary, [plugin.path for plugin in self.base.plugins])
        check_repeat(self.repeat)
        combinations = math.prod(len(values) for values in self.vary.values())
        if combinations * self.repeat > RUNS_MAX:
            times = f" x repeat = {self.repeat:,}" if self.repeat > 1 else ""
            raise SpecError(
                f"vary: {combinations:,} combinations{times} are {combinations * self.repeat:,} runs;"
                f" allowed: at most {RUNS_MAX:,}"
            )
        if self.repeat > 1 and any("seed" in keys_of(entry) for entry in self.vary):
            raise SpecError("repeat varies the seed, so `seed` cannot be varied as well")
        return [self._group(point) for point in self.points()]

    def jobs(self) -> list[Job]:
        """All runs in order, the repetitions of a combination one after the other; raises as `groups` does."""
        return [job for _, group in self.groups() for job in group]

    def _group(self, point: Mapping[str, Value]) -> tuple[str, list[Job]]:
        placed = {key: from_folder(value, self.folder) if key == TRACE_KEY else value for key, value in point.items()}
        spec = self.base.with_sets([(key, toml_text(key, value)) for key, value in placed.items()], self.origin)
        names = short_names(list(point))
        values = [f"{names[key]} = {_value_text(value)}" for key, value in point.items()]
        label = ", ".join([*filter(None, [self.name]), *values]) or "run"
        return label, repeated(spec, self.repeat, label, point)


def short_names(keys: Sequence[str]) -> dict[str, str]:
    """What varied keys are called in labels: the last part of a key (`max_splits`), or the section whose kind it is
    (`workload` of `workload.kind`); the whole key where two would be called the same."""
    short = {key: _short_name(key) for key in keys}
    return {key: name if list(short.values()).count(name) == 1 else key for key, name in short.items()}


def _short_name(key: str) -> str:
    section, _, last = key.rpartition(".")
    return section if last == "kind" and section else last


def _value_text(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value_text, value))}]"
    return printable(str(value))


def repeated(spec: Spec, repeat: int, label: str, varied: Mapping[str, Value] | None = None) -> list[Job]:
    """`repeat` jobs of one spec with the seeds seed, seed + 1, …

    Raises:
        SpecError: too few or too many runs, or seeds beyond the largest one.
    """
    check_repeat(repeat)
    varied = varied or {}
    if repeat == 1:
        return [Job(label, spec, varied)]
    try:
        first = int(spec.resolve()["config"].get("seed", 1))
    except SpecError:
        return [Job(label, spec, varied)]  # the batch reports the refusal, once
    if first + repeat - 1 > SEED_MAX:
        raise SpecError(
            f"seed = {first} with repeat = {repeat} goes beyond the largest seed; allowed: last seeds up to 2^63 - 1"
        )
    seeds = range(first, first + repeat)
    return [Job(f"{label}, seed {seed}", spec.with_(seed=seed), varied, seed) for seed in seeds]


def check_repeat(repeat: int) -> None:
    """Refuses a number of repetitions.

    Raises:
        SpecError: it is not a whole number, too small or too large.
    """
    if isinstance(repeat, bool) or not isinstance(repeat, int):
        raise SpecError(f"repeat: {printable(repr(repeat))} is not a whole number; allowed: from 1 to {RUNS_MAX:,}")
    if not 1 <= repeat <= RUNS_MAX:
        what = "too few" if repeat < 1 else "too many"
        raise SpecError(f"repeat: {repeat} is {what}; allowed: from 1 to {RUNS_MAX:,}")


def check_vary(vary: Mapping[str, Sequence[Value]], plugins: Sequence[str] = ()) -> None:
    """Refuses keys that neither the engine nor one of the plug-ins at these paths has, keys without values, values
    that do not fit their keys, and a value that is given twice: its run would count twice, as if chance had had no say
    in it.

    Raises:
        SpecError: one line that names the key.
    """
    check_keys((key for entry in vary for key in keys_of(entry) if key not in SPECIAL_KEYS), plugins)
    for entry, values in vary.items():
        keys = keys_of(entry)
        if not isinstance(values, Sequence) or isinstance(values, str):
            what = printable(repr(values)) if isinstance(values, str | int | float) else f"a {type(values).__name__}"
            raise SpecError(f"vary: {entry} has {what}; allowed: a list of values")
        if not values:
            raise SpecError(f"vary: {entry} has no values; allowed: one and more")
        _refuse_twice(entry, values)
        for value in values if len(keys) > 1 else []:
            if not isinstance(value, list | tuple) or len(value) != len(keys):
                raise SpecError(
                    f"vary: {entry} has {printable(str(value))}; allowed: a list of {len(keys)} values, one a key"
                )
    every = [key for entry in vary for key in keys_of(entry)]
    for key in every:
        if every.count(key) > 1:
            raise SpecError(f"vary: {key} is given twice")


def _refuse_twice(entry: str, values: Sequence[Value]) -> None:
    seen = set()
    for value in values:
        same = _comparable(tomllib.loads(f"value = {toml_text(entry, value)}")["value"])
        if same in seen:
            raise SpecError(f"vary: {entry} has {_value_text(value)} twice; allowed: each value once")
        seen.add(same)


def _comparable(value: Any) -> Any:
    """What is equal for equal values: 1 and 1.0 are, 1 and true are not."""
    return tuple(map(_comparable, value)) if isinstance(value, list) else (isinstance(value, bool), value)


def keys_of(entry: str) -> list[str]:
    """The keys of an entry of `vary`."""
    return [key.strip() for key in entry.split(",")]


def _together(entry: str, value: Value) -> dict[str, Value]:
    """The keys and values that one value of an entry sets."""
    keys = keys_of(entry)
    return dict(zip(keys, value, strict=True)) if len(keys) > 1 and isinstance(value, list | tuple) else {entry: value}


def parse_vary(text: str) -> tuple[str, list[Value]]:
    """`key=a,b,c` as a key and its values. Commas inside brackets and quotes do not part values.

    Raises:
        SpecError: no `=`, or no value.
    """
    key, equals, rest = text.partition("=")
    if not equals or not key.strip() or not rest.strip():
        raise SpecError(f"--vary '{printable(text)}': expected key=value,value,… such as ftl.merge=block-erase,m-merge")
    if ends := _RANGE.fullmatch(rest):
        raise SpecError(
            f"--vary '{printable(text)}': ranges are not read; expected each value: {key.strip()}={ends[1]},…,{ends[2]}"
        )
    return key.strip(), [parse_value(part) for part in _split(rest)]


def parse_value(text: str) -> Value:
    """A value written as TOML, or as a bare word."""
    try:
        value: Value = tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        # TOML has no .6 and no 6., but users write them.
        return float(text) if re.fullmatch(r"\s*[+-]?(\.\d+|\d+\.)\s*", text) else text.strip()
    return value


def _split(text: str) -> list[str]:
    parts, depth, quote = [""], 0, ""
    for sign in text:
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "\"'":
            quote = sign
        depth += {"[": 1, "]": -1}.get(sign, 0) if not quote else 0
        if sign == "," and depth == 0 and not quote:
            parts.append("")
        else:
            parts[-1] += sign
    return parts


def flatten(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """A nested table as `section.key` pairs."""
    flat: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat
