"""Specs: which device, workload and run. The engine alone knows the keys and checks the values."""

from __future__ import annotations

import functools
import itertools
import json
import os
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pumice import _engine, files
from pumice.errors import SpecError, nearest
from pumice.runs.values import DEPTH_MAX, Value, check_text, is_unicode, toml_text
from pumice.text import message, printable

if TYPE_CHECKING:
    from pumice.plugins import Plugin
    from pumice.policy import Policy

#: Keys of `with_` and of sweeps that the engine's spec does not have.
SPECIAL_KEYS = ("preset", "scale")

#: The key that names a trace file.
TRACE_KEY = "workload.path"

#: The list of flows; the keys of each are set one by one.
FLOWS = "workload.flow"

#: Longest spec file, in bytes.
SPEC_BYTES_MAX = 1 << 20

#: What a text must hold to be worth a look for keys of a sweep file.
_SWEEP_KEY = re.compile(r"^\s*\[?[\"']?(vary|scale|repeat)\b", re.MULTILINE)


def folder_of(path: Path) -> Path:
    """Where relative paths start that a spec file holds: at its folder. What is no regular file, such as a pipe, has
    none; there they start at the current directory."""
    return Path() if files.is_written_through(path) else path.parent


def from_folder(path: Any, folder: Path) -> Any:
    """The path of a trace that stands in a file of `folder`; what is not a text stays as it is, to be refused."""
    return os.path.join(folder, path) if isinstance(path, str) and path and folder != Path() else path


def check_key(key: str, plugins: Sequence[str | os.PathLike[str]] = ()) -> None:
    """Refuses a key that neither the engine nor one of the plug-ins at these paths has. Keys of a policy are checked
    when the spec is resolved.

    Raises:
        SpecError: one line with the nearest key.
    """
    if not is_unicode(key):
        raise SpecError(f"unknown key '{printable(key)}'")
    if key.startswith("policy."):
        return
    _engine.explain(key, plugins)


def check_keys(keys: Iterable[str], plugins: Sequence[str | os.PathLike[str]] = ()) -> None:
    """As `check_key`, of several keys.

    Raises:
        SpecError: one line for each wrong key.
    """
    refused = []
    for key in keys:
        try:
            check_key(key, plugins)
        except SpecError as error:
            refused.append(str(error))
    if refused:
        raise SpecError("\n".join(refused))


def _is_of_plugin(key: str) -> bool:
    """Whether a key can be one of a plug-in: `ftl.NAME.KEY`, where the engine itself has no section `ftl.NAME`."""
    parts = key.split(".")
    if len(parts) != 3 or parts[0] != "ftl":
        return False
    return parts[1] not in _schema()["properties"]["ftl"]["properties"]


@functools.cache
def _schema() -> dict[str, Any]:
    """JSON Schema of a spec without plug-ins; not to be changed."""
    schema: dict[str, Any] = json.loads(_engine.schema())
    return schema


