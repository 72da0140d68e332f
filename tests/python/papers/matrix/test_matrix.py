"""`pumice reproduce matrix` on a small device: every cell runs or says why it does not."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import pumice
from pumice import SpecError, cli
from pumice.traces.repeated import Need, most_written, repetitions, write_repeated
from pumice_papers import experiment
from pumice_papers.experiment import read_experiment
from pumice_papers.quantities import erases_per_block
from pumice_papers.studies.matrix.cells import Place, read_plan
from pumice_papers.studies.matrix.ratio_fields import QUANTITIES, endurance, response

TICKS = 128_166_372_000_000_000


def msr(path: Path, requests: int, gap_ticks: int = 123_457) -> None:
    """A trace of `requests` requests of 4 KiB, every third one a read."""
    lines = [
        f"{TICKS + n * gap_ticks},hm,0,{'Read' if n % 3 == 0 else 'Write'},{n * 4096},4096,100\n"
        for n in range(requests)
    ]
    path.write_text("".join(lines))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    traces = tmp_path / "recorded"
    traces.mkdir()
    msr(traces / "long.csv", 60)
    msr(traces / "short.csv", 40)
    msr(traces / "one-moment.csv", 90, gap_ticks=0)
    (traces / "README.md").write_text("About these traces.\n")
    (traces / "notes.csv").write_text("these are, no, requests\n")
    return traces


def test_traces_with_most_writes_are_taken_if_their_clock_can_be_replayed(folder: Path, tmp_path: Path) -> None:
    assert [source.path.name for source in most_written(folder, 3)] == ["long.csv", "short.csv"]
    assert [source.path.name for source in most_written(folder, 1)] == ["long.csv"]
    with pytest.raises(SpecError, match="no such file"):
        most_written(tmp_path / "nowhere", 3)


def test_a_trace_is_repeated_until_it_suffices(folder: Path, tmp_path: Path) -> None:
    (source, _) = most_written(folder, 3)
    assert (source.reads, source.writes, source.written_bytes) == (20, 40, 40 * 4096)
    assert repetitions(source, Need(reads=1, written_bytes=1)) == 1
    assert repetitions(source, Need(reads=101, written_bytes=1)) == 6
    assert repetitions(source, Need(reads=1, written_bytes=80 * 4096 + 1)) == 3
    path = tmp_path / "twice.csv.zst"
    assert write_repeated(source, 2, path) == 120
    once, twice = pumice.read_trace(source.path), pumice.read_trace(path)
    for name in ("offset_bytes", "bytes", "is_write"):
        assert (twice[name] == np.tile(once[name], 2)).all()
    gaps = np.diff(twice["arrival_ns"])
    assert (gaps[:59] == np.diff(once["arrival_ns"])).all()
    assert gaps[59] == once["arrival_ns"][-1] // 6000 * 100  # one mean gap, in ticks
    before = path.read_bytes()
    write_repeated(source, 2, path)
    assert path.read_bytes() == before


def test_every_cell_of_the_plan_runs_or_says_why_not(tmp_path: Path) -> None:
    plan = read_plan(read_experiment("matrix", "quick"), Place(None, tmp_path))
    assert len(plan.cells) == len(plan.loads) * len(plan.devices) * len(plan.erases)
    assert [load.recorded for load in plan.loads] == [False] * 3 + [True] * 3
    for cell in plan.cells:
        assert (cell.job is None) == bool(cell.why_not)
        assert cell.load.recorded == ("--traces DIR" in cell.why_not) or "SFWS" in str(cell.device)
        if cell.job is not None:
            cell.job.spec.resolve()
    partial = {cell.why_not for cell in plan.cells if str(cell.device) == "NFTL, partial block, SFWS"}
    assert len(partial) == 1
    assert "a range of layers" in partial.pop()
    units = {str(device) for device in plan.devices}
    assert {f"{unit}, {order}" for unit in ("block erase", "sub-block") for order in ("LFWS", "SFWS")} <= units
    full = read_plan(read_experiment("matrix", "full"), Place(None, tmp_path)).cells[0].job
    assert full is not None
    assert full.spec.scale == 1.0


def test_quantities_of_a_document() -> None:
    def document(reads: float, scheme_end: float | None) -> dict[str, object]:
        latency = {"mean": 100.0, "p99_99": 3000.0}
        return {
            "host": {
                "read": {"requests": reads, "latency_us": latency},
                "write": {"requests": reads, "latency_us": {"mean": 300.0}, "bytes": 2e9},
            },
            "device": {"blocks": 10, "user_bytes": 1e9},
            "flash": {"erases": {"block": 30, "partial": 10, "sub_block": None}},
            "wear": {"aep": 2.0, "pec_at_requirement": scheme_end},
        }

    enough, few = document(30_000, 7000.0), document(29_999, None)
    assert response(enough) == 200.0
    tail, _ = QUANTITIES["p99.99 read, µs"]
    assert (tail(enough), tail(few)) == (3000.0, None)
    assert erases_per_block(enough) == 4.0
    assert endurance(lambda _d: 2.0)(enough) == 7000.0
    assert endurance(erases_per_block)(enough) == 3500.0
    assert endurance(erases_per_block)(few) == pytest.approx(5300.0 / 2)  # of a fixed time: as ISPE


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The matrix's experiment with a small device, short runs and one twin."""
    root = tmp_path / "experiments"
    shutil.copytree(experiment.ROOT, root)
    path = root / "matrix" / "experiment.toml"
    text = path.read_text().replace("share = 0.15", "share = 0.0").replace("reads = 120000", "reads = 100")
    text = text[: text.index('[[twins]]\nkind = "twin:prn_0"')] + text[text.index("# What is erased. ") :]
    path.write_text(text)
    device = root / "matrix" / "device.toml"
    device.write_text(device.read_text().replace("blocks_per_plane = 128", "blocks_per_plane = 48"))
    with device.open("a") as file:
        file.write("\n[run]\nmax_requests = 1500\n")
    monkeypatch.setattr(experiment, "ROOT", root)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("tiny")
