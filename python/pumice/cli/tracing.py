"""`pumice trace`: how a trace file is understood, and traces written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from pumice import _engine
from pumice.cli import options as opt
from pumice.cli.output import emit
from pumice.traces import write_trace

app = typer.Typer(help="Look into trace files and write them.", add_completion=False)

TraceArgument = Annotated[Path, typer.Argument(metavar="FILE", help="Trace, plain or compressed.")]


@app.callback(invoke_without_command=True)
def trace(context: typer.Context) -> None:
    """Look into trace files and write them."""
    if context.invoked_subcommand is None:
        emit(context.get_help())


VolumesOption = Annotated[
    str | None,
    typer.Option("--volumes", metavar="V", help="overlay, separate, or the number or name of one volume."),
]
ToOption = Annotated[str, typer.Option("--to", metavar="F", help="Format to write.")]
OutArgument = Annotated[Path, typer.Argument(metavar="OUT", help="File to write.")]


@app.command("check")
def check_command(
    path: TraceArgument,
    *,
    trace_format: opt.FormatOption = None,
    volumes: VolumesOption = None,
    as_json: opt.JsonOption = False,
) -> None:
    """Show how the first lines are understood; fail if anything is not."""
    _show(_engine.trace_check(str(path), trace_format, volumes), as_json=as_json)


@app.command("info")
def info_command(
    path: TraceArgument,
    *,
    trace_format: opt.FormatOption = None,
    volumes: VolumesOption = None,
    as_json: opt.JsonOption = False,
) -> None:
    """Show the statistics of a whole trace."""
    _show(_engine.trace_info(str(path), trace_format, volumes), as_json=as_json)


@app.command("convert")
def convert_command(
    path: TraceArgument,
    out: OutArgument,
    *,
    to: ToOption = "msr",
    trace_format: opt.FormatOption = None,
    volumes: VolumesOption = None,
) -> None:
    """Write a trace in another format; addresses stay as they are."""
    sets = [f"workload.volumes={volumes}"] if volumes is not None else []
    spec = opt.SpecOptions(trace=path, trace_format=trace_format, sets=sets).build(None)
    _show(json.dumps(write_trace(spec, out, to)), as_json=False)


@app.command("generate")
def generate_command(
    out: OutArgument,
    *,
    to: ToOption = "msr",
    preset: opt.PresetOption = None,
    workload: opt.WorkloadOption = None,
    sets: opt.SetOption = None,
    scale: opt.ScaleOption = None,
    seed: opt.SeedOption = None,
) -> None:
    """Write a twin or a generated workload as a trace for the device of a preset."""
    spec = opt.SpecOptions(preset, workload, None, None, sets or [], scale, seed).build(None)
    _show(json.dumps(write_trace(spec, out, to)), as_json=False)


def _show(text: str, *, as_json: bool) -> None:
    emit(text if as_json else "\n".join(_lines(json.loads(text))))


def _lines(value: Any, lead: str = "") -> list[str]:
    """A nested JSON value as indented lines."""
    if isinstance(value, dict):
        width = max((len(key) for key in value), default=0)
        lines: list[str] = []
        for key, item in value.items():
            if isinstance(item, dict | list) and item:
                lines += [f"{lead}{key}", *_lines(item, lead + "  ")]
            else:
                lines.append(f"{lead}{key:<{width}}  {_plain(item)}")
        return lines
    if isinstance(value, list):
        return [
            line for item in value for line in (_lines(item, lead) if isinstance(item, list) else [lead + _flat(item)])
        ]
    return [lead + _plain(value)]


def _flat(item: Any) -> str:
    return "  ".join(f"{key}={_plain(part)}" for key, part in item.items()) if isinstance(item, dict) else _plain(item)


def _plain(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:,.6g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return json.dumps(value) if isinstance(value, dict | list | bool) else str(value)
