"""A report as a page: its structure, its colours, its size, and that it says how to get the same numbers again."""

from __future__ import annotations

import base64
import csv
import gzip
import io
import itertools
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import pumice
from conftest import Command, write_trace
from pumice import made
from pumice.report.drawing import Axis, Series, curves, drawing, stacked_rows
from pumice.report.page import write_report
from pumice.report.run_parts import spec_text
from pumice.results.table_text import ENDINGS
from pumice.runs import run_list
from pumice.runs.spec import Spec

#: Least contrast of text, and of lines and areas, with what lies behind them (WCAG 2.2: 1.4.3 and 1.4.11).
TEXT_CONTRAST, SHAPE_CONTRAST = 4.5, 3.0

BYTES_MAX = 3_000_000

ALL = {"request_log": True, "wear_map": True, "timeline": True, "timeline_length_s": 20.0, "time_series_s": 1.0}

SWEEP = """
preset = "tiny"
repeat = 2
[run]
max_requests = 2000
[vary]
"ftl.over_provisioning" = [0.1, 0.2]
"workload.read_fraction" = [0.0, 0.5]
"workload.kind" = ["uniform", "zipf"]
"""


class Page(HTMLParser):
    """The elements of a page, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def all(self, *tags: str) -> list[tuple[str, dict[str, str | None]]]:
        return [element for element in self.elements if element[0] in tags]


@pytest.fixture(scope="module")
def run_page(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    out = tmp_path_factory.mktemp("run") / "out"
    pumice.run(pumice.preset("tiny").with_(output=ALL, run={"max_requests": 4000}), out=out)
    write_report([out], out / "report.html")
    return out, (out / "report.html").read_text()


@pytest.fixture
def sweep_page(command: Command, tmp_path: Path) -> str:
    (tmp_path / "study.toml").write_text(SWEEP)
    assert command("sweep", "study.toml", "--out", "out").returncode == 0
    assert command("report", "out").returncode == 0
    return (tmp_path / "out" / "report.html").read_text()


def embedded(html: str, name: str) -> bytes:
    """The content of a file that the page offers."""
    found = re.search(rf'download="{re.escape(name)}(\.gz)?" href="data:[^;]+;base64,([^"]+)"', html)
    assert found is not None, f"{name} is not offered"
    data = base64.b64decode(found[2])
    return gzip.decompress(data) if found[1] else data


def sound(html: str) -> None:
    """The structure of a page that a reader without eyes, or without scripts, can use."""
    page = Page(html)
    assert page.all("html")[0][1]["lang"] == "en"
    assert any(attributes.get("name") == "viewport" for _, attributes in page.all("meta"))
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in page.all("a"):
        target = attributes["href"] or ""
        assert target.startswith("data:") or target.removeprefix("#") in ids
    for tag, attributes in page.all("use"):
        assert (attributes["href"] or "").removeprefix("#") in ids, tag
    levels = [int(tag[1]) for tag, _ in page.all("h1", "h2", "h3", "h4")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in itertools.pairwise(levels))
    assert all(attributes.get("aria-label") for _, attributes in page.all("svg"))
    assert all(attributes.get("alt") for _, attributes in page.all("img"))
    assert all(attributes.get("scope") in ("row", "col") for _, attributes in page.all("th"))
    assert not page.all("input", "button"), "without scripts nothing would happen"
    assert len(html.encode()) < BYTES_MAX


def test_a_runs_page_has_every_figure_and_a_sound_structure(run_page: tuple[Path, str]) -> None:
    _, html = run_page
    sound(html)
    titles = re.findall(r"<figcaption><b>([^<]+)</b>", html)
    assert titles == [
        "Latency, percentiles",
        "Over time",
        "Where a write waits",
        "Garbage collection",
        "How busy the device was",
        "Wear map",
        "Timeline",
    ]
    assert len(re.findall(r'class="spot"', html)) > 100, "points and bars say their values"
    said = re.findall(r"<title>(read, [^<]*)</title>", html)
    assert [text.partition(":")[0] for text in said][:2] == ["read, 50 %", "read, 90 %"]
    assert any(text.startswith("read, max: ") for text in said), "the end of a curve has no tick"


def test_a_sweeps_page_is_one_table_by_its_keys_with_lines_over_them(sweep_page: str) -> None:
    sound(sweep_page)
    assert "16 runs of 8 combinations" in sweep_page
    assert "<h1>Sweep: out</h1>" in sweep_page
    for key in ("ftl.over_provisioning", "workload.read_fraction", "workload.kind"):
        assert f'<th scope="col">{key}</th>' in sweep_page
    rows = list(csv.DictReader(io.StringIO(embedded(sweep_page, "part1-sweep.csv").decode())))
    assert [row["workload.kind"] for row in rows] == ["uniform", "zipf"] * 4
    assert all("±" in row["write amplification"] for row in rows)
    assert "95 % confidence interval" in sweep_page
    assert "workload.kind = zipf" in sweep_page
    assert "Write amplification over" in sweep_page


def test_a_sweeps_page_has_what_makes_it_again(sweep_page: str, command: Command, tmp_path: Path) -> None:
    """The page had the results, and neither the sweep file nor a spec."""
    assert embedded(sweep_page, "study.toml").decode() == SWEEP
    assert "pumice sweep study.toml</" in sweep_page
    runs = json.loads((tmp_path / "out" / "runs.json").read_text())["runs"]
    assert [run.label for run in run_list.read(tmp_path / "out")] == [run["label"] for run in runs]
    first, last = runs[0], runs[-2]
    for nth, run in ((1, first), (8, last)):
        (tmp_path / "again.toml").write_bytes(embedded(sweep_page, f"part1-{nth}.toml"))
        expected = json.loads((tmp_path / "out" / run["result"]).read_text())
        assert pumice.Spec.from_file(tmp_path / "again.toml").resolve()["config_sha256"] == expected["config_sha256"]


def test_a_sweeps_page_counts_the_combinations_that_failed(command: Command, tmp_path: Path) -> None:
    """Four runs, three of which failed, were called "4 runs of 1 combination"."""
    write_trace(tmp_path / "good.csv")
    for name in ("x", "y", "z"):
        write_trace(tmp_path / f"{name}.csv", broken=True)
    paths = ["good.csv", "x.csv", "y.csv", "z.csv"]
    (tmp_path / "s.toml").write_text(
        f'preset = "tiny"\nworkload.kind = "trace"\n[vary]\n"workload.path" = {json.dumps(paths)}\n'
    )
    assert command("sweep", "s.toml", "--out", "out").returncode == 1
    assert command("report", "out").returncode == 0
    page = (tmp_path / "out" / "report.html").read_text()
    assert "4 runs of 4 combinations, of which 3 failed. What varies: workload.path." in page


def test_the_spec_in_a_page_is_the_spec_of_the_run(run_page: tuple[Path, str], tmp_path: Path) -> None:
    out, html = run_page
    document = json.loads((out / "result.json").read_text())
    (tmp_path / "spec.toml").write_bytes(embedded(html, "spec.toml"))
    resolved = Spec.from_file(tmp_path / "spec.toml").resolve()
    assert resolved["config_sha256"] == document["config_sha256"]
    assert json.loads(embedded(html, "result.json")) == document


def test_the_fields_in_a_page_are_those_of_the_run(run_page: tuple[Path, str]) -> None:
    out, html = run_page
    document = json.loads((out / "result.json").read_text())
    head, *rows = csv.reader(io.StringIO(embedded(html, "result.csv").decode()))
    assert head == ["field", "value", "unit"]
    assert "write_amplification" in {path for path, *_ in rows}
    for path, value, _ in rows:
        found = document
        for part in path.split("."):
            found = found[part]
        assert value == str(found), path


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_report_by_the_name_of_a_table_is_that_table(ending: str, run_page: tuple[Path, str]) -> None:
    path = run_page[0] / f"table{ending}"
    write_report([run_page[0]], path)
    assert "write amplification" in path.read_text()
    assert "<html" not in path.read_text()


@pytest.mark.parametrize("name", pumice.presets())
def test_a_spec_file_of_every_preset_resolves_to_it(name: str, tmp_path: Path) -> None:
    resolved = pumice.preset(name).resolve()
    (tmp_path / "spec.toml").write_text(spec_text(resolved))
    assert Spec.from_file(tmp_path / "spec.toml").resolve()["config_sha256"] == resolved["config_sha256"]


def test_what_a_command_writes_says_how_it_was_made(command: Command, tmp_path: Path) -> None:
    arguments = ["run", "--preset", "tiny", "--set", "run.max_requests=300", "--out", "o u t"]
    assert command(*arguments).returncode == 0
    found = made.read(tmp_path / "o u t")
    assert found["command"] == "pumice run --preset tiny --set run.max_requests=300 --out 'o u t'"
    assert found["version"] == pumice.__version__
    assert command("report", "o u t").returncode == 0
    html = (tmp_path / "o u t" / "report.html").read_text()
    assert "pumice run --preset tiny --set run.max_requests=300 --out &#39;o u t&#39;" in html
    pumice.run(pumice.preset("tiny").with_(run={"max_requests": 300}), out=tmp_path / "o u t")
    assert "command" not in made.read(tmp_path / "o u t"), "a library has no command line"


def test_the_same_files_give_the_same_page(run_page: tuple[Path, str]) -> None:
    out, html = run_page
    write_report([out], out / "again.html")
    assert (out / "again.html").read_text() == html


def colours(css: str) -> dict[str, tuple[str, str]]:
    """The variables of the style sheet: a light and a dark colour each."""
    found = re.findall(r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)", css)
    return {name: (light, dark) for name, light, dark in found}


def contrast(one: str, other: str) -> float:
    """Contrast of two colours, as WCAG defines it."""

    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    brighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


def test_contrast_suffices_in_both_themes() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    found = colours((Path(pumice.__path__[0]) / "report" / "templates" / "report.css").read_text())
    texts = [("ink", "paper"), ("soft", "paper"), ("link", "paper"), ("good", "paper"), ("bad", "paper")]
    texts += [("ink", "panel"), ("soft", "panel"), ("link", "panel"), ("grey", "paper")]
    shapes = [(name, "paper") for name in found if name.startswith("series-")] + [("pale", "paper"), ("alert", "paper")]
    assert len(shapes) == 10
    for theme in (0, 1):
        for pairs, least in ((texts, TEXT_CONTRAST), (shapes, SHAPE_CONTRAST)):
            for front, back in pairs:
                value = contrast(found[front][theme], found[back][theme])
                assert value >= least, f"{front} on {back}, {('light', 'dark')[theme]}: {value:.2f}"


def test_axes_that_share_a_scale_hold_the_curves_of_all() -> None:
    """The first small figure of a sweep fixed the scale, and the curves of the others lay above it, out of sight."""
    with drawing() as drawn:
        low, high = drawn.figure.subplots(1, 2, sharey=True)
        for axes, top in ((low, 3.0), (high, 300.0)):
            curves(drawn, axes, [Series("", [0.0, 1.0], [1.0, top])], Axis("x"), Axis("y"))
        drawn.figure.draw_without_rendering()
        assert low.get_ylim() == high.get_ylim()
        assert low.get_ylim()[0] == 0
        assert low.get_ylim()[1] >= 300


def test_a_curve_has_its_intervals_and_a_legend_where_there_is_something_to_tell() -> None:
    with drawing() as drawn:
        plain, named, several = drawn.figure.subplots(1, 3)
        intervals = [(0.5, 1.5), None, (2.0, 4.0)]
        curves(drawn, plain, [Series("", [0.0, 1.0, 2.0], [1.0, 2.0, 3.0], intervals)], Axis("x"), Axis("y"))
        lines = [line for one in plain.collections for line in one.get_segments()]
        assert [line.tolist() for line in lines] == [[[0.0, 0.5], [0.0, 1.5]], [[2.0, 2.0], [2.0, 4.0]]]
        curves(drawn, named, [Series("a", [0.0], [1.0])], Axis("x"), Axis("y"))
        curves(drawn, several, [Series(name, [0.0], [1.0]) for name in "ab"], Axis("x"), Axis("y"))
        assert plain.get_legend() is None
        for axes, names in ((named, ["a"]), (several, ["a", "b"])):
            assert [text.get_text() for text in axes.get_legend().get_texts()] == names


def test_a_legend_is_whole_beside_long_names_of_rows() -> None:
    parts = {name: [1.0, 2.0] for name in ("program", "transfer", "queue", "GC read", "GC write", "GC erase")}
    with drawing() as drawn:
        stacked_rows(drawn, drawn.figure.subplots(), ["over_provisioning 0.15 / cost-benefit"] * 2, parts)
        drawn.figure.draw_without_rendering()
        box = (drawn.figure.legends or [drawn.figure.axes[0].get_legend()])[0].get_window_extent()
        assert box.x0 >= 0
        assert box.x1 <= drawn.figure.bbox.x1
