"""`pumice plot`: any key or field of stored runs over any other, as a figure or a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pumice import cli
from pumice.analysis.plots import Curve, Frame, Scale, lines
from pumice.cli import plot_command
from pumice.cli.plot_command import table_of
from pumice.errors import SpecError
from pumice.results.chosen_figure import Choice, label, named, places
from pumice.results.grid_summary import Run
from pumice.results.table_text import table_text


def run(merge: str, spare: float, seed: int, waf: float, **more: Any) -> Run:
    """A run of a sweep over merges and spare shares, with one result."""
    config = {"seed": seed, "ftl": {"merge": merge, "over_provisioning": spare, "kind": "nftl"}, **more}
    document = {"config": config, "write_amplification": waf, "host": {"write": {"latency_us": {"p99": 100.0 * waf}}}}
    return Run(merge, {"ftl.merge": merge, "ftl.over_provisioning": spare}, document)


RUNS = [
    run("m-merge", 0.3, 1, 2.0),
    run("m-merge", 0.2, 1, 3.0),
    run("m-merge", 0.2, 2, 5.0),
    run("block-erase", 0.2, 1, 7.0),
]

BY_SPARE = Choice("ftl.over_provisioning", "write_amplification", "ftl.merge")


def test_curves_keep_their_order_x_ascends_and_seeds_are_joined() -> None:
    found = places(RUNS, BY_SPARE)
    assert [(place.colour, place.x, place.values) for place in found] == [
        ("m-merge", 0.2, [3.0, 5.0]), ("m-merge", 0.3, [2.0]), ("block-erase", 0.2, [7.0])
    ]  # fmt: skip
    assert found[0].mean == 4.0


def test_a_field_can_be_the_x_axis_and_a_key_that_does_not_vary_the_panel() -> None:
    found = places(RUNS, Choice("host.write.latency_us.p99", "write_amplification", panel="ftl.kind"))
    assert [(place.panel, place.x) for place in found] == [("nftl", x) for x in (200.0, 300.0, 500.0, 700.0)]
    assert label("host.write.latency_us.p99") == "write latency, p99, µs"
    assert label("ftl.merge") == "ftl.merge"


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        (Choice("ftl.over_provisioning", "write_amplification"), r"at 0\.2 there are 3 runs .*their seed.*ftl\.merge"),
        (Choice("ftl.over_provisionin", "write_amplification"), r"is unknown \(nearest: ftl\.over_"),
        (Choice("ftl.over_provisioning", "p99"), r"p99 can mean host\.read\.latency_us\.p99, host\.write"),
        (Choice("seed", "gc.copied_pages"), r"gc\.copied_pages is absent or null in every run"),
        (Choice("ftl.over_provisioning", "ftl.kind"), r"ftl\.kind is nftl: the y axis needs a number"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_refused(choice: Choice, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        places(RUNS, named(choice, RUNS))


def test_a_field_can_go_by_a_nickname() -> None:
    assert named(Choice("ftl.over_provisioning", "waf", "ftl.merge"), RUNS) == BY_SPARE


def test_tables_are_csv_markdown_and_latex() -> None:
    found = places(RUNS, BY_SPARE)
    assert table_text(*table_of([(BY_SPARE, found)]), ".csv").splitlines()[:2] == [
        'ftl.merge,"ftl.over_provisioning, spare / raw",write amplification,least,largest', "m-merge,0.2,4,3,5"
    ]  # fmt: skip
    assert table_text(*table_of([(BY_SPARE, found)]), ".md").splitlines()[2] == "| m-merge | 0.2 | 4 | 3 | 5 |"
    latex = table_text(*table_of([(BY_SPARE, found[2:])]), ".tex")
    assert latex.startswith("\\begin{tabular}{lrr}\n\\toprule\nftl.merge & ftl.over\\_provisioning, spare / raw & ")
    assert "block-erase & 0.2 & 7 \\\\\n\\bottomrule\n\\end{tabular}\n" in latex


def test_several_y_are_columns_of_a_table_and_panels_of_a_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = [BY_SPARE, Choice("ftl.over_provisioning", "host.write.latency_us.p99", "ftl.merge")]
    head, rows = table_of([(choice, places(RUNS, choice)) for choice in both])
    assert head[2:] == ["write amplification", "least", "largest", "write latency, p99, µs", "least", "largest"]
    assert rows[0] == ["m-merge", "0.2", "4", "3", "5", "400", "300", "500"]
    monkeypatch.setattr(plot_command, "stored_runs", lambda _: RUNS)
    drawn = tmp_path / "two.svg"
    names = ["--x", BY_SPARE.x, "--color", "ftl.merge", "--y", "waf,write p99", "--y", "write_amplification"]
    assert cli.run(["plot", ".", *names, "--size", "6x2", "--ylim", "0:", "--out", str(drawn)]) == 0
    text = drawn.read_text(encoding="utf-8")
    assert text.count('<g id="axes_') == 2
    assert 'width="432pt" height="144pt"' in text, "6 by 2 inches"


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (["--size", "3"], "--size 3 is not allowed; allowed: WxH in inches, each from 1 to 50"),
        (["--size", "3x0"], "--size 3x0 is not allowed"),
        (["--xlim", "3:1"], "--xlim 3:1 is not allowed; allowed: LOW:HIGH, LOW: or :HIGH"),
        (["--ylim", "a:"], "--ylim a: is not allowed"),
        (["--ylim", "nan:1"], "--ylim nan:1 is not allowed"),
        (["--panel", "seed", "--y", "iops"], "both make panels"),
    ],
)
def test_a_wrong_size_or_limit_is_refused(asked: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["plot", "nowhere", "--x", "seed", "--y", "waf", *asked]) == cli.USAGE
    assert words in capsys.readouterr().err


def test_a_curve_is_named_at_its_last_point_within_the_limits(tmp_path: Path) -> None:
    curve = Curve("merge", [1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    drawn = [tmp_path / "all.svg", tmp_path / "part.svg", tmp_path / "none.svg"]
    for path, limits in zip(drawn, ((None, None), (None, 2.5), (5.0, 6.0)), strict=True):
        lines(Frame("", "y"), [curve], path, Scale(x_limits=limits))
    assert ["merge</text>" in path.read_text() for path in drawn] == [True, True, False]


@pytest.mark.parametrize("ending", ["pdf", "png", "svg"])
def test_a_figure_is_one_file_and_the_same_each_time(command: Any, tmp_path: Path, ending: str) -> None:
    sweep = tmp_path / "sweep.toml"
    sweep.write_text(
        'preset = "tiny"\n[workload]\nrequests = 300\n[vary]\n"ftl.over_provisioning" = [0.2, 0.3]\n', encoding="utf-8"
    )
    assert command("sweep", str(sweep), "--out", str(tmp_path / "out")).returncode == 0
    drawn = []
    for name in ("a", "b"):
        path = tmp_path / f"{name}.{ending}"
        axes = ["--x", "ftl.over_provisioning", "--y", "host.write.latency_us.p99"]
        done = command("plot", str(tmp_path / "out"), *axes, "--out", str(path))
        assert (done.returncode, done.stdout) == (0, f"2 points written to {path}\n"), done.stderr
        drawn.append(path.read_bytes())
    assert drawn[0] == drawn[1]
    again = command("plot", str(tmp_path / "out"), *axes, "--title", "another", "--out", str(path))
    assert again.returncode == 0, again.stderr
    assert not list(tmp_path.glob("a.*.*"))
    refused = command("plot", str(tmp_path / "out"), "--x", "seed", "--y", "seed", "--out", str(tmp_path / "a.txt"))
    assert refused.returncode == 2
    assert "a.txt: the ending decides what is written; allowed: .pdf, .png, .svg, .csv, .md, .tex" in refused.stderr
