"""The playground in the browser: the engine in WebAssembly gives the results of the engine here."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import time
from pathlib import Path
from types import ModuleType

import pytest

import pumice
from browser import CHROMIUM, Browser
from conftest import REPOSITORY

ASSETS = REPOSITORY / "docs" / "assets" / "playground"

#: A spec of the page, and devices of other layers, with power cuts and with mapping units.
REQUESTS = [
    {"preset": "client-tlc-240g", "sets": [["geometry.capacity_gib", "8"], ["run.max_requests", "20000"]]},
    {"preset": "tiny", "sets": [["ftl.kind", "nftl"], ["ftl.merge", "m-merge"]]},
    {
        "preset": "tiny",
        "sets": [
            ["ftl.kind", "page"],
            ["ftl.recovery", "scan"],
            ["ftl.over_provisioning", "0.25"],
            ["power.cuts", "20"],
            ["run.check", "integrity"],
        ],
    },
    {"preset": "tiny", "sets": [["erase.mode", "mechanism"], ["erase.scheme", "aero"]]},
    {"preset": "tiny", "sets": [["workload.kind", "zipf"], ["ftl.kind", "zns"]]},
]

RUNS = """
  const { readFileSync } = require("node:fs");
  const [wasm, glue, requests] = process.argv.slice(1);
  (0, eval)(readFileSync(glue, "utf8") + "; globalThis.openEngine = openEngine");
  openEngine(readFileSync(wasm)).then(engine => console.log(JSON.stringify(
    { drives: engine.drives(), answers: JSON.parse(requests).map(request => engine.run(request)) })));
"""


def _build() -> ModuleType:
    spec = importlib.util.spec_from_file_location("playground_build", ASSETS / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BUILD = _build()


@pytest.fixture(scope="module")
def engine() -> Path:
    """The engine for browsers."""
    lacks = BUILD.missing() or (None if shutil.which("node") else "node")
    if lacks:
        pytest.skip(f"the playground is not tested: it needs {lacks}")
    return BUILD.build_engine()


def _answers(engine: Path, requests: list[dict]) -> dict:
    command = ["node", "-e", RUNS, str(engine), str(ASSETS / "engine.js"), json.dumps(requests)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def test_the_engine_in_webassembly_gives_the_results_of_the_engine_here(engine: Path) -> None:
    answers = _answers(engine, REQUESTS)["answers"]
    for request, answer in zip(REQUESTS, answers, strict=True):
        keys: dict[str, dict] = {}
        for path, value in request["sets"]:
            section, _, key = path.partition(".")
            keys.setdefault(section, {})[key] = json.loads(value) if value[0].isdigit() else value
        here = pumice.run(pumice.preset(request["preset"]).with_(**keys)).to_dict()
        there = answer["result"]
        assert there["config_sha256"] == here["config_sha256"]
        for name in set(here) - {"run", "version", "preset"}:
            assert there[name] == here[name], f"{request}: {name}"


def test_what_is_refused_is_told(engine: Path) -> None:
    answer = _answers(engine, [{"preset": "tiny", "sets": [["ftl.kind", "nftll"]]}])["answers"][0]
    assert 'ftl.kind = "nftll" is not allowed; allowed: "nftl"' in answer["error"]


def test_the_page_carries_all_that_it_needs(engine: Path) -> None:
    page = BUILD.page(engine)
    assert len(page) < 1_500_000
    assert "/*" not in page.partition("<script>")[0].partition('<script id="engine">')[2]
    assert 'src="' not in page
    assert "http" not in page


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_the_page_shows_figures_and_follows_its_sliders(engine: Path, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(BUILD.page(engine), encoding="utf-8")
    with Browser(tmp_path / "profile") as browser:
        browser.resize(390, "dark")
        browser.show((tmp_path / "page.html").as_uri())
        shown = _figures(browser)
        assert len(shown) == 7
        browser.value("space.value = 30, space.dispatchEvent(new Event('input'))")
        assert "over_provisioning = 0.3\n" in browser.value("spec.textContent")
        assert _figures(browser) != shown
        assert browser.value("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
        assert browser.said == []


def _figures(browser: Browser) -> list[str]:
    """The page's figures, once the setting's first ones are there."""
    for _ in range(600):
        if browser.value("state.textContent").startswith(("First look", "Figures")):
            return browser.value("[...document.querySelectorAll('#figures dd')].map(one => one.textContent)")
        time.sleep(0.1)
    pytest.fail(f"no figures: {browser.value('state.textContent')}")


def test_the_drives_of_the_page_are_presets() -> None:
    page = (ASSETS / "page.html").read_text(encoding="utf-8")
    drives = json.loads(page.partition("const DRIVES = ")[2].partition(";\n")[0])
    assert set(drives) <= set(pumice.presets())
    assert "client-tlc-240g" in drives
