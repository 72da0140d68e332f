"""Reports: one HTML file that holds everything it shows and needs neither network nor scripts."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from pumice import files
from pumice.analysis import plots
from pumice.errors import SpecError
from pumice.papers import listing
from pumice.papers.scoreboard import ROW_FIELDS, VERDICTS
from pumice.results import comparison
from pumice.results.comparison import Variant, compare
from pumice.results.document import lookup, warnings_of
from pumice.results.result import read_json, read_result
from pumice.runs.output_files import FILES

STYLE = """
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 66rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: .2rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; }
p.sub { color: #666; margin-top: 0; }
table { border-collapse: collapse; margin: .6rem 0; font-size: .9rem; }
th, td { padding: .25rem .8rem .25rem 0; text-align: right; border-bottom: 1px solid #e4e4e4; vertical-align: top; }
th:first-child, td:first-child, td.text, th.text { text-align: left; }
td.text { overflow-wrap: anywhere; }
.reproduced { color: #00664b; font-weight: 600; } .missed { color: #b04300; font-weight: 600; }
.not-run { color: #777; }
figure { margin: 1.2rem 0; } figure img { max-width: 100%; } figcaption { color: #666; font-size: .85rem; }
.warning { border-left: 4px solid #e69f00; padding-left: .8rem; }
pre { font-size: .8rem; overflow-x: auto; background: #f7f7f7; padding: .8rem; }
"""


def write_report(sources: Sequence[Path], path: Path) -> None:
    """Writes a report on results, comparisons and reproductions.

    Args:
        sources: result files, and directories that `run`, `compare` or `reproduce` wrote.
        path: the HTML file.

    Raises:
        SpecError: a source cannot be read or holds nothing to report.
        OSError: the report cannot be written.
    """
    parts = [part for source in sources for part in _section(source)]
    title = "pumice report"
    body = f"<h1>{title}</h1>\n<p class=sub>{_count(sources)}</p>\n" + "\n".join(parts)
    files.write_text(
        path,
        f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{STYLE}</style></head>\n<body>\n{body}\n</body>\n</html>\n",
    )


def _count(sources: Sequence[Path]) -> str:
    return escape(", ".join(str(source) for source in sources))


def _section(source: Path) -> list[str]:
    if not source.is_dir():
        document = read_result(source).document
        return [f"<h2>{escape(source.name)}</h2>", *_results([Variant(source.stem, [document])])]
    if (source / comparison.INDEX).exists():
        variants = [variant for variant in comparison.read(source) if variant.documents]
        if not variants:
            raise SpecError(f"{source / comparison.INDEX}: holds no results")
        return [f"<h2>Comparison: {escape(source.name)}</h2>", *_results(variants), *_figures(source)]
    if (source / "scoreboard.json").exists():
        parts = sorted(found.parent for found in source.glob("*/scoreboard.json"))
        own = _totals(source) if parts else _scoreboard(source)
        return [*own, *(line for part in parts for line in _section(part)), *_own_table(source), *_figures(source)]
    found = sorted(source.glob("*.json")) or sorted((source / "runs").glob("*.json"))
    if not found:
        raise SpecError(f"{source}: holds no results; expected what run, compare, sweep or reproduce write")
    return [part for file in found for part in _section(file)] + _wear_map(source)


def _results(variants: Sequence[Variant]) -> list[str]:
    warnings = warnings_of(document for variant in variants for document in variant.documents)
    parts = [f"<p class=warning>{escape(warning)}</p>" for warning in warnings]
    parts.append(_comparison_table(variants))
    for variant in variants:
        document = variant.documents[0]
        identity = f"version {document.get('version')}, configuration {document.get('config_sha256')}"
        facts = f"{lookup(document, 'workload.kind')}, scale {document.get('scale')}, {len(variant.documents)} run(s)"
        config = escape(json.dumps(document.get("config"), indent=2))
        parts.append(
            f"<details><summary>{escape(variant.label)}: {escape(facts)}</summary>"
            f"<p class=sub>{escape(identity)}</p><pre>{config}</pre></details>"
        )
    return parts


def _comparison_table(variants: Sequence[Variant]) -> str:
    head = ["", "unit", variants[0].label]
    for variant in variants[1:]:
        head += [variant.label, "ratio"]
    rows: list[list[str]] = []
    for metric, cells in compare(variants):
        row = [metric.label, metric.unit]
        for place, cell in enumerate(cells):
            spread = (
                f" ± {cell.value.half_width:,.{metric.digits}f}"
                if cell.value and cell.value.half_width is not None
                else ""
            )
            row.append(f"{cell.value.mean:,.{metric.digits}f}{spread}" if cell.value else "–")
            if place:
                row.append("–" if cell.ratio is None else f"{'~' if cell.noise else ''}{cell.ratio:.3f}")
        rows.append(row)
    return _table(head, rows)


def _totals(source: Path) -> list[str]:
    """What a scoreboard that joins others comes to, paper by paper; the rows follow in the papers' own."""
    rows = _rows(source / "scoreboard.json")
    by_paper: dict[str, list[str]] = {}
    for row in rows:
        by_paper.setdefault(row["id"].partition(".")[0], []).append(row["verdict"])
    counts = [[paper, *(str(given.count(verdict)) for verdict in VERDICTS)] for paper, given in by_paper.items()]
    total = ["all", *(str(sum(row["verdict"] == v for row in rows)) for v in VERDICTS)]
    return [f"<h2>Reproductions: {escape(source.name)}</h2>", _table(["paper", *VERDICTS], [*counts, total])]


def _scoreboard(source: Path) -> list[str]:
    rows = _rows(source / "scoreboard.json")
    counts = [f"{sum(row['verdict'] == v for row in rows)} {v}" for v in VERDICTS]
    if not rows:
        return [f"<h2>Experiment: {escape(source.name)}</h2>"]
    head = ["row", "what", "published", "simulated", "accepted", "verdict", "note"]
    lines = ["".join(f"<th class=text>{name}</th>" for name in head)]
    for row in rows:
        cells = [row["id"], row["what"], _values(row["published"]), _values(row["simulated"]), accepted(row)]
        text = "".join(f"<td class=text>{escape(cell)}</td>" for cell in cells)
        text += (
            f'<td class="text {row["verdict"]}">{row["verdict"]}</td><td class=text>{escape(row["note"] or "")}</td>'
        )
        lines.append(text)
    table = "<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"
    return [f"<h2>Reproduction: {escape(source.name)}</h2>", f"<p class=sub>{', '.join(counts)}</p>", table]


def _own_table(source: Path) -> list[str]:
    """The table that stands beside a reproduction's figures, if it has one."""
    path = source / listing.FILE
    if not path.exists():
        return []
    found = read_json(path)
    if not isinstance(found, dict) or not found.keys() >= {"title", "columns", "rows", "notes"}:
        raise SpecError(f"{path}: not a table; expected title, columns, rows and notes")
    rows = [[listing.text(value) for value in row] for row in found["rows"]]
    notes = [f"<p class=sub>{escape(line)}</p>" for line in found["notes"]]
    return [f"<h3>{escape(found['title'])}</h3>", _table(found["columns"], rows), *notes]


def _rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a scoreboard.

    Raises:
        SpecError: the file cannot be read, or a row lacks a field.
    """
    rows = read_json(path)
    if not isinstance(rows, list) or not all(isinstance(row, dict) and row.keys() >= ROW_FIELDS for row in rows):
        raise SpecError(f"{path}: not a scoreboard; expected a list of rows with {', '.join(sorted(ROW_FIELDS))}")
    return rows


def accepted(row: dict[str, Any]) -> str:
    """What a scoreboard row accepts, in words."""
    if row["kind"] == "number":
        ranges = [f"{lo:g} … {hi:g}" for lo, hi in zip(row["lo"], row["hi"], strict=True)]
        return "; ".join([*ranges, *filter(None, [row["rule"]])])
    return "equal" if row["kind"] == "exact" else str(row["rule"])


def _values(values: Any) -> str:
    if values is None:
        return "–"
    listed = values if isinstance(values, list) else [values]
    return ", ".join(f"{value:.4g}" if isinstance(value, float) else f"{value}" for value in listed)


def _figures(source: Path) -> Iterable[str]:
    for image in sorted((source / "figures").glob("*.png")):
        data = base64.b64encode(image.read_bytes()).decode()
        name = escape(image.stem)
        yield f'<figure><img alt="{name}" src="data:image/png;base64,{data}"><figcaption>{name}</figcaption></figure>'


def _wear_map(source: Path) -> list[str]:
    import numpy as np

    path = source / FILES["wear_map"]
    if not path.exists():
        return []
    try:
        erases = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise SpecError(f"{path}: cannot be read: {error}") from None
    if erases.ndim != 2 or not erases.size or erases.dtype.kind != "u":
        raise SpecError(f"{path}: is no wear map: counts in rows of blocks are expected")
    data = base64.b64encode(plots.wear_png(erases)).decode()
    return [f'<figure><img alt="wear map" src="data:image/png;base64,{data}"></figure>']


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["".join(f"<th>{escape(cell)}</th>" for cell in head)]
    lines += ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows]
    return "<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"
