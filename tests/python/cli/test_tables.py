"""Tables on the terminal: at no width is a number cut off."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest
from rich.cells import cell_len

from conftest import on_a_terminal
from pumice.cli.compare_command import _show
from pumice.cli.tables import Column, Sheet, lines_of
from pumice.results.comparison import METRICS, Variant, as_text, index, write

WIDTHS = (40, 60, 80, 120)

#: Values with many digits: a table of four variants is wider than 120 columns.
ROWS = [
    ["write latency, mean", "µs", "61,048,255.2 ± 1,234.5", "8,734,120.5 ± 1,234.5", "~0.181", "12.25", "0.900"],
    ["merges, M-Merge", "", "–", "12,743", "–", "1,000,000", "–"],
    ["AEP (erases per page)", "", "3.5646", "1.9658", "0.551", "0.8125", "0.228"],
]
HEADS = ["", "unit", "max_splits = 3", "max_splits = 4", "ratio", "merge = block-erase", "ratio"]


def sheet(kind: str = "compare") -> Sheet:
    columns = [*(Column(name, "text") for name in HEADS[:2]), *map(Column, HEADS[2:])]
    return Sheet(columns, ROWS, names=2, groups=[1, 2, 2] if kind == "compare" else ())


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", ["compare", "whole"])
def test_every_number_is_whole_at_every_width(width: int, kind: str) -> None:
    lines = lines_of(sheet(kind), width)
    assert max(map(cell_len, lines)) <= width
    shown = " ".join(lines)
    for row in ROWS:
        for cell in row[2:]:
            assert cell in shown
    assert "…" not in shown
    # A name may be wrapped, so its words are looked for.
    assert set(re.findall(r"\S+", " ".join([*HEADS[2:], *(row[0] for row in ROWS)]))) <= set(shown.split())


def test_a_table_that_fits_is_one_table() -> None:
    lines = lines_of(sheet(), 120)
    assert len(lines) == len(ROWS) + 2
    assert lines[0].split() == " ".join(HEADS).split()


def test_a_table_that_does_not_fit_is_split_between_groups() -> None:
    lines = lines_of(sheet(), 60)
    heads = [line for line in lines if "ratio" in line or "max_splits" in line]
    assert len(heads) > 1
    assert sum("block-erase" in line for line in lines) == 1
    assert sum(line.startswith("AEP") for line in lines) == len(heads)


def test_where_no_table_fits_rows_become_lists() -> None:
    lines = lines_of(sheet(), 30)
    assert lines[0] == "write latency, mean  µs"
    assert lines[1].split() == ["max_splits", "=", "3"]
    assert lines[2].strip() == "61,048,255.2 ± 1,234.5", "no room beside the name"
    assert all(cell in "\n".join(lines) for row in ROWS for cell in row[2:])


def test_words_are_never_broken() -> None:
    texts = Sheet([Column("row", "text"), Column("verdict", "text"), Column("what", "text")],
                  [["pen.fig6_copies", "reproduced", "copies to merge one outdated PB of a block"]])  # fmt: skip
    for width in (*WIDTHS, 20, 8):
        shown = "\n".join(lines_of(texts, width)).split()
        assert {"pen.fig6_copies", "reproduced", "outdated"} <= set(shown)


def test_wide_characters_count_twice() -> None:
    lines = lines_of(Sheet([Column("", "text"), Column("n")], [["装置", "1"], ["ab", "20"]]), 40)
    assert [cell_len(line) for line in lines[2:]] == [8, 8]


def test_a_comparison_without_runs_of_a_variant_still_has_a_table() -> None:
    head, rows = as_text([Variant("a", []), Variant("b", [])])
    assert lines_of(Sheet([Column(name) for name in head], rows, names=2, groups=[1, 2]), 80)[0]


def test_a_ratio_that_may_be_chance_is_marked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On the terminal, below its table, as JSON and as CSV; a difference that is none by chance has no mark."""
    pairs = {"base": [10.0, 20.0, 30.0], "noisy": [11.0, 19.0, 30.5], "clear": [11.0, 21.1, 30.9]}
    variants = [Variant(name, [{"write_amplification": one} for one in values]) for name, values in pairs.items()]
    ((*_, noisy, _, clear),) = as_text(variants)[1]
    assert (noisy, clear) == ("~1.008", "1.050")
    assert [one["within_noise"] for one in index(variants)["rows"][0]["values"]] == [None, True, False]
    write(variants, tmp_path)
    head, row = csv.reader((tmp_path / "comparison.csv").read_text().splitlines())
    marks = {name: mark for name, mark in zip(head, row, strict=True) if name.endswith("within noise")}
    assert marks == {"base within noise": "", "noisy within noise": "True", "clear within noise": "False"}
    for shown, is_marked in ((variants, True), (variants[::2], False)):
        _show(shown, repeat=3)
        text = capsys.readouterr().out
        assert ("~1.008" in text, "; ~ marks differences within noise" in text) == (is_marked, is_marked)
        assert "± is the 95 % interval of the mean over 3 seeds" in text


@pytest.mark.parametrize("width", WIDTHS)
def test_a_comparison_on_a_terminal_shows_every_number(tmp_path: Path, width: int) -> None:
    """At 80 columns `compare` showed `61,…` and `0.8…`."""
    tiny = ("--preset", "tiny", "--set", "run.max_requests=1000", "--set", "ftl.merge=m-merge")
    arguments = ["compare", *tiny, "--vary", "partial_erase.max_splits=1,2,3,4", "--out", "out"]
    shown = on_a_terminal(arguments, width, tmp_path)
    table = shown.partition("\nnote: ")[0]
    assert max(map(len, table.splitlines())) <= width
    assert "…" not in shown
    numbers = set(re.findall(r"[\d,.]*\d", table))
    for row in json.loads((tmp_path / "out" / "comparison.json").read_text())["rows"]:
        digits = next(metric.digits for metric in METRICS if metric.path == row["field"])
        for value in row["values"]:
            assert value["mean"] is None or f"{value['mean']:,.{digits}f}" in numbers
            assert value["ratio"] is None or f"{value['ratio']:.3f}" in numbers
    assert all(f"max_splits = {splits}" in " ".join(table.split()) for splits in (1, 2, 3, 4))