@dataclass(frozen=True, repr=False)
class Spec:
    """A spec before the engine has resolved it: layers that override one another from left to right.

    Attributes:
        preset: preset to start from, or None.
        text: TOML text laid over it, or None; its line numbers appear in messages under `name`.
        name: name of `text` in messages.
        sets: `(key, value as TOML text)` pairs laid over both, later ones winning.
        origins: where each pair comes from, as messages name it: an option of the command line, or "" for a
            value that a program set.
        scale: share of the study to run (1 is all of it); None leaves it at 1.
        policy: a policy of the user's own (`pumice.policy`), or None.
        plugins: translation layers of the user's own that `ftl.kind` may name.
    """

    preset: str | None = None
    text: str | None = None
    name: str | None = None
    sets: tuple[tuple[str, str], ...] = ()
    origins: tuple[str, ...] = ()
    scale: float | None = None
    policy: Policy | None = None
    plugins: tuple[Plugin, ...] = ()

    def __repr__(self) -> str:
        """What it starts from and what it sets, in one line."""
        return f"Spec({', '.join(f'{key} = {value}' for key, value in facts(self))})"

    def _repr_html_(self) -> str:
        from pumice.results.notebook import spec_html  # loaded here: only notebooks need it

        return spec_html(facts(self))

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Self:
        """Reads a TOML spec. A relative `workload.path` in it starts at the file.

        Raises:
            SpecError: the file cannot be read; its content is checked when the spec is resolved.
        """
        name = printable(os.fsdecode(path))
        text = read_text(Path(os.fsdecode(path)))
        _refuse_sweep(name, text)
        return cls(text=text, name=name).with_trace_of(text, folder_of(Path(os.fsdecode(path))))

    def sets_nothing(self) -> bool:
        """Whether the file that this spec was read from is empty but for comments."""
        try:
            return self.text is not None and not tomllib.loads(self.text)
        except (tomllib.TOMLDecodeError, RecursionError):
            return False

    def with_trace_of(self, text: str, folder: Path) -> Self:
        """This spec with the trace that the TOML `text` of a file names, if it names one: a relative path starts at
        the file's folder. Text that is no TOML is left to the engine, which says what is wrong in which line."""
        if "path" not in text:
            return self
        try:
            content = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError):
            return self
        section = content.get("workload")
        section = section if isinstance(section, dict) else {}
        flows = section.get("flow")
        given = {TRACE_KEY: content.get(TRACE_KEY, section.get("path"))}
        for number, flow in enumerate(flows if isinstance(flows, list) else []):
            given[f"{FLOWS}[{number}].path"] = flow.get("path") if isinstance(flow, dict) else None
        found = {key: from_folder(path, folder) for key, path in given.items()}
        return self.with_sets([(key, toml_text(key, path)) for key, path in found.items() if path != given[key]])

    def with_(self, **sections: Mapping[str, Any] | Value) -> Self:
        """This spec with keys overridden: `with_(ftl={"merge": "m-merge"}, seed=7)`.

        Raises:
            SpecError: an unknown key or section; values are checked when the spec is resolved or run, because
                what is allowed may depend on keys that are set later. Keys of a plug-in that is not given yet are
                checked then as well.
        """
        pairs = _pairs(sections)
        known_here = [key for key, _ in pairs if key not in SPECIAL_KEYS and (self.plugins or not _is_of_plugin(key))]
        check_keys(known_here, [plugin.path for plugin in self.plugins])
        return self.with_sets(pairs)

    def with_sets(self, pairs: Sequence[tuple[str, str]], origin: str = "") -> Self:
        """This spec with `(key, TOML text)` pairs laid over it. `preset` and `scale` are keys here too. Messages
        about the values begin with `origin`."""
        spec = self
        for key, text in pairs:
            bare = text.strip().strip("\"'")
            if key == "preset":
                spec = replace(spec, preset=bare)
            elif key == "scale":
                spec = replace(spec, scale=parse_scale(bare))
            else:
                spec = replace(spec, sets=(*spec.sets, (key, text)), origins=(*spec.origins, origin))
        return spec

    def with_policy(self, policy: Policy | str | os.PathLike[str]) -> Self:
        """This spec with a policy of the user's own: what `pumice.policy` makes, or the path of a shared object.

        Raises:
            SpecError: it is none, or cannot be loaded.
        """
        from pumice.policy import check_policy  # loaded here: most commands need no policy

        return replace(self, policy=check_policy(policy))

    def with_plugins(self, *plugins: Plugin | str | os.PathLike[str]) -> Self:
        """This spec with translation layers of the user's own, beside those that it has: what `pumice.plugin` returns,
        or paths of shared objects. `ftl.kind = "plugin:NAME"` runs one.

        Raises:
            SpecError: one cannot be loaded, or holds no translation layer of this version.
        """
        from pumice.plugins import check_plugin  # loaded here: most commands need no plug-in

        return replace(self, plugins=(*self.plugins, *map(check_plugin, plugins)))

    def with_fio_job(self, job: str, origin: str = "") -> Self:
        """This spec with the workload and the queue depth of a job in fio's words.

        Args:
            job: `key=value` settings, one a line or several between blanks, such as
                `rw=randwrite bs=16k iodepth=32`; see docs/WORKLOADS.md for what is understood.
            origin: how messages about its values begin.

        Raises:
            SpecError: a key or value that is not understood.
        """
        check_text("fio job", job)
        try:
            settings = json.loads(_engine.fio_job_settings(job))
        except SpecError as error:
            raise SpecError(f"{origin}: {error}" if origin else str(error)) from None
        return self.with_sets([(key, text) for key, text in settings], origin)

    def request(self, *, with_policy: bool = True) -> str:
        """The JSON request that the engine takes, in this process or another; `with_policy`: it holds the policy too.

        Raises:
            SpecError: a key or value holds what is not a text, or the policy cannot be given to another process.
        """
        check_text("preset", self.preset or "")
        origins = [*self.origins, *[""] * (len(self.sets) - len(self.origins))]
        for (key, text), origin in zip(self.sets, origins, strict=True):
            place = f"{origin}: " if origin else ""
            check_text(f"{place}key", key)
            check_text(f"{place}{key} =", text)
        fields: dict[str, Any] = {
            "spec_text": self.text,
            "spec_name": self.name,
            "preset": self.preset,
            "sets": [list(pair) for pair in self.sets],
            "origins": origins,
            "scale": self.scale,
        }
        if self.plugins:
            fields["plugins"] = [{"path": plugin.path, "sha256": plugin.sha256} for plugin in self.plugins]
        if with_policy and self.policy is not None:
            fields["policy"] = self.policy.request()
        return json.dumps(fields)

    def resolve(self) -> dict[str, Any]:
        """Every key with its final value, under `config`, beside `config_sha256` and `scale`; `without_effect`
        has a line for each key that is set here, not by the preset, and that the run does not read;
        `policy_sha256` is that of the policy, `plugin_sha256` that of the plug-in that runs.

        Raises:
            SpecError: an unknown key, a value outside its range, or values that exclude each other.
        """
        resolved: dict[str, Any] = json.loads(_engine.resolve(self.request(with_policy=False), self.policy))
        return resolved


