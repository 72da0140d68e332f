"""`pumice trace`: how a trace file is understood, and traces written."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from pumice import _engine, files
from pumice.cli import completions
from pumice.cli import options as opt
from pumice.cli.groups import new_app
from pumice.cli.terminal import emit, emit_json, note
from pumice.outputs import FIGURE_KIND, output_file, refuse_other_file
from pumice.runs.spec import Spec
from pumice.text import count, printable
from pumice.traces.formats import format_to_write
from pumice.traces.read_write import reading, write_workload
from pumice.traces.trace_figure import trace_figure

app = new_app(help="Inspect and write trace files.")


@dataclass(frozen=True)
class TraceOptions:
    """Options for a trace and how it is read."""

    path: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Trace, plain or compressed, - for standard input.", click_type=opt.Input()
        ),
    ]
    trace_format: opt.FormatOption = None
    columns: opt.ColumnsOption = None
    volumes: Annotated[
        str | None,
        typer.Option("--volumes", metavar="V", help="overlay, separate, or the number or name of one volume."),
    ] = None

    def reading(self) -> str:
        """Format, columns and volumes, as the engine takes them.

        Raises:
            SpecError: one of them is not a text.
        """
        return reading(self.trace_format, self.columns, self.volumes)


@app.callback(invoke_without_command=True)
def trace(context: typer.Context) -> None:
    """Inspect and write trace files."""
    if context.invoked_subcommand is None:
        emit(context.get_help())


ToOption = Annotated[
    str | None,
    typer.Option(
        "--to",
        metavar="F",
        help="Format to write; taken from the name of OUT if absent: x.spc.gz.",
        autocompletion=completions.formats_to_write,
    ),
]
OutArgument = Annotated[Path, typer.Argument(metavar="OUT", help="File to write, - for standard output.")]


@app.command("check")
@opt.takes_options
def check_command(source: TraceOptions, *, as_json: opt.JsonOption = False) -> None:
    """Show how the first lines are understood; fail if anything is not."""
    _show(_engine.trace_check(source.path, source.reading()), as_json=as_json)


@app.command("info")
@opt.takes_options
def info_command(source: TraceOptions, *, out: opt.OutOption = None, as_json: opt.JsonOption = False) -> None:
    """Show the statistics of a whole trace; with --out also as a figure."""
    with files.output_directory(out):
        name = printable(source.path.name)
        for ending in (".png", ".svg"):
            if out is not None:
                refuse_other_file(out / f"{name}.info{ending}", FIGURE_KIND)
        text = _engine.trace_info(source.path, source.reading())
        report = json.loads(text)
        if out is not None:
            written = trace_figure(report, name, out / f"{name}.info")
            note(f"figure written to {' and '.join(str(file) for file in written)}")
    # Curves are for the figure and for programs, not for reading.
    readable = {key: part for key, part in report.items() if key != "shape"}
    _show(text if as_json else json.dumps(readable), as_json=as_json)


@app.command("convert")
@opt.takes_options
def convert_command(source: TraceOptions, out: OutArgument, *, to: ToOption = None) -> None:
    """Write a trace in another format; addresses stay as they are. .gz, .zst and .xz are compressed."""
    sets = [f"workload.volumes={source.volumes}"] if source.volumes is not None else []
    spec = opt.SpecOptions(
        trace=source.path, trace_format=source.trace_format, columns=source.columns, sets=sets
    ).build()
    _write(spec, out, to)


@app.command("generate")
@opt.takes_options
def generate_command(out: OutArgument, *, options: opt.DeviceOptions, to: ToOption = None) -> None:
    """Write a workload as a trace for the device of a preset; .gz, .zst and .xz are compressed."""
    _write(options.build(), out, to)


def _write(spec: Spec, out: Path, to: str | None) -> None:
    with output_file(out):
        report = write_workload(spec, out, format_to_write(out, to))
    for noun, nouns in (("trim", "trims"), ("flush", "flushes")):
        if left_out := report[f"{nouns}_left_out"]:
            were = f"1 {noun} was" if left_out == 1 else f"{left_out:,} {nouns} were"
            note(f"warning: {were} left out: format {report['format']} has none; csv and fio have")
    if plain := report["fua_left_out"]:
        note(f"warning: {count(plain, 'write')} lost force unit access: format {report['format']} has none; csv has")
    if unplaced := report["streams_left_out"]:
        kept = "csv, Parquet and Arrow have"
        note(f"warning: {count(unplaced, 'write')} lost the stream: format {report['format']} has none; {kept}")
    if files.is_stdout(out):
        for line in _lines(report):
            note(line)
    else:
        emit("\n".join(_lines(report)))


def _show(text: str, *, as_json: bool) -> None:
    if as_json:
        emit_json(text)
    else:
        emit("\n".join(_lines(json.loads(text))))


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
