"""Specs: which device, workload and run. The engine alone knows the keys and checks the values."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from pumice import _engine
from pumice.errors import SpecError

#: Keys of `with_` and of sweeps that the engine's spec does not have.
SPECIAL_KEYS = ("preset", "scale")

#: A value of a spec key.
Value = bool | int | float | str | list[Any] | tuple[Any, ...]


def toml_text(value: Value) -> str:
    """`value` as TOML text.

    Raises:
        SpecError: a spec has no values of this type.
    """
    import tomlkit  # loaded here: most commands write no TOML, and start sooner without it

    plain = _plain(value)
    try:
        if isinstance(plain, bool | int | float | str | list):
            return tomlkit.item(plain).as_string()
    except ValueError:
        pass  # a list that holds something else
    raise SpecError(f"a spec value must be a truth value, number, text or list, not {type(value).__name__}")


def _plain(value: Any) -> Any:
    """`value` with tuples as lists and scalars of numpy as Python's own."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.item() if hasattr(value, "item") else value


@dataclass(frozen=True)
class Spec:
    """A spec before the engine has resolved it: layers that override one another from left to right.

    Attributes:
        preset: preset to start from, or None.
        text: TOML text laid over it, or None; its line numbers appear in messages under `name`.
        name: name of `text` in messages.
        sets: `(key, value as TOML text)` pairs laid over both, later ones winning.
        scale: share of the study to run (1 is all of it); None leaves it at 1.
    """

    preset: str | None = None
    text: str | None = None
    name: str | None = None
    sets: tuple[tuple[str, str], ...] = ()
    scale: float | None = None

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Self:
        """Reads a TOML spec.

        Raises:
            SpecError: the file cannot be read; its content is checked when the spec is resolved.
        """
        return cls(text=read_text(Path(path)), name=os.fspath(path))

    def with_(self, **sections: Mapping[str, Any] | Value) -> Self:
        """This spec with keys overridden: `with_(ftl={"merge": "m-merge"}, seed=7)`.

        Raises:
            SpecError: an unknown key or section; values are checked when the spec is resolved or run, because
                what is allowed may depend on keys that are set later.
        """
        pairs = _pairs(sections)
        for key, _ in pairs:
            if key not in SPECIAL_KEYS:
                _engine.explain(key)
        return self.with_sets(pairs)

    def with_sets(self, pairs: list[tuple[str, str]]) -> Self:
        """This spec with `(key, TOML text)` pairs laid over it. `preset` and `scale` are keys here too."""
        spec = self
        for key, text in pairs:
            bare = text.strip().strip("\"'")
            if key == "preset":
                spec = replace(spec, preset=bare)
            elif key == "scale":
                spec = replace(spec, scale=parse_scale(bare))
            else:
                spec = replace(spec, sets=(*spec.sets, (key, text)))
        return spec

    def with_fio_job(self, job: str) -> Self:
        """This spec with the workload and the queue depth of a job in fio's words.

        Args:
            job: `key=value` settings, one a line or several between blanks, such as
                `rw=randwrite bs=16k iodepth=32`; see docs/WORKLOADS.md for what is understood.

        Raises:
            SpecError: a key or value that is not understood.
        """
        return self.with_sets([(key, text) for key, text in json.loads(_engine.fio_job_settings(job))])

    def request(self) -> str:
        """The JSON request that the engine takes."""
        fields = {
            "spec_text": self.text,
            "spec_name": self.name,
            "preset": self.preset,
            "sets": [list(pair) for pair in self.sets],
            "scale": self.scale,
        }
        return json.dumps(fields)

    def resolve(self) -> dict[str, Any]:
        """Every key with its final value, under `config`, beside `config_sha256` and `scale`; `without_effect`
        has a line for each key that is set here, not by the preset, and that the run does not read.

        Raises:
            SpecError: an unknown key, a value outside its range, or values that exclude each other.
        """
        resolved: dict[str, Any] = json.loads(_engine.resolve(self.request()))
        return resolved


def _pairs(section: Mapping[str, Any], path: str = "") -> list[tuple[str, str]]:
    """`(key, TOML text)` of everything in a section and in the sections inside it."""
    pairs: list[tuple[str, str]] = []
    for key, content in section.items():
        if isinstance(content, Mapping) and content:
            pairs += _pairs(content, f"{path}{key}.")
        else:
            pairs.append((f"{path}{key}", toml_text(content)))
    return pairs


def check_spec(spec: Any) -> Spec:
    """`spec`, if it is one.

    Raises:
        SpecError: it is something else; the text says how to make a spec.
    """
    if isinstance(spec, Spec):
        return spec
    found = repr(spec) if len(repr(spec)) <= 40 else f"something of type {type(spec).__name__}"
    raise SpecError(f"{found} is no spec; pumice.preset(NAME) and pumice.Spec.from_file(PATH) give one")


def preset(name: str) -> Spec:
    """The preset `name` (see `presets()`).

    Raises:
        SpecError: there is none of that name.
    """
    if not isinstance(name, str):
        raise SpecError(f"preset {name!r} is unknown; allowed: {', '.join(_engine.presets())}")
    _engine.preset_toml(name)
    return Spec(preset=name)


def presets() -> list[str]:
    """Names of the presets."""
    return list(_engine.presets())


def workloads() -> list[dict[str, Any]]:
    """The workloads that `workload.kind` accepts: `name`, `about` and the published facts each meets."""
    found: list[dict[str, Any]] = json.loads(_engine.workloads())
    return found


def read_text(path: Path) -> str:
    """Content of a UTF-8 file; `SpecError` in one line if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise SpecError(f"{path}: not UTF-8 text (byte {error.start})") from None
    except OSError as error:
        hint = f"; the preset of that name is `--preset {path}`" if str(path) in _engine.presets() else ""
        raise SpecError(f"{path}: {(error.strerror or 'cannot be read').lower()}{hint}") from None


def parse_scale(text: str) -> float:
    """A scale factor; the engine checks which of them give a whole device."""
    allowed = "allowed: a number above 0 and at most 1"
    try:
        scale = float(text)
    except ValueError:
        raise SpecError(f"scale: {text!r} is no number; {allowed}") from None
    if not 0 < scale <= 1:
        raise SpecError(f"scale = {text} is not allowed; {allowed}")
    return scale
