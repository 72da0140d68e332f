"""The parts of a report that show one run, or one spec over several seeds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pumice import _engine, made
from pumice.errors import SpecError
from pumice.outputs import FILES
from pumice.report import figures
from pumice.report.over_time import windows
from pumice.report.parts import (
    Cards,
    Code,
    Download,
    Downloads,
    Facts,
    Figure,
    Figures,
    Heading,
    Line,
    Numbers,
    Part,
)
from pumice.report.timeline_figure import timeline_figure
from pumice.results.comparison import METRICS, Metric, Variant, compare, scale_of
from pumice.results.document import leaves, lookup, number, warnings_of
from pumice.results.fields import field, fields
from pumice.results.notes import notes_of, notes_of_seeds
from pumice.runs.values import toml_text
from pumice.text import count, duration_us, printable

#: What stands at the top, if the run has it: name, field, digits, unit.
_FIRST = (
    ("write latency, p99", "host.write.latency_us.p99", 0, "µs"),
    ("read latency, p99", "host.read.latency_us.p99", 0, "µs"),
    ("service IOPS", "host.service_iops", 0, ""),
    ("write amplification", "write_amplification", 2, ""),
    ("erases a page", "wear.aep", 3, ""),
    ("corrupt pages", "integrity.corrupt_pages", 0, ""),
)

#: The configurations of more results than this are not told by their digests.
_DIGESTS_MAX = 8


def run_parts(
    name: str,
    documents: Sequence[dict[str, Any]],
    directory: Path | None,
    prefix: str,
    metrics: Sequence[Metric] = METRICS,
) -> list[Part]:
    """The parts that show one run, or the runs of one spec.

    Args:
        name: heading.
        documents: results, one a seed.
        directory: what the run wrote, whose further files are shown; None for a document alone.
        prefix: begins names and ids of what is made here; unique in the page.
        metrics: what its table shows.

    Raises:
        SpecError: a file in the directory cannot be read.
    """
    document = documents[0]
    variant = Variant("mean" if len(documents) > 1 else "value", documents)
    parts: list[Part] = [Heading(printable(name)), Line(sentence(documents))]
    parts += [Line(warning, "warning") for warning in warnings_of(documents)]
    parts += [Line(line, "note") for line in [*notes_of(document), *notes_of_seeds([("", documents)])]]
    parts += [Cards(_first(variant)), Heading("What was measured", 3)]
    parts.append(Numbers(*number_rows(variant, metrics), "Results", hints=meanings()))
    parts += [Heading("Figures", 3), Figures(_figures(variant, directory, prefix))]
    hint = _not_asked_for(document, directory)
    parts += [Line(hint)] if hint and len(documents) == 1 else []
    parts += [Heading("What was run", 3), configuration(document)]
    parts += [every_field(document)] if len(documents) == 1 else []
    return [*parts, *reproduce(documents, directory)]


def sentence(documents: Sequence[Mapping[str, Any]]) -> str:
    """What was run, in a sentence."""
    document = documents[0]

    def of(path: str) -> Any:
        return lookup(document, path)

    gib = (number(document, "device.user_bytes") or 0) / 2**30
    size = f"{gib:,.3g} GiB" if gib >= 1 else f"{gib * 1024:,.3g} MiB"
    dies = [of(f"device.{name}") for name in ("channels", "chips_per_channel", "dies_per_chip")]
    shape = ""
    if all(isinstance(one, int) for one in dies):
        shape = f", {count(dies[0] * dies[1] * dies[2], 'die')} on {count(dies[0], 'channel')}"
    requests = int(number(document, "run.requests") or 0)
    seeds = f" over {count(len(documents), 'seed')}" if len(documents) > 1 else ""
    return (
        f"A device of {size} for its user{shape}, with the translation layer {of('config.ftl.kind')}, under the"
        f" workload {of('workload.kind')}: {count(requests, 'request')} measured{seeds}, scale {document.get('scale')}."
    )


def _first(variant: Variant) -> list[tuple[str, str]]:
    means = {metric.path: cells[0].value for metric, cells in compare([variant])}
    found = []
    for name, path, digits, unit in _FIRST:
        value = means.get(path)
        if value is not None:
            found.append((name, duration_us(value.mean) if unit else f"{value.mean:,.{digits}f}"))
    return found


def number_rows(variant: Variant, metrics: Sequence[Metric] = METRICS) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the figures of one spec, over its seeds if there are several."""
    many = len(variant.documents) > 1
    head = ["", "mean", "± 95 %", "unit"] if many else ["", "value", "unit"]
    rows = []
    for metric, (cell,) in compare([variant], metrics):
        if cell.value is None:
            continue
        scale = scale_of(metric, [cell.value.mean])
        spread = [scale.text(cell.value.half_width) if cell.value.half_width is not None else ""]
        rows.append([metric.label, scale.text(cell.value.mean), *(spread if many else []), scale.unit])
    return head, rows