def _pairs(section: Mapping[str, Any], path: str = "", depth: int = 0) -> list[tuple[str, str]]:
    """`(key, TOML text)` of everything in a section and in the sections inside it."""
    if depth > DEPTH_MAX:
        raise SpecError(f"{printable(path[:40])}…: a section inside itself, or sections nested too deeply")
    pairs: list[tuple[str, str]] = []
    for key, content in section.items():
        if (
            f"{path}{key}" == FLOWS
            and isinstance(content, list | tuple)
            and all(isinstance(c, Mapping) for c in content)
        ):
            for number, flow in enumerate(content):
                pairs += _pairs(flow, f"{FLOWS}[{number}].", depth + 1)
        elif isinstance(content, Mapping) and (content or _is_section(f"{path}{key}")):
            pairs += _pairs(content, f"{path}{key}.", depth + 1)
        else:
            pairs.append((f"{path}{key}", toml_text(f"{path}{key}", content)))
    return pairs


def _is_section(path: str) -> bool:
    """Whether the engine has a section of this name: one that sets nothing is harmless."""
    part: Any = _schema()
    for name in path.split("."):
        part = part.get("properties", {}).get(name, {})
    return "properties" in part


def _refuse_sweep(name: str, text: str) -> None:
    """Refuses a sweep file, which looks like a spec but for a few keys of its own.

    Raises:
        SpecError: the text has keys of a sweep.
    """
    if _SWEEP_KEY.search(text) is None:
        return
    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return  # the engine says what is wrong, and in which line
    if "vary" in content:
        raise SpecError(f"{name}: is a sweep file: it has a table [vary]; `pumice sweep {name}` runs it")
    for key in ("scale", "repeat"):
        if key in content:
            raise SpecError(f"{name}: {key} belongs in sweep files; for a spec, use the option --{key} {content[key]}")


