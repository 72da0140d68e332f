"""`pumice compare`: variants side by side."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from pumice.cli import completions
from pumice.cli import options as opt
from pumice.cli.tables import Column, Sheet
from pumice.cli.terminal import emit, emit_json, note, show, tell_failures
from pumice.errors import SpecError
from pumice.outputs import COMPARISON, FIGURES, one_set, output_directory
from pumice.results import comparison
from pumice.results.comparison import Metric, Variant
from pumice.results.document import warnings_of_all
from pumice.results.notes import notes_of_all, notes_of_reserves, notes_of_seeds
from pumice.runs.batch import keeping, run_jobs
from pumice.runs.fit import fit_jobs
from pumice.runs.grid import Grid, check_repeat, keys_of, parse_vary
from pumice.runs.jobs import Job, Outcome
from pumice.runs.spec import Spec
from pumice.runs.sweep import raise_if_refused
from pumice.runs.values import Value
from pumice.text import count, printable


@opt.takes_options
def compare_command(
    specs: Annotated[
        list[Path] | None, typer.Argument(metavar="[SPEC.toml]...", help="Spec files.", show_default=False)
    ] = None,
    *,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            "--vary",
            metavar="KEY=A,B",
            help="Values of a key to compare; repeatable: every combination.",
            autocompletion=completions.settings,
        ),
    ] = None,
    alone: Annotated[
        bool, typer.Option("--alone", help="Run every flow of one spec alone too, and show its slowdown by the others.")
    ] = False,
    options: opt.SpecOptions,
    fit: opt.FitOption = False,
    repeat: opt.RepeatOption = 1,
    metrics: opt.MetricsOption = None,
    out: opt.OutOption = None,
    as_json: opt.JsonOption = False,
    place: opt.PlaceOptions,
) -> None:
    """Run variants and show them side by side, with ratios to the first."""
    opt.check_resume(out, resume=place.resume)
    chosen = comparison.chosen_metrics(metrics)
    if alone and (vary or len(specs or []) > 1):
        raise SpecError("--alone compares the flows of one spec; allowed: at most one SPEC file, without --vary")
    groups = (
        _alone(options.build(specs[0] if specs else None), repeat)
        if alone
        else _groups(specs or [], options, vary or [], repeat)
    )
    if fit:
        groups = _fitted(groups)
    with output_directory(out):
        settings = place.settings("compare", out)
        outcomes = run_jobs([job for _, jobs in groups for job in jobs], settings)
        raise_if_refused(outcomes)
        variants = _variants(groups, outcomes)
        for line in warnings_of_all((one.label, document) for one in variants for document in one.documents):
            note(f"warning: {line}")
        if any(variant.documents for variant in variants):
            with keeping(outcomes, settings):
                _tell(variants, repeat, out, chosen, as_json=as_json, alone=alone)
        tell_failures(outcomes)


def _fitted(groups: list[tuple[str, list[Job]]]) -> list[tuple[str, list[Job]]]:
    """The groups with one device for all that replay the same trace."""
    jobs = iter(fit_jobs([job for _, group in groups for job in group], note))
    return [(label, list(itertools.islice(jobs, len(group)))) for label, group in groups]


def _alone(spec: Spec, repeat: int) -> list[tuple[str, list[Job]]]:
    """All flows of a spec together, then each flow alone, by its name."""
    check_repeat(repeat)
    flows = spec.resolve()["config"]["workload"].get("flow", [])
    if len(flows) < 2:
        raise SpecError(f"--alone needs a spec with at least two entries [[workload.flow]], found {len(flows)}")
    names = [flow["name"] or f"flow{number}" for number, flow in enumerate(flows)]
    specs = [("together", spec)]
    specs += [(name, spec.with_sets([("run.only_flow", str(number))], "--alone")) for number, name in enumerate(names)]
    return [(name, group) for name, one in specs for _, group in Grid(one, {}, repeat, name, "--alone").groups()]


def _tell(
    variants: list[Variant], repeat: int, out: Path | None, metrics: Sequence[Metric], *, as_json: bool, alone: bool
) -> None:
    if as_json:
        emit_json(json.dumps(comparison.index(variants)))
    else:
        together, *single = variants
        shown = comparison.slowdowns(together, {one.label: one for one in single}) if alone else variants
        _show(shown, repeat, metrics)
        _tell_notes(variants)
    if out is not None:
        from pumice.analysis import comparison_figures  # loaded here: only an output directory has figures

        with one_set(out, COMPARISON) as staged:
            comparison.write(variants, staged)
            comparison_figures.draw(variants, staged / FIGURES)
        (note if as_json else emit)(f"results and figures written to {out}")


def _tell_notes(variants: list[Variant]) -> None:
    """Writes each note once, with the variants that it is of."""
    done = [variant for variant in variants if variant.documents]
    lines = notes_of_all((variant.label, variant.documents[0]) for variant in done)
    lines += notes_of_reserves((variant.label, variant.documents[0]) for variant in done)
    lines += notes_of_seeds((variant.label, variant.documents) for variant in done)
    if lines:
        emit("\n".join(["", *(f"note: {line}" for line in lines)]))


def _groups(paths: list[Path], shared: opt.SpecOptions, vary: list[str], repeat: int) -> list[tuple[str, list[Job]]]:
    """Label and runs of each variant."""
    check_repeat(repeat)
    varied: dict[str, list[Value]] = {}
    for key, values in map(parse_vary, vary):
        if key in varied:
            raise SpecError(f"--vary {printable(key)} is given twice; write all its values behind one --vary")
        varied[key] = values
    given = shared.keys_given()
    for key in (key for entry in varied for key in keys_of(entry) if key in given):
        option = given[key].removeprefix("another ")
        raise SpecError(f"--vary {printable(key)}: {option} sets this key as well; allowed: one of them")
    specs = [shared.build(path) for path in paths]
    bases = list(zip(_names(paths), specs, strict=True)) or [("", shared.build(None))]
    groups = [group for name, spec in bases for group in Grid(spec, varied, repeat, name, "--vary").groups()]
    if len(groups) < 2:
        raise SpecError("compare needs at least two variants: several SPEC files, or --vary key=a,b")
    return groups


def _names(paths: list[Path]) -> list[str]:
    """What the variants of spec files are called: the file's name without its ending, or the path where two files would
    be called the same.

    Raises:
        SpecError: a file is given twice.
    """
    for place, path in enumerate(paths):
        if any(path == other or (path.exists() and other.exists() and path.samefile(other)) for other in paths[:place]):
            raise SpecError(f"{printable(str(path))}: is given twice; a variant is compared with others")
    stems = [path.stem for path in paths]
    return [printable(path.stem if stems.count(path.stem) == 1 else str(path)) for path in paths]


def _variants(groups: list[tuple[str, list[Job]]], outcomes: list[Outcome]) -> list[Variant]:
    rest = iter(outcomes)
    taken = [(label, [outcome.document for outcome in itertools.islice(rest, len(jobs))]) for label, jobs in groups]
    return [Variant(label, [document for document in documents if document is not None]) for label, documents in taken]


def _show(variants: list[Variant], repeat: int, metrics: Sequence[Metric] = comparison.METRICS) -> None:
    head, rows = comparison.as_text(variants, metrics)
    columns = [*(Column(name, "text") for name in head[:2]), *(Column(name.replace(", ", ",\n")) for name in head[2:])]
    groups = [1, *[2] * (len(variants) - 1)]
    show(Sheet(columns, rows, names=2, groups=groups), f"ratio relative to {variants[0].label}")
    if repeat > 1:
        noisy = any(cell.startswith("~") for row in rows for cell in row)
        emit(
            f"± is the 95 % interval of the mean over {count(repeat, 'seed')}"
            + ("; ~ marks differences within noise" if noisy else "")
        )