def test_one_command_makes_table_picture_and_report(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["reproduce", "matrix", "--traces", str(folder), "--out", "out", "--workers", "2"]
    assert cli.run(arguments) == 0, capsys.readouterr().err
    with Path("out/figures/matrix.csv").open() as file:
        cells = list(csv.DictReader(file))
    by_status: dict[str, list[dict[str, str]]] = {}
    for cell in cells:
        by_status.setdefault(cell["status"], []).append(cell)
    assert set(by_status) == {"done", "not-run"}
    assert len(by_status["done"]) == 3 * 7 * 4  # two traces and a twin on seven devices
    assert {cell["workload"] for cell in by_status["done"]} == {"hm_0", "long", "short"}
    assert all(cell["note"] for cell in by_status["not-run"])
    assert all(float(cell["write amplification"]) >= 1 for cell in by_status["done"])
    found = json.loads(Path("out/table.json").read_text())
    assert len(found["rows"]) == 9 * 4
    assert found["rows"][0][4:6] == [1.0, 1.0]
    assert len(found["columns"]) == 4 + 2 * len(QUANTITIES)
    said = capsys.readouterr().out
    assert "long: recorded, replayed" in said
    assert "trace 3: not-run, no trace: " in said
    assert "partial block, SFWS: not-run, refused: a partial block" in said
    for kind in ("png", "svg"):
        assert Path(f"out/figures/matrix.{kind}").stat().st_size > 10_000
    html = Path("out/report.html").read_text()
    assert ">NFTL, partial block<" in html
    runs = {path: path.stat().st_mtime_ns for path in Path("out/runs").iterdir()}
    assert cli.run([*arguments, "--resume"]) == 0
    assert {path: path.stat().st_mtime_ns for path in Path("out/runs").iterdir()} == runs


@pytest.mark.usefixtures("tiny")
def test_without_traces_the_twins_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["reproduce", "matrix", "--out", "out", "--workers", "2"]) == 0, capsys.readouterr().err
    assert "trace 1: not-run, no trace: --traces DIR names a folder of traces" in capsys.readouterr().out
