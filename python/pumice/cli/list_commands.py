"""`pumice presets`, `workloads`, `schema`, `explain`: what exists and what it means."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from pumice import _engine
from pumice.cli import options as opt
from pumice.cli.tables import Column, Sheet
from pumice.cli.terminal import emit, emit_json, show
from pumice.errors import SpecError, nearest
from pumice.runs.spec import check_key, workloads
from pumice.text import printable

#: Order in which the fields of an explanation are shown.
_EXPLAINED = ("key", "text", "type", "unit", "allowed", "default", "source")


def presets_command(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Print this preset's TOML.", show_default=False)
    ] = None,
) -> None:
    """List the presets, or print one as TOML."""
    if name is None:
        emit("\n".join(_engine.presets()))
        return
    known = _engine.presets()
    if name not in known:
        raise SpecError(f"preset '{printable(name)}' is unknown{nearest(name, known)}; allowed: {', '.join(known)}")
    emit(_engine.preset_toml(name))


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


def schema_command() -> None:
    """Print the JSON Schema of a spec."""
    emit_json(_engine.schema())


def explain_command(
    key: Annotated[str, typer.Argument(metavar="KEY", help="Such as ftl.merge.")],
    as_json: opt.JsonOption = False,
) -> None:
    """Say what a key of the spec means: unit, default, allowed values, source."""
    check_key(key)
    text = _engine.explain(key)
    if as_json:
        emit_json(text)
        return
    found: dict[str, Any] = json.loads(text)
    width = max(len(field) for field in found)
    order = [*(field for field in _EXPLAINED if field in found), *(field for field in found if field not in _EXPLAINED)]
    emit("\n".join(f"{field:<{width}}  {_fact(found[field])}" for field in order))


def _fact(value: Any) -> str:
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ", ".join(_fact(item) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{key}={_fact(item)}" for key, item in value.items())
    return str(value)
