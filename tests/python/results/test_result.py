"""A result in a program and in a notebook: strict fields, one line, a table with curves."""

from __future__ import annotations

import copy
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import pumice
from pumice.results.fields import Field, fields, names_below
from pumice.results.notebook import sparkline
from pumice.results.result import KINDS, Latency
from pumice.results.stored import check_document


@pytest.fixture(scope="module")
def result() -> pumice.Result:
    return pumice.run(pumice.preset("tiny").with_(run={"max_requests": 2000}, output={"time_series_s": 50.0}))


def test_a_misspelt_field_is_refused_with_the_nearest_one(result: pumice.Result) -> None:
    assert result.value("host.write.latency_us.mean") == result.latency("write")["mean"]
    assert result.value("flash.suspensions") is None, "a field that has no value here"
    assert result.value("host.write")["requests"] == result.value("host.write.requests")
    for wrong, near in (
        ("host.wirte.latency_us.mean", "host.write.latency_us.mean"),
        ("config.ftl.knd", "config.ftl.kind"),
        ("host.write.latency_us.p98", "host.write.latency_us.p9."),
    ):
        with pytest.raises(pumice.SpecError, match=rf"^field {re.escape(wrong)} is unknown \(nearest: {near}"):
            result.value(wrong)
    with pytest.raises(pumice.SpecError, match="unknown"):
        result.value("")


def test_the_typed_figures_are_those_of_the_document(result: pumice.Result) -> None:
    for kind in KINDS:
        figures = list(names_below(f"host.{kind}.latency_us"))
        assert list(Latency.__annotations__) == figures
        assert set(result.latency(kind)) == set(figures)
    assert result.write_amplification == result.value("write_amplification") > 0
    assert result.iops == result.value("host.service_iops") > 0
    assert result.requests == result.value("run.requests") == 2000
    assert result.config["run"]["max_requests"] == 2000


def test_mypy_knows_the_types_of_a_result(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import pumice\n"
        "result = pumice.run(pumice.preset('tiny'))\n"
        "reveal_type(result.latency('write')['p99'])\n"
        "result.latency('wirte')\n"
        "result.latency('read')['p999']\n"
        "reveal_type(result.write_amplification)\n",
        "utf-8",
    )
    told = subprocess.run([sys.executable, "-m", "mypy", str(program)], cwd=tmp_path, capture_output=True, text=True)
    wrong = re.findall(r"^program\.py:(\d+): error", told.stdout, re.MULTILINE)
    assert wrong == ["4", "5"], told.stdout
    assert told.stdout.count('Revealed type is "float | None"') == 2, told.stdout


def test_a_result_is_one_line(result: pumice.Result) -> None:
    shown = repr(result)
    assert shown.startswith("<Result tiny: uniform, scale 1.0: 2,000 requests, write mean ")
    assert "\n" not in shown
    assert len(shown) < 200


def test_one_request_is_not_several() -> None:
    assert ": 1 request, " in repr(pumice.run(pumice.preset("tiny").with_(run={"max_requests": 1})))


def test_a_section_that_sets_nothing_is_harmless() -> None:
    spec = pumice.preset("tiny").with_(host={}, ftl={"zns": {}, "merge": "m-merge"})
    assert spec == pumice.preset("tiny").with_(ftl={"merge": "m-merge"})


def test_a_spec_is_one_line() -> None:
    spec = pumice.preset("tiny").with_(ftl={"merge": "m-merge"}, scale=0.5).with_(ftl={"merge": "block-erase"})
    assert repr(spec) == 'Spec(preset = "tiny", ftl.merge = "block-erase", scale = 0.5)'
    text = pumice.Spec(text="a = 1\nb = 2\n")
    assert repr(text) == "Spec(text = 2 lines of TOML)"


class Balance(HTMLParser):
    """Checks that every element is closed, and gathers the text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_notebook_shows_figures_curves_and_notes(result: pumice.Result) -> None:
    page = Balance()
    page.feed(result._repr_html_())
    assert page.open == []
    for part in (
        "tiny: uniform",
        "write amplification",
        f"{result.latency('write')['mean'] / 1e3:,.1f}",
        *result.notes,
    ):
        assert part in page.text
    assert page.text.count("latency from p50 to max") == 2
    assert page.text.count("latency over time") == 2


def test_what_a_spec_holds_is_text_in_a_notebook() -> None:
    page = Balance()
    spec = pumice.preset("tiny").with_(workload={"path": "<script>alert(1)</script>"})
    assert "<script>" not in spec._repr_html_()
    page.feed(spec._repr_html_())
    assert "<script>alert(1)</script>" in page.text


def test_a_curve_rises_as_its_values_do() -> None:
    image = ElementTree.fromstring(sparkline([1.0, 2.0, 4.0], "three & more"))
    assert image.find("title").text == "three & more"
    points = [tuple(map(float, pair.split(","))) for pair in image.find("polyline").get("points").split()]
    assert [x for x, _ in points] == sorted(x for x, _ in points)
    assert [y for _, y in points] == sorted((y for _, y in points), reverse=True), "y counts downwards"
    flat = ElementTree.fromstring(sparkline([3.0, 3.0], "flat")).find("polyline").get("points")
    assert len({pair.split(",")[1] for pair in flat.split()}) == 1


#: A value that is none of a field's kind, for each kind.
WRONG: dict[str, list[Any]] = {
    "text": [7, True], "integer": [1.5, True, 2**65], "number": ["7", float("nan"), 1e308, True],
    "list": [{"0": 7}, [1, "2"], [float("inf")], [[1], 2]], "table": [[7], 7],
}  # fmt: skip


def place_of(document: dict[str, Any], field: Field) -> tuple[dict[str, Any], str] | None:
    """The object that holds a field, and its name there; None if the document has no such object."""
    *sections, name = field.path.removesuffix(".*").split(".")
    found: Any = document
    for section in sections:
        found = found.get(section) if isinstance(found, dict) else None
    return (found, name) if isinstance(found, dict) else None


def test_t969_a_field_of_another_kind_is_refused_by_its_name(result: pumice.Result) -> None:
    """A report on a result that somebody had changed ended in a TypeError."""
    assert check_document("it", result.to_dict()) == result.to_dict()
    refused = 0
    for field in fields():
        document = copy.deepcopy(result.to_dict())
        if (place := place_of(document, field)) is None or field.path == "format":
            continue
        holder, name = place
        was = holder.get(name)
        path = re.escape(field.path.removesuffix(".*"))
        for wrong in WRONG[field.type]:
            holder[name] = wrong
            with pytest.raises(pumice.SpecError, match=rf"^it: ({path} is|a result) "):
                check_document("it", document)
            refused += 1
        for change in [*({"x": 1}, "x", None)] if isinstance(was, list) and len(was) > 1 else []:
            holder[name] = [change, *was[1:]]
            if isinstance(was[1], dict):
                with pytest.raises(pumice.SpecError, match="a list whose entries are alike"):
                    check_document("it", document)
    assert refused > 300
