"""`pumice snapshot`: aged devices in files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from pumice import files
from pumice.cli import options as opt
from pumice.cli.groups import new_app
from pumice.cli.run_command import run_once
from pumice.cli.terminal import emit, emit_json
from pumice.outputs import SNAPSHOT_KIND, output_file
from pumice.runs import snapshots
from pumice.runs.grid import flatten
from pumice.runs.snapshots import SnapshotPlaces

app = new_app(help="Keep aged devices in files, and run on them.")

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="Snapshot.", show_default=False)]


@app.callback(invoke_without_command=True)
def snapshot(context: typer.Context) -> None:
    """Keep aged devices in files, and run on them."""
    if context.invoked_subcommand is None:
        emit(context.get_help())


@app.command("save")
@opt.takes_options
def save_command(file: FileArgument, spec: opt.SpecArgument = None, *, options: opt.DeviceOptions) -> None:
    """Fill and age the device of a spec, and keep it."""
    chosen = options.build(spec)
    with output_file(file, SNAPSHOT_KIND):
        header = snapshots.save(chosen, file)
    size = file.stat().st_size
    emit(f"{file}: {header['bytes']:,} bytes of state, {size:,} in the file; `pumice snapshot info` says more")


@app.command("load")
@opt.takes_options
def load_command(
    file: FileArgument,
    spec: opt.SpecArgument = None,
    *,
    options: opt.SpecOptions,
    out: opt.OutOption = None,
    as_json: opt.JsonOption = False,
) -> None:
    """Run a spec whose device is the one in the file; it is refused if its device is another."""
    chosen = options.build(spec)
    snapshots.check_fits(chosen, file)
    with files.output_directory(out):
        run_once(chosen, out, SnapshotPlaces(file=file), as_json=as_json)


@app.command("info")
def info_command(file: FileArgument, *, as_json: opt.JsonOption = False) -> None:
    """Verify a snapshot and show the keys that its device depends on."""
    header = snapshots.info(file)
    if as_json:
        emit_json(json.dumps(header))
        return
    facts = {"engine": header["engine"], "identity": header["identity"], "bytes": f"{header['bytes']:,}"}
    keys = {key: json.dumps(value) for key, value in flatten(header["keys"]).items()}
    width = max(map(len, [*facts, *keys]))
    emit("\n".join(f"{key:<{width}}  {value}" for key, value in {**facts, **keys}.items()))
