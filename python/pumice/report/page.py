"""Reports: one HTML file that holds everything it shows, needs no network, and shows all of it without scripts."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pumice import _engine, files, made
from pumice.errors import SpecError
from pumice.outputs import COMPARISON, LISTING, RESULT, RUNS, SCOREBOARD, STORE, figures_of_set
from pumice.report.comparison_parts import comparison_parts
from pumice.report.parts import Heading, Line, Numbers, Part, Picture, Scoreboard, ScoreboardRow
from pumice.report.run_parts import number_rows, run_parts
from pumice.report.scoreboard import (
    ROW_FIELDS,
    VERDICTS,
    accepted,
    cell_text,
    counts,
    counts_text,
    predicted,
    simulated_text,
    values_text,
)
from pumice.report.sweep_parts import sweep_parts
from pumice.results import comparison
from pumice.results.chosen_figure import stored_runs
from pumice.results.comparison import METRICS, Metric, Variant
from pumice.results.grid_summary import OF_DEVICE, Run, points
from pumice.results.grid_summary import table as grid_table
from pumice.results.result import read_result
from pumice.results.stored import read_json
from pumice.results.table_text import ENDINGS, table_text
from pumice.runs import run_list
from pumice.text import printable

TEMPLATE = "report.html.jinja"


def write_report(sources: Sequence[Path], path: Path, metrics: Sequence[Metric] = METRICS) -> None:
    """Writes a report on results, comparisons and reproductions, or where `path` has an ending of a table the table of
    the first of them.

    Args:
        sources: result files, and directories that `run`, `compare` or `reproduce` wrote.
        path: the HTML file, or one that ends in .csv, .md or .tex.
        metrics: what tables and figures show.

    Raises:
        SpecError: a source cannot be read or holds nothing to report.
        OSError: the report cannot be written.
    """
    if path.suffix in ENDINGS:
        files.write_text(path, table_text(*_table(sources[0], metrics), path.suffix))
        return
    found = [part for nth, source in enumerate(sources, 1) for part in _parts(source, f"part{nth}", metrics)]
    title = "pumice report"
    if len(sources) == 1 and isinstance(found[0], Heading):
        title, found = found[0].text, found[1:]
    files.write_text(path, page_text(title, [printable(str(source)) for source in sources], found))


def page_text(title: str, sources: Sequence[str], parts: Sequence[Part], *, home: bool = False) -> str:
    """A page that shows these parts, as HTML.

    Args:
        title: its heading; other headings begin below it.
        sources: what it is about, in a line below the title.
        parts: what it shows.
        home: whether it is a page of the workbench, which leads back to the list.
    """
    import jinja2  # loaded here: only pages need it

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("pumice.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    top = all(part.level > 2 for part in parts if isinstance(part, Heading))
    numbered = _with_ids([_raised(part) for part in parts] if top else parts)
    headings = [part for part in numbered if isinstance(part, Heading)]
    return environment.get_template(TEMPLATE).render(
        title=title,
        sources=list(sources),
        version=_engine.version(),
        contents=_contents(headings),
        parts=numbered,
        home=home,
    )


@dataclass(frozen=True)
class _Entry:
    """A line of the contents."""

    id: str
    text: str
    below: list[_Entry] = field(default_factory=list)


def _raised(part: Part) -> Part:
    """A heading one level up, where the page's title takes the place of the first."""
    return replace(part, level=max(2, part.level - 1)) if isinstance(part, Heading) else part


def _with_ids(parts: Sequence[Part]) -> list[Part]:
    """The parts with an id at each heading."""
    return [
        replace(part, id=f"section-{place}") if isinstance(part, Heading) else part for place, part in enumerate(parts)
    ]


def _contents(headings: Sequence[Heading]) -> list[_Entry]:
    contents: list[_Entry] = []
    for heading in headings:
        entry = _Entry(heading.id, heading.text)
        (contents[-1].below if heading.level > 2 and contents else contents).append(entry)
    return contents


def _table(source: Path, metrics: Sequence[Metric]) -> tuple[list[str], list[list[str]]]:
    """Head and rows of what a run, a comparison or a sweep found.

    Raises:
        SpecError: the source holds none.
    """
    if (source / COMPARISON).exists():
        return comparison.as_text(comparison.shortened(comparison.read(source))[1], metrics)
    runs = stored_runs(source) if source.is_dir() else [Run("", {}, read_result(source).document)]
    if any(run.varied for run in runs):
        return grid_table(points(runs), OF_DEVICE if metrics is METRICS else metrics)
    return number_rows(Variant("", [dict(run.document or {}) for run in runs]), metrics)


def _parts(source: Path, prefix: str, metrics: Sequence[Metric]) -> list[Part]:
    """The parts that show a result file, or a directory of results, a comparison or a reproduction."""
    if not source.is_dir():
        document = read_result(source).document
        return run_parts(source.name, [document], None, prefix, metrics)
    if (source / RESULT).exists():
        return run_parts(_name(source), [read_result(source / RESULT).document], source, prefix, metrics)
    about = made.read(source)
    if (source / COMPARISON).exists():
        variants = [variant for variant in comparison.read(source) if variant.documents]
        if not variants:
            raise SpecError(f"{source / COMPARISON}: holds no results")
        return comparison_parts(f"Comparison: {_name(source)}", variants, about, prefix, metrics)
    if (source / SCOREBOARD).exists():
        return _reproduction(source, prefix, metrics)
    if (source / RUNS).exists():
        return _runs(source, about, prefix, metrics)
    # A study that was interrupted has no index yet, and the store of a study never has.
    found = sorted(source.glob("*.json")) or sorted((source / STORE).glob("*.json"))
    if not found:
        raise SpecError(f"{source}: holds no results; expected what run, compare, sweep or reproduce write")
    documents = [(file.stem, read_result(file).document) for file in found]
    runs = [Run(name, {"result": name}, document) for name, document in documents]
    return sweep_parts(f"Results in {_name(source)}", runs, about, prefix, metrics=metrics)


def _runs(source: Path, about: Mapping[str, Any], prefix: str, metrics: Sequence[Metric]) -> list[Part]:
    """The parts that show a sweep, or one spec over several seeds."""
    runs = run_list.read(source)
    documents = [dict(run.document) for run in runs if run.document is not None]
    if not documents:
        raise SpecError(f"{source / RUNS}: holds no results")
    if not any(run.varied for run in runs):
        return run_parts(_name(source), documents, source, prefix, metrics)
    return sweep_parts(
        f"Sweep: {_name(source)}", runs, about, prefix, file=run_list.sweep_file(source), metrics=metrics
    )


def _name(source: Path) -> str:
    return printable(source.resolve().name)


def _reproduction(source: Path, prefix: str, metrics: Sequence[Metric]) -> list[Part]:
    """The parts that show a reproduction, or several that were made together, paper by paper."""
    rows = _rows(source / SCOREBOARD)
    papers = list(dict.fromkeys(row["id"].partition(".")[0] for row in rows))
    joined = [source / paper for paper in papers if (source / paper / SCOREBOARD).exists()] if len(papers) > 1 else []
    own = _totals(source, rows) if joined else _scoreboard(source, rows)
    about = made.read(source)
    how: list[Part] = [Line(f"Written by `{about['command']}`.")] if about.get("command") else []
    return [
        *own,
        *how,
        *(part for paper in joined for part in _parts(paper, prefix, metrics)),
        *_listing(source),
        *_pictures(source),
    ]


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
    rows = [[cell_text(value) for value in row] for row in found["rows"]]
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
