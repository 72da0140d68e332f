"""`pumice presets`, `workloads`, `schema`, `explain`: what exists and what it means."""

from __future__ import annotations

import json
import tomllib
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from pumice import _engine
from pumice.cli import completions
from pumice.cli import options as opt
from pumice.cli.tables import Column, Sheet, hanging, terminal_width
from pumice.cli.terminal import emit, emit_json, show
from pumice.errors import SpecError
from pumice.results.fields import Field
from pumice.results.fields import fields as result_fields
from pumice.results.names import fields_called
from pumice.runs.spec import check_key, check_preset, preset_about, workloads
from pumice.text import message, printable, size_text

#: Order in which the fields of an explanation are shown.
_EXPLAINED = ("key", "field", "text", "type", "unit", "allowed", "default", "source")


def presets_command(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]", help="Print this preset's TOML.", show_default=False, autocompletion=completions.presets
        ),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option("--kind", metavar="KIND", help="List those of one kind: drive, part, paper or test."),
    ] = None,
    as_json: opt.JsonOption = False,
) -> None:
    """List the presets, or print one as TOML."""
    if name is None:
        _list_presets(kind, as_json=as_json)
        return
    if kind is not None:
        raise SpecError("presets takes a NAME or --kind, not both")
    check_preset(name, "preset")
    if as_json:
        values = tomllib.loads(_engine.preset_toml(name))
        emit_json(json.dumps({"name": name, "about": preset_about(name), "spec": values}, indent=2))
        return
    lines = _engine.preset_toml(name).splitlines()
    emit("\n".join(line for line in lines if not line.startswith("#:")))  # names a file of the project


def _list_presets(kind: str | None, *, as_json: bool) -> None:
    """Lists the presets of a kind, or all of them, kind by kind.

    Raises:
        SpecError: no preset is of that kind.
    """
    facts: list[dict[str, Any]] = json.loads(_engine.preset_facts())
    kinds = list(dict.fromkeys(fact["kind"] for fact in facts))
    if kind is not None and kind not in kinds:
        raise SpecError(f"--kind {printable(kind)} is not allowed; allowed: {', '.join(kinds)}")
    chosen = [fact | {"about": preset_about(fact["name"])} for fact in facts if kind in (None, fact["kind"])]
    if as_json:
        emit_json(json.dumps(chosen, indent=2))
        return
    heads = ("name", "capacity", "cells", "year", "FTL", "kind", "about")
    columns = [Column(head, "number" if head in ("capacity", "year") else "text") for head in heads]
    rows = [
        [
            fact["name"], size_text(fact["user_bytes"]), _fact(fact["cells"]), _fact(fact["year"]), fact["ftl"],
            fact["kind"], fact["about"],
        ]
        for fact in chosen
    ]  # fmt: skip
    show(Sheet(columns, rows))


def workloads_command(as_json: opt.JsonOption = False) -> None:
    """List the workloads and the facts each is made to meet."""
    found = workloads()
    if as_json:
        emit_json(json.dumps(found, indent=2))
        return
    facts = list(dict.fromkeys(key for workload in found for key in workload if key not in ("name", "about")))
    columns = [Column("name", "text"), *map(Column, facts), Column("about", "text")]
    rows = [
        [workload["name"], *(_fact(workload.get(fact)) for fact in facts), str(workload.get("about", ""))]
        for workload in found
    ]
    show(Sheet(columns, rows))


def schema_command(
    sweep: Annotated[bool, typer.Option("--sweep", help="The schema of sweep files instead.")] = False,
    plugin: opt.PluginOption = None,
) -> None:
    """Print the JSON Schema of a spec."""
    from pumice.runs.keys import spec_schema, sweep_schema

    emit_json(json.dumps(sweep_schema(plugin or ()) if sweep else spec_schema(plugin or ())))


def explain_command(
    key: Annotated[
        str | None,
        typer.Argument(
            metavar="[KEY]",
            help="Key such as ftl.merge, or result field such as host.iops or waf.",
            autocompletion=completions.keys,
        ),
    ] = None,
    words: Annotated[
        str | None, typer.Option("--search", metavar="WORD", help="List keys and result fields by a word.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="List all keys.")] = False,
    plugin: opt.PluginOption = None,
    as_json: opt.JsonOption = False,
) -> None:
    """Say what a key of the spec means: unit, default, allowed values, source."""
    if [key is not None, words is not None, everything].count(True) != 1:
        raise SpecError("explain takes one of KEY, --search WORD and --all")
    if key is not None:
        _explain(key, plugin or [], as_json=as_json)
        return
    from pumice.runs import keys

    chosen = keys.keys(tuple(plugin or ())) if words is None else keys.search(words, tuple(plugin or ()))
    fields = [] if words is None else _fields_about(words)
    if as_json:
        emit_json(json.dumps([one.to_dict() for one in chosen], indent=2))
        return
    if not chosen and not fields:
        raise SpecError(f"no key and no field of the result speaks of '{printable(words or '')}'; --all lists the keys")
    columns = [Column("key", "text"), Column("unit", "text"), Column("default", "text"), Column("meaning", "text")]
    if chosen:
        rows = [[one.path, one.unit, keys.value_text(one.default), _gist(one.text)] for one in chosen]
        show(Sheet(columns, rows))
    if fields:
        if chosen:
            emit("")
        rows = [[one.path, one.unit, _gist(one.text)] for one in fields]
        show(Sheet([Column("field of the result", "text"), columns[1], columns[3]], rows))


def _explain(name: str, plugins: list[Path], *, as_json: bool) -> None:
    """Shows the key and beneath it the field of the result that have a name; or the one that there is."""
    from pumice.runs.keys import keys, keys_called, known_as

    found = keys_called(name, tuple(plugins))
    is_whole = [key.path for key in found] == [name] or any(key.path.startswith(f"{name}.") for key in keys())
    paths = [name] if is_whole else fields_called(name)
    hint = "" if found else known_as(name)
    if len(found) > 1 or len(paths) > 1:
        meant = dict.fromkeys([*(key.path for key in found), *paths])
        raise SpecError(f"{message(name)} can mean {', '.join(meant)}{hint}")
    field = next((one for one in result_fields() if one.path in paths), None)
    if not found and field is None:
        check_key(name, plugins)  # says which name is nearest
    shown = [key.to_dict() for key in found]
    if field is not None:
        values = asdict(field)
        shown.append({"field": values.pop("path"), **values})
    if as_json:
        emit_json(json.dumps(shown[0] if len(shown) == 1 else {**shown[0], "result": shown[1]}))
    else:
        emit("\n\n".join([*map(_explained, shown), *([f"as a key: {hint.lstrip('; ')}"] if hint else [])]))


def _explained(found: dict[str, Any]) -> str:
    """A key or a field in lines."""
    width = max(len(part) for part in found)
    order = [*(part for part in _EXPLAINED if part in found), *(part for part in found if part not in _EXPLAINED)]
    return "\n".join(
        line for part in order for line in hanging(f"{part:<{width}}  ", _fact(found[part]), terminal_width())
    )


def _fields_about(words: str) -> list[Field]:
    """The fields of the result that some words can mean, or whose path or text hold every one of them."""
    from pumice.runs.keys import speaks_of

    meant = fields_called(words)
    return [one for one in result_fields() if one.path in meant or speaks_of(words, one.path, one.text)]


def _gist(text: str) -> str:
    """The first sentence of a text."""
    return text.partition(". ")[0].rstrip(".")


def _fact(value: Any) -> str:
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ", ".join(_fact(item) for item in value)
    return str(value)