def meanings() -> dict[str, str]:
    """What each row of a comparison means, by its label."""
    return {metric.label: field(metric.path).text for metric in METRICS}


def _figures(variant: Variant, directory: Path | None, prefix: str) -> list[Figure]:
    document = variant.documents[0]
    single = directory if len(variant.documents) == 1 else None
    over = windows(document, single) if len(variant.documents) == 1 else []
    drawn = [
        figures.percentiles([variant], figures.CURVES, f"{prefix}-latency"),
        figures.over_time(over, f"{prefix}-over-time"),
        figures.breakdown([variant], f"{prefix}-breakdown"),
        figures.collection(document, f"{prefix}-collection"),
        figures.utilisation(document, f"{prefix}-utilisation"),
        _wear_map(single, f"{prefix}-wear-map"),
        _timeline(single, f"{prefix}-timeline"),
    ]
    return [one for one in drawn if one is not None]


def _wear_map(directory: Path | None, prefix: str) -> Figure | None:
    path = directory / FILES["wear_map"] if directory is not None else None
    if path is None or not path.is_file():
        return None
    from pumice.arrays import read_array  # loaded here: most reports show no wear map, and need no NumPy

    erases = read_array(path)
    if erases.ndim != 2 or not erases.size or erases.dtype.kind != "u":
        raise SpecError(f"{path}: is not a wear map: counts in rows of blocks are expected")
    return figures.wear_map(erases, prefix)


def _timeline(directory: Path | None, prefix: str) -> Figure | None:
    path = directory / FILES["timeline"] if directory is not None else None
    return timeline_figure(path, prefix) if path is not None and path.is_file() else None


def _not_asked_for(document: Mapping[str, Any], directory: Path | None) -> str:
    """Which further figures a run can have that this one was not asked for."""
    missing = []
    if not windows(document, directory):
        missing.append("output.time_series_s=1 (latency over time)")
    for key, what in (("wear_map", "wear map"), ("timeline", "what every die did")):
        if directory is None or not (directory / FILES[key]).is_file():
            missing.append(f"output.{key}=true ({what})")
    return f"Figures that this run was not asked for: --set {', --set '.join(missing)}." if missing else ""


def configuration(document: Mapping[str, Any]) -> Numbers:
    """Every key of the resolved spec, with its default and its meaning."""
    rows = []
    for key, value in leaves(document.get("config") or {}):
        if value is None:
            continue
        about = _explained(key)
        unit = about.get("unit") or ""
        rows.append([key, _text(value), _text(about.get("default", "")), unit, about.get("text", "")])
    return Numbers(
        ["key", "value", "default", "unit", "meaning"],
        rows,
        "Configuration",
        "The spec with every default filled in, as the engine used it.",
        folded=f"All {count(len(rows), 'key')} of the configuration",
        text=True,
        sortable=True,
    )


