"""The workbench: its pages, what it says of a slow request, and that nobody else can reach it."""

from __future__ import annotations

import html
import http.client
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest

import pumice
from browser import CHROMIUM, Browser
from conftest import Command
from pumice.errors import SpecError
from pumice.workbench import tail
from pumice.workbench.pages import Workbench
from pumice.workbench.server import WorkbenchServer, loopback

LOGS = {"request_log": True, "command_log": True}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs with both logs, one without, and a sweep of two runs with two seeds each."""
    root = tmp_path_factory.mktemp("runs")
    base = pumice.preset("tiny").with_(run={"max_requests": 2000})
    pumice.run(base.with_(output=LOGS), out=root / "merges")
    page = {"ftl": {"kind": "page"}, "geometry": {"program_order": "in-order"}, "workload": {"read_fraction": 0.5}}
    pumice.run(base.with_(output=LOGS, **page), out=root / "page")
    pumice.run(base, out=root / "plain <b>")
    pumice.sweep(base, {"ftl.merge": ["block-erase", "m-merge"]}, repeat=2, workers=1, store=root / "study" / "runs")
    return root


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[WorkbenchServer]:
    with WorkbenchServer("tcp:127.0.0.1:0", Workbench(folder)) as made:
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        yield made
        made.shutdown()
        thread.join(10)


def ask(server: WorkbenchServer, path: str, method: str = "GET", host: str = "") -> tuple[int, str, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=60)
    connection.request(method, path, headers={"Host": host} if host else {})
    answer = connection.getresponse()
    return answer.status, answer.read().decode(), dict(answer.getheaders())


def links(page: str, path: str) -> list[str]:
    return [html.unescape(one) for one in re.findall(r'href="([^"]+)"', page) if one.startswith(path)]


class Balance(HTMLParser):
    """Finds elements that are not closed, or closed twice."""

    VOID = ("meta", "input", "img", "br", "use", "path", "circle", "rect", "line")

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, _attributes: object) -> None:
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, _attributes: object) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag


def test_every_page_is_sound_and_leads_on(server: WorkbenchServer) -> None:
    status, first, headers = ask(server, "/")
    assert status == 200
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert len(links(first, "/run?")) == 7, "three runs, and a sweep of four"
    assert len(links(first, "/tail?")) == 2
    assert "plain &lt;b&gt;" in first
    assert "study: merge = m-merge, seed 2" in first
    slow = ask(server, links(first, "/tail?")[0])[1]
    chosen = "&".join(f"run={one.partition('run=')[2]}" for one in links(first, "/run?")[:2])
    pages = [first, slow, ask(server, f"/compare?{chosen}")[1]]
    pages += [ask(server, one)[1] for one in (*links(first, "/run?")[:2], links(slow, "/request?")[0])]
    for page in pages:
        assert Balance(page).open == []
        assert not re.search(r'(?:src|href)="(?!data:|#|/)', page), "nothing is loaded from elsewhere"
    assert "write latency, mean" in pages[2]
    assert "garbage collection" in pages[-1]


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_pages_fit_every_window(server: WorkbenchServer, tmp_path: Path) -> None:
    first = ask(server, "/")[1]
    slow = links(first, "/tail?")[0]
    chosen = "&".join(f"run={one.partition('run=')[2]}" for one in links(first, "/run?")[:2])
    pages = ["/", f"/compare?{chosen}", links(first, "/run?")[0], slow, links(ask(server, slow)[1], "/request?")[0]]
    with Browser(tmp_path / "profile") as browser:
        for page in pages:
            browser.show(f"http://127.0.0.1:{server.server_address[1]}{page}")
            assert browser.value("document.title"), page
            for width, mode in ((390, "light"), (768, "dark"), (1280, "light"), (1920, "dark")):
                browser.resize(width, mode)
                beyond = browser.value("document.documentElement.scrollWidth - document.documentElement.clientWidth")
                assert beyond == 0, f"{page} is {beyond} pixels too wide for {width}"
        assert browser.said == [], "nothing is written to the console"


def test_seeds_of_a_spec_are_one_variant(server: WorkbenchServer) -> None:
    own = [one for one in links(ask(server, "/")[1], "/run?") if "study" in one]
    page = ask(server, "/compare?" + "&".join(f"run={one.partition('run=')[2]}" for one in own))[1]
    assert "2 variants" in page
    assert "over 2 seeds" in page
    assert "seed 1" not in page


@pytest.mark.parametrize("name", ["merges", "page"])
def test_the_parts_of_a_delay_are_the_latency(folder: Path, name: str) -> None:
    """Without a write buffer a request takes what its die did before, its own last command, and what is behind it."""
    document = pumice.results.result.read_result(folder / name / "result.json").document
    followed = 0
    for found in tail.slowest(folder / name)[:40]:
        delay = tail.delay(folder / name, document, found)
        if delay.own is None:
            continue
        followed += 1
        parts = sum(wait.ns for wait in delay.waits) + delay.idle_ns + delay.after_ns
        assert parts + delay.own.end_ns - delay.own.start_ns == found.latency_ns
        assert delay.idle_ns >= 0
        assert delay.after_ns >= 0
    assert followed >= 30


def test_the_slowest_requests_are_the_slowest(folder: Path) -> None:
    import pyarrow.parquet as pq

    table = pq.read_table(folder / "page" / "request_log.parquet").to_pandas()
    writes = table[table["kind"] == "write"].sort_values("latency_us", ascending=False)
    found = tail.slowest(folder / "page", "write")
    assert np.allclose([one.latency_ns / 1e3 for one in found], writes["latency_us"][: len(found)])
    assert found[0].rank == 1.0


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        ("/nowhere", 404, "no such page"),
        ("/run?run=../../etc:0", 400, "no such run"),
        ("/run", 400, "choose at least 1 run"),
        ("/compare?run=merges:0", 400, "choose at least 2 runs"),
        ("/tail?run=plain+%3Cb%3E:0", 400, "lacks the logs"),
        ("/request?run=merges:0&nth=99999999", 400, "the log has the requests 0 to"),
        ("/request?run=merges:0&nth=x", 400, "is not a number"),
    ],
)
def test_what_is_not_there_is_told(server: WorkbenchServer, path: str, status: int, text: str) -> None:
    found, page, _ = ask(server, path)
    assert found == status
    assert text in page
    assert "Traceback" not in page


def test_only_this_machine_may_read_and_nobody_may_write(server: WorkbenchServer) -> None:
    assert ask(server, "/", host="evil.example:80")[0] == 403
    assert ask(server, "/", host="localhost:1")[0] == 200
    assert ask(server, "/", "POST")[0] == 501
    assert ask(server, "/", "HEAD")[:2] == (200, "")


@pytest.mark.parametrize("address", ["tcp:0.0.0.0:0", "tcp:192.168.1.1:80", "tcp:example.org:80", "unix:/tmp/x", "80"])
def test_another_address_is_refused(command: Command, folder: Path, address: str) -> None:
    with pytest.raises(SpecError):
        loopback(address)
    done = command("view", str(folder), "--listen", address)
    assert done.returncode == 2
    assert "no results" not in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("content", [None, "{}"])
def test_a_folder_without_runs_is_not_served(command: Command, tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "result.json").write_text(content)
    done = command("view", str(tmp_path))
    assert done.returncode == 2
    assert done.stderr.startswith(f"pumice: {tmp_path}: holds no results to show")
    assert ("not a result document" in done.stderr) == (content is not None)
    assert done.stderr.count("\n") == 1


def test_ctrl_c_ends_it_in_one_line(folder: Path) -> None:
    view = [sys.executable, "-m", "pumice", "view", str(folder)]
    with subprocess.Popen(view, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        began = process.stderr.readline()
        url = re.search(r"http://\S+/", began)
        assert url is not None, began
        connection = http.client.HTTPConnection(urlsplit(url[0]).netloc, timeout=60)
        connection.request("GET", "/")
        assert connection.getresponse().status == 200
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
        assert process.wait(20) == 0
    assert rest == "pumice: ended\n"
