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
from pumice.errors import SpecError
from pumice.results.comparison import (
    METRICS,
    Metric,
    Variant,
    as_text,
    chosen_metrics,
    index,
    ratio_text,
    result_in_a_sentence,
    scale_of,
    shortened,
    write,
)
from pumice.text import duration_us

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


def test_a_latency_is_shown_in_the_unit_that_suits_it() -> None:
    """353,466,584.0 µs are 353 s. The smallest of a row keeps three digits."""
    latency, erases = METRICS[0], Metric("erases", "wear.aep", 4)
    shown = {
        means: (scale_of(latency, means).unit, [scale_of(latency, means).text(mean) for mean in means])
        for means in [(353_466_584.0,), (48_255.2, 8_734.5), (900.0, 9_000.0), (0.0,), (14_172_761.0, 44.4)]
    }
    assert list(shown.values()) == [
        ("s", ["353.5"]), ("ms", ["48.26", "8.73"]), ("µs", ["900.0", "9,000.0"]), ("µs", ["0.0"]),
        ("ms", ["14,172.7610", "0.0444"]),
    ]  # fmt: skip
    assert scale_of(erases, [1e9]).text(1e9) == "1,000,000,000.0000"
    texts = [duration_us(us) for us in (353_466_584.0, 12_345.6, 123_456.0, 4.56, 0.0)]
    assert texts == ["353 s", "12.3 ms", "123 ms", "4.56 µs", "0.00 µs"]


def test_a_ratio_that_is_not_0_does_not_look_like_0() -> None:
    assert [ratio_text(ratio) for ratio in (0.0, 3.1e-6, 0.0005, 0.52, 12.0)] == [
        "0.000", "3.1e-06", "0.001", "0.520", "12.000",
    ]  # fmt: skip


def test_variants_are_named_by_what_sets_them_apart() -> None:
    def short(*labels: str) -> tuple[str, list[str]]:
        apart, named = shortened([Variant(label, []) for label in labels])
        return apart, [variant.label for variant in named]

    assert short("merge = block-erase", "merge = m-merge") == ("merge", ["block-erase", "m-merge"])
    assert short("x = a [1, 2], splits = 0", "x = a [1, 2], splits = 3") == ("splits", ["splits 0", "splits 3"])
    assert short("merge = one, splits = 0", "merge = two, splits = 3")[1] == ["one / splits 0", "two / splits 3"]
    for labels in (("a", "b"), ("merge = one", "b"), ("merge = one",), ("merge = one", "merge = one")):
        assert short(*labels) == ("", list(labels))


def test_a_comparison_is_told_in_a_sentence() -> None:
    def found(us: float, amplification: float) -> dict[str, object]:
        return {"host": {"write": {"latency_us": {"mean": us}}}, "write_amplification": amplification}

    base, merge, third = (Variant(*of) for of in (("full", [found(10, 4)]), ("m", [found(5, 1)]), ("x", [found(8, 8)])))
    assert result_in_a_sentence([base, merge]) == (
        "m (ratios): mean write latency 0.500 of that with full, write amplification 0.250."
    )
    assert result_in_a_sentence([base, third, merge]).startswith("m (the lowest): mean write latency 0.500 of")
    assert result_in_a_sentence([base]) == ""


def test_metrics_are_chosen_by_field_or_label() -> None:
    chosen = chosen_metrics("write latency p99, gc.invocations,waf")
    assert [metric.path for metric in chosen] == ["host.write.latency_us.p99", "gc.invocations", "write_amplification"]
    assert chosen_metrics(None) == METRICS
    for name, words in (("write_amplificaton", "is unknown"), ("", "is unknown"), ("workload.kind", "is no number")):
        with pytest.raises(SpecError, match=words):
            chosen_metrics(name)


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
        metric = next(metric for metric in METRICS if metric.path == row["field"])
        scale = scale_of(metric, [value["mean"] for value in row["values"]])
        for value in row["values"]:
            assert value["mean"] is None or scale.text(value["mean"]) in numbers
            assert value["ratio"] is None or f"{value['ratio']:.3f}" in numbers
    assert all(f"max_splits = {splits}" in " ".join(table.split()) for splits in (1, 2, 3, 4))