def _explained(key: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(_engine.explain(key))
    except SpecError:  # a document of a version that had another key
        return {}
    return found


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def every_field(document: Mapping[str, Any]) -> Numbers:
    """Every field of the result that has a value, with its meaning."""
    rows = []
    for one in fields():
        value = lookup(document, one.path)
        if value is None or one.path.startswith("config") or one.path in ("time_series", "warnings"):
            continue
        if isinstance(value, Mapping):
            continue
        shown = _text(value)
        rows.append([one.path, shown if len(shown) <= 400 else f"{shown[:400]} …", one.unit, one.text])
    return Numbers(
        ["field", "value", "unit", "meaning"],
        rows,
        "Result",
        folded=f"All {count(len(rows), 'field')} of the result",
        text=True,
        sortable=True,
    )


def reproduce(documents: Sequence[Mapping[str, Any]], directory: Path | None) -> list[Part]:
    """How to get the same numbers again: spec, command, and where the ones here come from."""
    document = documents[0]
    wall = number(document, "run.wall_s")
    took = f"{wall:,.2f} s" if wall is not None else None
    about = made.read(directory) if directory is not None else {}
    again = f"pumice run spec.toml --scale {document.get('scale')}"
    if len(documents) > 1:
        again += f" --repeat {len(documents)}"
    plain = [[one.path, lookup(document, one.path), one.unit] for one in fields() if _is_plain(document, one.path)]
    files = [
        *Download.of("spec.toml", "the spec with every default filled in", spec_text(document), "application/toml"),
        *Download.of("result.json", "the result document", json.dumps(document, indent=1), "application/json"),
        *Download.table("result.csv", "its fields, one a row", ["field", "value", "unit"], plain),
    ]
    return [
        *how_made(about, [document], seed=document.get("seed"), trace=lookup(document, "workload.path"), took=took),
        Code("With the spec below, saved as spec.toml:", again),
        Downloads(files),
    ]


def how_made(about: Mapping[str, Any], documents: Sequence[Mapping[str, Any]], **further: Any) -> list[Part]:
    """Where results come from, under a heading: the command if it is known, version, commit, machine and time, the
    digests of configurations and traces, and `further` facts by name."""

    def each(path: str) -> str:
        return ", ".join(dict.fromkeys(str(value) for one in documents if (value := lookup(one, path)) is not None))

    found = {
        "preset": each("preset"),
        "version of pumice": each("version"),
        "commit": about.get("commit"),
        "SHA-256 of the configuration": each("config_sha256") if len(documents) <= _DIGESTS_MAX else None,
        "scale": each("scale"),
        "SHA-256 of the trace": each("workload.sha256"),
        "machine": ", ".join(str(about[key]) for key in ("processor", "system", "python") if about.get(key)),
        "written": about.get("written"),
        **further,
    }
    facts = [(name, printable(str(value))) for name, value in found.items() if value not in (None, "")]
    command = about.get("command")
    told = [Code("The command that wrote these files:", command)] if command else []
    return [Heading("How to reproduce this", 3), *told, Facts(facts)]


def spec_files(specs: Sequence[tuple[str, Mapping[str, Any]]], prefix: str) -> Downloads:
    """The specs of some results as files, each given by what it is and the result's document."""
    made_of = [
        Download.of(f"{prefix}-{nth}.toml", what, spec_text(document), "application/toml")
        for nth, (what, document) in enumerate(specs, 1)
    ]
    return Downloads([file for files in made_of for file in files])


def _is_plain(document: Mapping[str, Any], path: str) -> bool:
    return isinstance(lookup(document, path), str | int | float)


def spec_text(document: Mapping[str, Any]) -> str:
    """A spec file that resolves to the configuration of a document."""
    sections: dict[str, list[str]] = {"": []}
    for key, value in leaves(document.get("config") or {}):
        if value is not None:
            section, _, name = key.rpartition(".")
            sections.setdefault(section, []).append(f"{name} = {toml_text(key, value)}")
    blocks = ["\n".join([f"[{section}]"] * bool(section) + lines) for section, lines in sections.items() if lines]
    return "\n\n".join(blocks) + "\n"
