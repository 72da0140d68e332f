"""The keys of a spec, as the engine lists them: one row a key.

`explain`, shell completion, the schema of sweep files and docs/KEYS.md all come from here.
`python -m pumice.runs.keys DIRECTORY` writes docs/KEYS.md and the schema files of a checkout anew.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Self

from pumice import _engine, files
from pumice.errors import SpecError

#: Generated files of a checkout: the page of all keys, and the schemas that the `#:schema` lines of TOML files name.
PAGE, SPEC_SCHEMA, SWEEP_SCHEMA = "docs/KEYS.md", "docs/schema/spec.schema.json", "docs/schema/sweep.schema.json"

_INTRODUCTION = (
    "# Keys of a spec\n\n"
    "Every key of a spec, as `pumice explain KEY` shows it; `explain --search WORD` finds words. Written by"
    " `make generated` from the engine's table of keys.\n\n"
    "Below each meaning stand default, unit, allowed values, and in italics the source of the default; without one it"
    " is chosen. If there is no default, the key is absent unless given, and the italics say what then holds."
    " Very large upper limits are left out.\n"
)

#: A range of numbers as the engine words it.
_RANGE = re.compile(r"^a (whole )?number from (.+ to .+)$")

#: A range whose upper limit only guards the arithmetic.
_UNBOUNDED = re.compile(r"(?:from )?(\S+) to (\d{6,}|2\^63 - 1)\b")

#: Most choices that the page lists; of more it shows the first and the last.
_MOST_CHOICES = 12

#: The list of flows of a spec. Keys of a flow carry its number: `workload.flow[0].kind`.
FLOW = "workload.flow"

#: Heading of the keys outside every section.
_OUTSIDE = "Outside every section"


@dataclass(frozen=True)
class Key:
    """A key of the spec.

    Attributes:
        path: `section.key`.
        type: "whole number", "number", "true or false", "text", "list of numbers" or "number or list of numbers".
        unit: unit of the value; empty if it has none.
        default: the default; None if the key is absent unless given.
        allowed: the allowed values in words.
        source: where the default comes from.
        text: what the key means.
    """

    path: str
    type: str
    unit: str
    default: Any
    allowed: str
    source: str
    text: str

    @classmethod
    def of(cls, explained: Mapping[str, Any]) -> Self:
        """The key that the engine explains."""
        return cls(path=explained["key"], **{name: value for name, value in explained.items() if name != "key"})

    def to_dict(self) -> dict[str, Any]:
        """The key as the engine explains it."""
        values = asdict(self)
        return {"key": values.pop("path"), **values}

    @property
    def section(self) -> str:
        """The first part of the path; empty for a key outside every section."""
        return self.path.partition(".")[0] if "." in self.path else ""


@cache
def keys(plugins: tuple[Path, ...] = ()) -> tuple[Key, ...]:
    """All keys, section by section, with those of the plug-ins at these paths."""
    paths = [*_paths(spec_schema(plugins)["properties"])]
    return tuple(map(Key.of, json.loads(_engine.explain_all(paths, plugins))))


def spec_schema(plugins: Sequence[Path] = ()) -> dict[str, Any]:
    """JSON Schema of a spec file, with the keys of the plug-ins at these paths."""
    schema: dict[str, Any] = json.loads(_engine.schema(plugins))
    return schema


def sweep_schema(plugins: Sequence[Path] = ()) -> dict[str, Any]:
    """JSON Schema of a sweep file: a spec with `scale`, `repeat` and `vary`."""
    schema = spec_schema(plugins)
    properties = dict(schema["properties"])
    paths = [path for path in _paths(properties) if not path.startswith(f"{FLOW}.")]
    values = {path: _values({"$ref": f"#{_pointer(path)}"}) for path in [*paths, "preset"]}
    share = {"type": "number", "exclusiveMinimum": 0, "maximum": 1}
    values["scale"] = _values(share)
    nested = {
        section: {"type": "object"} for section in sorted({path.partition(".")[0] for path in values if "." in path})
    }
    together = {"type": "array", "minItems": 1, "items": {"type": "array"}}
    schema["title"] = "pumice sweep"
    schema["properties"] = {
        **properties,
        "scale": {**share, "description": "Share of the study to run: planes, requests and bytes times this."},
        "repeat": {
            "type": "integer",
            "minimum": 1,
            "description": "Runs of each combination, with the seeds seed, seed + 1, …",
        },
        "vary": {
            "type": "object",
            "description": 'Values of the varied keys, "section.key" = [value, …]; every combination is run. Keys that'
            ' change together share an entry: "a.b, c.d" = [[1, 2], [3, 4]].',
            "properties": {**values, **nested},
            "patternProperties": {",": together, r"^workload\.flow(\.|\[)\d": _values(True)},
            "additionalProperties": False,
        },
    }
    return schema


#: Terms of the field that are written otherwise here, and beginnings of the keys and fields of the result that are
#: meant.
_CELLS = ("geometry.bits_per_cell", "geometry.page_types", "timing.t_")
_TAILS = (
    "output.request_log",
    "output.histograms",
    "run.until",
    "host.read.latency_us.p99",
    "host.write.latency_us.p99",
)
_BEFORE = ("initial.", "run.until", "run.warmup")
_TERMS = {
    **dict.fromkeys(("slc", "mlc", "tlc", "qlc", "plc"), _CELLS),
    **dict.fromkeys(("tail latency", "tail", "qos"), _TAILS),
    **dict.fromkeys(("preconditioning", "precondition", "steady state"), _BEFORE),
    **dict.fromkeys(("victim", "victim selection"), ("ftl.gc_policy", "ftl.d_choices", "gc.victim")),
}


def speaks_of(words: str, path: str, text: str) -> bool:
    """Whether a key or a field of the result, with its texts, holds every one of some words, in any case and whether
    they are joined or not; or is what a term of the field is called here."""
    shown = _plain(f"{path} {text}")
    return all(_plain(word) in shown for word in words.split()) or path.startswith(_TERMS.get(_plain(words), ("\0",)))


def _plain(text: str) -> str:
    return text.lower().replace("-", " ").replace("_", " ")


def search(words: str, plugins: tuple[Path, ...] = ()) -> list[Key]:
    """The keys that speak of some words; those whose path does come first."""
    texts = ("text", "unit", "allowed", "source")
    found = [one for one in keys(plugins) if speaks_of(words, one.path, " ".join(getattr(one, name) for name in texts))]
    return sorted(found, key=lambda key: not speaks_of(words, key.path, ""))


def keys_called(name: str, plugins: tuple[Path, ...] = ()) -> list[Key]:
    """The key at a path; or the keys whose last part is a word."""
    known = keys(plugins)
    return [key for key in known if key.path == name] or [key for key in known if key.path.endswith(f".{name}")]


def known_as(word: str) -> str:
    """`; it is a value of 'ftl.kind'` if a word is known from somewhere else than keys, else an empty text."""
    try:
        _engine.explain(word)
    except (SpecError, UnicodeError) as error:
        hint = str(error).partition("'; ")[2]
        return f"; {hint}" if hint and not hint.startswith(("nearest", "`pumice")) else ""
    return ""


def value_text(value: Any) -> str:
    """A value as a spec writes it; a dash where there is none."""
    return "–" if value is None else json.dumps(value, ensure_ascii=False)


def page() -> str:
    """docs/KEYS.md."""
    lines = [_INTRODUCTION]
    sections = dict.fromkeys(key.section for key in keys())
    for section in sections:
        lines += [f"## {f'`[{section}]`' if section else _OUTSIDE}", ""]
        lines += [line for key in keys() if key.section == section for line in _entry(key)]
    return "\n".join(lines)


def write_generated(root: Path) -> None:
    """Writes the generated files of a checkout."""
    for name, text in generated().items():
        files.write_text(root / name, text)


def generated() -> dict[str, str]:
    """The generated files of a checkout, by path."""
    schemas = {SPEC_SCHEMA: spec_schema(), SWEEP_SCHEMA: sweep_schema()}
    return {PAGE: page(), **{name: json.dumps(schema, indent=1) + "\n" for name, schema in schemas.items()}}


def _entry(key: Key) -> list[str]:
    """The lines of a key in the page: heading; meaning; default with unit, allowed values, source.

    Ranges and choices stand without their kind. Choices that the meaning explains one by one are not repeated."""
    default = "" if key.default is None else f"`{value_text(key.default)}`"
    shows_whole = isinstance(key.default, int)
    allowed = _RANGE.sub(lambda found: found[2] + (", whole" if found[1] and not shows_whole else ""), key.allowed)
    allowed = _UNBOUNDED.sub(r"from \1", allowed)
    choices = re.findall(r'"([^"]+)"', allowed) if "|" in allowed else []
    if key.allowed == "true or false":
        allowed = ""
    if len(choices) > _MOST_CHOICES:
        allowed = f'"{choices[0]}", … "{choices[-1]}"'
    if choices and all(re.search(rf"(?<![\w-]){re.escape(one)}( \([^)]*\))?:", key.text) for one in choices):
        allowed = ""
    source = "" if key.source == "chosen" else f"*{key.source}*"
    facts = [f"{default} {key.unit}".strip(), allowed.replace('" | "', '", "'), source]
    return [f"### `{key.path}`", "", f"{key.text}<br>", "; ".join(filter(None, facts)), ""]


def _paths(properties: Mapping[str, Any], lead: str = "") -> Iterator[str]:
    """The paths of all keys in a schema's properties, `preset` aside; of the entries of a list those that they alone
    have, without a number."""
    for name, schema in properties.items():
        if "properties" in schema.get("items", {}):
            own = {key: entry for key, entry in schema["items"]["properties"].items() if "$ref" not in entry}
            yield from _paths(own, f"{lead}{name}.")
            continue
        if schema.get("type") == "object":
            yield from _paths(schema["properties"], f"{lead}{name}.")
        elif name != "preset" or lead:
            yield f"{lead}{name}"


def _pointer(path: str) -> str:
    """Where the schema of a key stands in that of a spec, as a JSON pointer."""
    return "".join(f"/properties/{part}" for part in path.split("."))


def _values(schema: Any) -> dict[str, Any]:
    """The schema of a list of values of a key."""
    return {"type": "array", "minItems": 1, "items": schema}


if __name__ == "__main__":
    for directory in sys.argv[1:]:
        write_generated(Path(directory))