def facts(spec: Spec) -> list[tuple[str, str]]:
    """What a spec starts from and what it sets, as keys and TOML text; of keys that are set twice, the last."""
    found = {"preset": json.dumps(spec.preset)} if spec.preset is not None else {}
    if spec.text is not None:
        found["text"] = spec.name or f"{len(spec.text.splitlines())} lines of TOML"
    found |= dict(spec.sets)
    if spec.scale is not None:
        found["scale"] = str(spec.scale)
    return [(printable(key), printable(value)) for key, value in found.items()]


def check_spec(spec: Any) -> Spec:
    """`spec`, if it is one.

    Raises:
        SpecError: it is something else; the text says how to make a spec.
    """
    if isinstance(spec, Spec):
        return spec
    found = repr(spec) if len(repr(spec)) <= 40 else f"something of type {type(spec).__name__}"
    more = "; of a dictionary, pumice.Spec().with_(**DICT)" if isinstance(spec, dict) else ""
    raise SpecError(
        f"{printable(found)} is not a spec; pumice.preset(NAME) and pumice.Spec.from_file(PATH) give one{more}"
    )


def preset(name: str) -> Spec:
    """The preset `name` (see `presets()`).

    Raises:
        SpecError: there is none of that name.

    Example:
        >>> pumice.preset("tiny").resolve()["config"]["ftl"]["kind"]
        'nftl'
    """
    check_preset(name, "preset")
    return Spec(preset=name)


def check_preset(name: Any, origin: str) -> None:
    """Refuses a name that no preset has.

    Raises:
        SpecError: with the nearest name, and what the word means elsewhere; `origin` begins the text.
    """
    known = presets()
    if name in known:
        return
    if not isinstance(name, str):
        raise SpecError(f"{origin} {name!r} is unknown; allowed: {', '.join(known)}")
    from pumice.runs.keys import known_as  # loaded here: the keys need specs

    hint = nearest(name, known)
    raise SpecError(f"{origin} {message(name)} is unknown{hint}{known_as(name)}; allowed: {', '.join(known)}")


def preset_about(name: str) -> str:
    """What a preset is: the first sentence of the comment that its file begins with."""
    lines = itertools.takewhile(lambda line: line.startswith("#"), _engine.preset_toml(name).splitlines())
    text = " ".join(line.lstrip("# ") for line in lines if not line.startswith("#:"))
    return text.partition(". ")[0].rstrip(".")


def presets() -> list[str]:
    """Names of the presets.

    Example:
        >>> "pen-1tb" in pumice.presets()
        True
    """
    return list(_engine.presets())


def workloads() -> list[dict[str, Any]]:
    """The workloads that `workload.kind` accepts: `name`, `about` and the published facts each meets.

    Example:
        >>> "twin:prn_1" in [one["name"] for one in pumice.workloads()]
        True
    """
    found: list[dict[str, Any]] = json.loads(_engine.workloads())
    return found


def read_text(path: Path) -> str:
    """Content of a UTF-8 file of at most `SPEC_BYTES_MAX`; `SpecError` in one line if it cannot be read."""
    try:
        return files.read_bounded(path, SPEC_BYTES_MAX).decode()
    except UnicodeDecodeError as error:
        raise SpecError(f"{path}: not UTF-8 text (byte {error.start})") from None
    except SpecError as error:
        hint = f"; the preset of that name is `--preset {path}`" if str(path) in _engine.presets() else ""
        raise SpecError(f"{error}{hint}") from None


def parse_scale(text: str) -> float:
    """A scale factor; the engine checks which of them give a whole device."""
    allowed = "allowed: a number above 0 and at most 1"
    try:
        scale = float(text)
    except ValueError:
        raise SpecError(f"scale: {text!r} is not a number; {allowed}") from None
    if not 0 < scale <= 1:
        raise SpecError(f"scale = {text} is not allowed; {allowed}")
    return scale
