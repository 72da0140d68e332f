"""Reports: one HTML file that holds everything it shows and needs neither network nor scripts."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pumice import files
from pumice.analysis import plots
from pumice.errors import SpecError
from pumice.outputs import COMPARISON, FILES, LISTING, RESULT, RUNS, SCOREBOARD, STORE, figures_of_set
from pumice.papers import listing
from pumice.papers.scoreboard import (
    ROW_FIELDS,
    VERDICTS,
    accepted,
    counts,
    counts_text,
    predicted,
    simulated_text,
    values_text,
)
from pumice.report.parts import Configuration, Heading, Line, Numbers, Part, Picture, Scoreboard, ScoreboardRow
from pumice.results import comparison
from pumice.results.comparison import Variant, as_text
from pumice.results.document import lookup, warnings_of
from pumice.results.result import read_json, read_result
from pumice.runs import run_list
from pumice.text import count, printable

TEMPLATE = "report.html.jinja"


def write_report(sources: Sequence[Path], path: Path) -> None:
    """Writes a report on results, comparisons and reproductions.

    Args:
        sources: result files, and directories that `run`, `compare` or `reproduce` wrote.
        path: the HTML file.

    Raises:
        SpecError: a source cannot be read or holds nothing to report.
        OSError: the report cannot be written.
    """
    import jinja2  # loaded here: only reports need it

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("pumice.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    parts = [part for source in sources for part in _parts(source)]
    files.write_text(
        path,
        environment.get_template(TEMPLATE).render(sources=[printable(str(source)) for source in sources], parts=parts),
    )


def _parts(source: Path) -> list[Part]:
    """The parts that show a result file, or a directory of results, a comparison or a reproduction."""
    if not source.is_dir():
        return _result(source, source.name)
    if (source / RESULT).exists():
        return [*_result(source / RESULT, source.name), *_wear_map(source)]
    if (source / COMPARISON).exists():
        variants = [variant for variant in comparison.read(source) if variant.documents]
        if not variants:
            raise SpecError(f"{source / COMPARISON}: holds no results")
        return [Heading(f"Comparison: {_name(source)}"), *_results(variants), *_pictures(source)]
    if (source / SCOREBOARD).exists():
        return _reproduction(source)
    if (source / RUNS).exists():
        return [part for label, file in run_list.read(source) for part in _result(file, label)]
    # A study that was interrupted has no index yet, and the store of a study never has.
    found = sorted(source.glob("*.json")) or sorted((source / STORE).glob("*.json"))
    if not found:
        raise SpecError(f"{source}: holds no results; expected what run, compare, sweep or reproduce write")
    return [part for file in found for part in _result(file, file.name)]


def _name(source: Path) -> str:
    return printable(source.name)


def _result(file: Path, name: str) -> list[Part]:
    """The parts that show one result."""
    document = read_result(file).document
    return [Heading(printable(name)), *_results([Variant(_name(file).removesuffix(".json"), [document])])]


def _reproduction(source: Path) -> list[Part]:
    """The parts that show a reproduction, or several that were made together, paper by paper."""
    rows = _rows(source / SCOREBOARD)
    papers = list(dict.fromkeys(row["id"].partition(".")[0] for row in rows))
    joined = [source / paper for paper in papers if (source / paper / SCOREBOARD).exists()] if len(papers) > 1 else []
    own = _totals(source, rows) if joined else _scoreboard(source, rows)
    return [*own, *(part for paper in joined for part in _parts(paper)), *_listing(source), *_pictures(source)]


def _results(variants: Sequence[Variant]) -> list[Part]:
    warnings = warnings_of(document for variant in variants for document in variant.documents)
    head, rows = as_text(variants)
    parts: list[Part] = [*(Line(warning, "warning") for warning in warnings), Numbers(head, rows)]
    for variant in variants:
        document = variant.documents[0]
        runs = count(len(variant.documents), "run")
        facts = f"{lookup(document, 'workload.kind')}, scale {document.get('scale')}, {runs}"
        identity = f"version {document.get('version')}, configuration {document.get('config_sha256')}"
        config = json.dumps(document.get("config"), indent=2)
        parts.append(Configuration(f"{variant.label}: {facts}", identity, config))
    return parts


def _totals(source: Path, rows: Sequence[dict[str, Any]]) -> list[Part]:
    """The verdicts of a scoreboard that joins others, counted paper by paper, of all rows and of the predicted
    ones; its rows follow paper by paper."""
    by_paper: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_paper.setdefault(row["id"].partition(".")[0], []).append(row)
    by_paper["all"] = list(rows)
    lines = [[paper, *_verdicts(own), *_verdicts(predicted(own))] for paper, own in by_paper.items()]
    head = ["paper", *VERDICTS, *(f"predicted: {verdict}" for verdict in VERDICTS)]
    return [Heading(f"Reproductions: {_name(source)}"), Numbers(head, lines)]


def _verdicts(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return [str(count) for count in counts(rows).values()]


def _scoreboard(source: Path, rows: Sequence[dict[str, Any]]) -> list[Part]:
    if not rows:
        return [Heading(f"Experiment: {_name(source)}")]
    shown = [
        ScoreboardRow(
            [
                row["id"],
                row["what"],
                values_text(row["published"]),
                simulated_text(row),
                accepted(row),
                row["basis"],
            ],
            row["verdict"],
            row["note"] or "",
        )
        for row in rows
    ]
    head = ["row", "what", "published", "simulated", "accepted", "basis", "verdict", "note"]
    return [Heading(f"Reproduction: {_name(source)}"), Line(counts_text(rows)), Scoreboard(head, shown)]


def _listing(source: Path) -> list[Part]:
    """The listing that stands beside a reproduction's figures, if it has one."""
    path = source / LISTING
    if not path.exists():
        return []
    found = read_json(path)
    if not isinstance(found, dict) or not found.keys() >= {"title", "columns", "rows", "notes"}:
        raise SpecError(f"{path}: not a table; expected title, columns, rows and notes")
    rows = [[listing.cell_text(value) for value in row] for row in found["rows"]]
    return [Heading(found["title"], 3), Numbers(found["columns"], rows), *map(Line, found["notes"])]


def _rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a scoreboard.

    Raises:
        SpecError: the file cannot be read, or a row lacks a field.
    """
    rows = read_json(path)
    if not isinstance(rows, list) or not all(isinstance(row, dict) and row.keys() >= ROW_FIELDS for row in rows):
        raise SpecError(f"{path}: not a scoreboard; expected a list of rows with {', '.join(sorted(ROW_FIELDS))}")
    return rows


def _pictures(source: Path) -> list[Part]:
    images = [path for path in figures_of_set(source) if path.suffix == ".png"]
    return [Picture(image.stem, base64.b64encode(image.read_bytes()).decode()) for image in images]


def _wear_map(source: Path) -> list[Part]:
    path = source / FILES["wear_map"]
    if not path.is_file():
        return []
    from pumice.arrays import read_array  # loaded here: most reports show no wear map, and need no NumPy

    erases = read_array(path)
    if erases.ndim != 2 or not erases.size or erases.dtype.kind != "u":
        raise SpecError(f"{path}: is no wear map: counts in rows of blocks are expected")
    return [Picture("wear map", base64.b64encode(plots.wear_png(erases)).decode(), caption=False)]
