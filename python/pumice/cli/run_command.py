"""`pumice run`: one simulation, or one spec over several seeds."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

from pumice import files
from pumice.cli import options as opt
from pumice.cli.tables import Column, Sheet
from pumice.cli.terminal import emit, emit_json, note, show, tell_failures, tell_notes, warn_all
from pumice.errors import Interrupted, SpecError
from pumice.outputs import RESULT, RUNS, RUNS_TABLE, STORE, one_set, output_directory
from pumice.results.comparison import Variant, compare, scale_of
from pumice.results.document import lookup, subject
from pumice.runs import run_list
from pumice.runs.batch import Settings, keeping, run_jobs
from pumice.runs.fit import fit_device
from pumice.runs.grid import repeated
from pumice.runs.output_files import run_to_text
from pumice.runs.pace import ageing_reports
from pumice.runs.progress import RunProgress
from pumice.runs.snapshots import NOTHING_AGED, SnapshotPlaces
from pumice.runs.spec import Spec
from pumice.runs.sweep import outcome_table, raise_if_refused
from pumice.text import count


@opt.takes_options
def run_command(
    spec: opt.SpecArgument = None,
    *,
    options: opt.SpecOptions,
    fit: opt.FitOption = False,
    repeat: opt.RepeatOption = 1,
    out: opt.OutOption = None,
    as_json: opt.JsonOption = False,
    workers: opt.WorkersOption = None,
    threads: opt.ThreadsOption = None,
    resume: opt.ResumeOption = False,
    kept: opt.SnapshotsOption = None,
) -> None:
    """Run one simulation and show its result."""
    opt.check_resume(out, resume=resume)
    if threads is not None and (repeat > 1 or kept is not None):
        other = "--repeat, whose runs --workers runs side by side" if repeat > 1 else "--snapshots"
        raise SpecError(f"--threads does not go together with {other}")
    if resume and repeat == 1:
        raise SpecError("--resume takes up the runs of --repeat; one run has nothing to take up")
    if spec is None:
        options = opt.for_drive(options, fit=fit)
    chosen = options.build(spec)
    if chosen.sets_nothing() and options.preset is None and options.scale is None and not fit:
        note(f"{spec}: sets nothing: {_of_defaults(chosen)}")
    if fit:
        chosen, device = fit_device(chosen)
        note(device)
    with output_directory(out):
        if repeat > 1:
            store = out / STORE if out is not None else None
            settings = Settings("run", workers, store, resume, announce=note, snapshots=kept)
            _run_repeated(chosen, repeat, settings, out, as_json=as_json)
        else:
            places = SnapshotPlaces(folder=kept) if kept is not None else None
            run_once(chosen, out, places, as_json=as_json, threads=opt.parsed_threads(threads))


def _of_defaults(spec: Spec) -> str:
    """What runs if nobody said of what size: the defaults may take long."""
    config = spec.resolve()["config"]
    shape = config["geometry"]
    parts = ("channels", "chips_per_channel", "dies_per_chip", "planes_per_die", "blocks_per_plane", "pages_per_block")
    size = math.prod(shape[part] for part in parts) * shape["page_bytes"]
    return (
        f"this runs {config['workload']['kind']} on the default device of"
        f" {size / 1e9:,.0f} GB at full scale; --preset tiny runs in a second"
    )


def run_once(
    spec: Spec,
    out: Path | None,
    places: SnapshotPlaces | None,
    *,
    as_json: bool,
    threads: dict[str, int] | None = None,
) -> None:
    """Runs a spec, whose aged device may come from snapshots, on so many threads, and shows its result."""
    with RunProgress("run", ageing_reports=ageing_reports(spec.resolve())) as bar:
        try:
            text = run_to_text(spec, bar.update, out, places=places, threads=threads)
        except KeyboardInterrupt:
            text = f"interrupted after {count(bar.requests, 'request')}; nothing is kept of this run"
            raise Interrupted(text) from None
    document = json.loads(text)
    if places is not None and lookup(document, "run.aged_device") is None:
        note(NOTHING_AGED)
    tell_result(document, text, out, as_json=as_json)


def tell_result(document: dict[str, Any], text: str, out: Path | None, *, as_json: bool) -> None:
    """Shows the result of one run, which is `text` as JSON and was written to `out`."""
    warn_all([document])
    if as_json:
        emit_json(text)
        return
    show(*result_sheet([document]))
    tell_notes([document])
    if out is not None:
        emit(f"result written to {out / RESULT}")


def _run_repeated(spec: Spec, repeat: int, settings: Settings, out: Path | None, *, as_json: bool) -> None:
    outcomes = run_jobs(repeated(spec, repeat, "run"), settings)
    raise_if_refused(outcomes)
    documents = [outcome.document for outcome in outcomes if outcome.document is not None]
    warn_all(documents)
    if out is not None:
        with keeping(outcomes, settings), one_set(out, RUNS) as staged:
            files.write_parquet(outcome_table(outcomes), staged / RUNS_TABLE)
            run_list.write(outcomes, staged)
        note(f"results written to {out / STORE} and {out / RUNS_TABLE}")
    if as_json:
        emit_json(json.dumps(documents))
    elif documents:
        show(*result_sheet(documents))
        tell_notes(documents)
    tell_failures(outcomes)


def result_sheet(documents: list[dict[str, Any]]) -> tuple[Sheet, str]:
    """A table of one run, or of one spec's runs, and its title."""
    many = len(documents) > 1
    numbers = ["mean", "std. dev.", "± 95 %"] if many else ["value"]
    columns = [Column("", "text"), *map(Column, numbers), Column("unit", "text")]
    rows: list[list[str]] = []
    for metric, (cell,) in compare([Variant("run", documents)]):
        if cell.value is None:
            continue
        shown = [cell.value.mean, cell.value.deviation, cell.value.half_width] if many else [cell.value.mean]
        scale = scale_of(metric, [cell.value.mean])
        scale = replace(scale, digits=max(scale.digits, 1)) if many else scale
        rows.append([metric.label, *(scale.text(one) if one is not None else "" for one in shown), scale.unit])
    title = subject(documents[0]) + (f", {count(len(documents), 'run')}" if many else "")
    return Sheet(columns, rows), title
