"""Outputs of one run are one set: nothing of an earlier run stays beside them, and nothing of anybody else goes."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import pumice
from conftest import Command, write_trace
from pumice import files, outputs
from pumice.errors import SpecError
from pumice.made import MADE
from pumice.outputs import FIGURE_LIST, FILES, NAMES, RESULT, one_set
from pumice.report.page import write_report
from pumice.results.result import REQUEST_KINDS
from pumice.runs.run import with_options
from pumice.traces.read_write import write_workload
from test_mqsim import SYNTHETIC
from test_mqsim import written as mqsim_files

TINY = pumice.preset("tiny").with_(run={"max_requests": 500})
COMMAND = ("--preset", "tiny", "--set", "run.max_requests=500")


def names(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()}


def test_a_reused_directory_holds_the_last_run_alone(tmp_path: Path) -> None:
    """The wear map and request log of an earlier run stayed, and the report drew them."""
    pumice.run(TINY.with_(output=dict.fromkeys(FILES, True)), out=tmp_path)
    assert names(tmp_path) == {RESULT, MADE, *FILES.values()}
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "mine.png").write_text("mine")
    pumice.run(TINY.with_(seed=2, output={"histograms": True}), out=tmp_path)
    assert names(tmp_path) == {RESULT, MADE, FILES["histograms"], "notes.txt", "figures/mine.png"}
    write_report([tmp_path], tmp_path / "report.html")
    assert "<b>Wear map" not in (tmp_path / "report.html").read_text()
    pumice.run(TINY.with_(seed=3), out=tmp_path)
    assert names(tmp_path) == {RESULT, MADE, "notes.txt", "figures/mine.png"}, "the report was one on the run before"


def test_a_report_takes_the_place_of_a_report_alone(command: Command, tmp_path: Path) -> None:
    """Somebody's report.html was overwritten, and so was the result that a mistyped --out named."""
    assert command("run", *COMMAND, "--out", "out").returncode == 0
    mine, result = tmp_path / "out" / "report.html", tmp_path / "out" / "result.json"
    kept = result.read_bytes()
    mine.write_text("<p>mine</p>")
    for arguments in (["out"], ["out/result.json"], ["out", "--out", "out/result.json"]):
        done = command("report", *arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert "is there and is not a report of this tool, so it is not overwritten" in done.stderr
    assert (mine.read_text(), result.read_bytes()) == ("<p>mine</p>", kept)
    mine.write_text("")
    for _ in range(2):
        assert command("report", "out").returncode == 0, "an empty file, and a report, give way"
    assert "pumice report" in mine.read_text() or "<h1>out<" in mine.read_text()


def test_a_directory_has_one_index_whatever_is_run_into_it(command: Command, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text('preset = "tiny"\n[run]\nmax_requests = 500\n[vary]\nseed = [1, 2, 3]\n')
    out = tmp_path / "out"
    kinds = [
        (["compare", *COMMAND, "--vary", "seed=1,2"], {"comparison.json", "comparison.csv"}, "<h1>Comparison: out"),
        (["run", *COMMAND, "--seed", "9"], {"result.json"}, "<h1>out<"),
        (["reproduce", "pen", "--figure", "6"], {"scoreboard.json", "report.html"}, "<h1>Reproduction: out"),
        (["run", *COMMAND, "--repeat", "2"], {"runs.json", "runs.parquet"}, "over 2 seeds"),
        (["reproduce", "pen", "--figure", "10"], {"scoreboard.json", "report.html"}, "<h1>Reproduction: out"),
        (["sweep", "s.toml"], {"runs.json", "s.parquet"}, "<h1>Sweep: out<"),
    ]
    for arguments, own, heading in kinds:
        done = command(*arguments, "--out", "out")
        assert done.returncode == 0, done.stderr
        found = {name for name in names(out) if not name.startswith(("runs/", "figures")) and name != "s.parquet"}
        assert found == (own | {MADE}) - {"s.parquet"}
        figures = {path.name.partition(".")[0] for path in (out / "figures").glob("*")}
        drawn = {"compare": {"ratios", "write-latency-breakdown"}, "reproduce": {f"fig{arguments[-1]}"}}
        assert figures == drawn.get(arguments[0], set())
        assert command("report", "out").returncode == 0
        html = (out / "report.html").read_text()
        assert heading in html
        assert html.count("<img") == len(figures) * (arguments[0] == "reproduce")
    assert "3 runs of 3 combinations" in html, "the results of earlier studies in the store are not shown"
    assert len(list((out / "runs").glob("*.json"))) == 3


def test_a_run_that_fails_leaves_the_set_before_it(tmp_path: Path) -> None:
    pumice.run(TINY.with_(output={"wear_map": True}), out=tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    long = pumice.preset("tiny").with_(workload={"requests": 400_000}, output={"histograms": True})
    with pytest.raises(pumice.Interrupted):
        pumice.run(long, out=tmp_path, progress=lambda *_: False)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_set_that_cannot_be_put_in_its_place_leaves_nothing(tmp_path: Path) -> None:
    os.symlink("/dev/full", tmp_path / RESULT)
    with pytest.raises(OSError, match="No space left on device") as raised:
        pumice.run(TINY.with_(output={"wear_map": True}), out=tmp_path)
    assert raised.value.filename == str(tmp_path / RESULT)
    assert [path.name for path in tmp_path.iterdir()] == [RESULT]
    assert os.readlink(tmp_path / RESULT) == "/dev/full"
    for name in (RESULT, FILES["wear_map"]):
        directory = tmp_path / f"of-{name}"
        (directory / name).mkdir(parents=True)
        with pytest.raises(SpecError, match="is a directory where this tool writes a file"):
            pumice.run(TINY, out=directory)
        assert [path.name for path in directory.iterdir()] == [name]


def test_a_link_stays_and_its_file_is_replaced_or_removed(tmp_path: Path) -> None:
    elsewhere, out = tmp_path / "elsewhere", tmp_path / "out"
    elsewhere.mkdir()
    out.mkdir()
    for name in (RESULT, FILES["wear_map"]):
        os.symlink(elsewhere / name, out / name)
    pumice.run(TINY.with_(output={"wear_map": True}), out=out)
    assert all((out / name).is_symlink() for name in (RESULT, FILES["wear_map"]))
    assert json.loads((elsewhere / RESULT).read_text())["seed"] == 1
    assert np.load(elsewhere / FILES["wear_map"]).ndim == 2
    pumice.run(TINY.with_(seed=2), out=out)
    assert names(elsewhere) == {RESULT}
    assert json.loads((elsewhere / RESULT).read_text())["seed"] == 2
    assert all((out / name).is_symlink() for name in (RESULT, FILES["wear_map"]))


def test_a_pipe_among_the_outputs_is_written_through_and_stays(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / RESULT)
    os.mkfifo(tmp_path / FILES["wear_map"])
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / RESULT).read_text()), daemon=True)
    reader.start()
    document = pumice.run(TINY, out=tmp_path).to_dict()
    reader.join(timeout=30)
    assert json.loads(read[0]) == document
    assert (tmp_path / RESULT).is_fifo()
    assert (tmp_path / FILES["wear_map"]).is_fifo(), "a name of the tool's, but no file that it wrote"


def test_a_list_of_figures_that_somebody_edited_leads_nowhere_else(tmp_path: Path) -> None:
    victim, figures = tmp_path / "victim.png", tmp_path / "out" / "figures"
    figures.mkdir(parents=True)
    victim.write_text("mine")
    with one_set(tmp_path / "out", RESULT) as staged:
        (staged / RESULT).write_text("{}")
        (staged / "figures").mkdir()
        (staged / "figures" / "old.png").write_text("drawn")
    (figures / "notes.txt").write_text("mine")
    listed = ["../victim.png", str(victim), "notes.txt", "old.png", 7, "../../victim.png"]
    (tmp_path / "out" / FIGURE_LIST).write_text(json.dumps(listed))
    made = json.loads((tmp_path / "out" / MADE).read_text())
    made["files"] += [*listed, "figures/notes.txt", "figures/../../victim.png"]
    (tmp_path / "out" / MADE).write_text(json.dumps(made))
    with one_set(tmp_path / "out", RESULT) as staged:
        (staged / RESULT).write_text("{}")
    assert names(tmp_path) == {"victim.png", "out/result.json", "out/made.json", "out/figures/notes.txt"}
    for content in ("[" * 100_000, "{}", "\0"):
        (tmp_path / "out" / FIGURE_LIST).write_text(content)
        assert outputs.figures_of_set(tmp_path / "out") == []


@pytest.mark.parametrize("name", [*NAMES, "s.parquet"])
def test_a_file_of_somebody_else_is_refused_and_stays(command: Command, tmp_path: Path, name: str) -> None:
    """Files that happened to have a name of an output's were deleted without a word."""
    (tmp_path / "s.toml").write_text('preset = "tiny"\n[run]\nmax_requests = 500\n[vary]\nseed = [1, 2]\n')
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / name).write_text("important")
    done = command("sweep", "s.toml", "--out", "other")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"pumice: other/{name}: is not known to be of an earlier output")
    assert done.stderr.count("\n") == 1
    assert names(tmp_path / "other") == {name}
    if name in NAMES:
        with pytest.raises(SpecError, match="is not known to be of an earlier output"):
            pumice.run(TINY, out=tmp_path / "other")
    assert (tmp_path / "other" / name).read_text() == "important"


def test_a_finished_sweep_leaves_nothing_to_the_next_output(command: Command, tmp_path: Path) -> None:
    """The table of a sweep stayed beside the outputs of what came after it."""
    (tmp_path / "s.toml").write_text('preset = "tiny"\n[run]\nmax_requests = 500\n[vary]\nseed = [1, 2]\n')
    assert command("sweep", "s.toml", "--out", "out").returncode == 0
    assert "s.parquet" in names(tmp_path / "out")
    (tmp_path / "out" / "figures").mkdir()
    (tmp_path / "out" / "figures" / "mine.png").write_text("mine")
    (tmp_path / "out" / "report.html").write_text("mine")
    pumice.run(TINY, out=tmp_path / "out")
    left = {name for name in names(tmp_path / "out") if not name.startswith("runs/")}
    assert left == {RESULT, MADE, "figures/mine.png", "report.html"}, "no report of this tool"


def test_an_output_of_an_earlier_version_is_replaced(tmp_path: Path) -> None:
    """Its `made.json` does not list its files."""
    pumice.run(TINY.with_(output={"wear_map": True}), out=tmp_path)
    made = json.loads((tmp_path / MADE).read_text())
    assert made.pop("files") == [RESULT, FILES["wear_map"]]
    (tmp_path / MADE).write_text(json.dumps(made))
    pumice.run(TINY, out=tmp_path)
    assert names(tmp_path) == {RESULT, MADE}


def test_an_empty_name_is_no_directory(command: Command, tmp_path: Path) -> None:
    """It meant the directory that the command was called in."""
    (tmp_path / "s.toml").write_text('preset = "tiny"\n[run]\nmax_requests = 500\n[vary]\nseed = [1, 2]\n')
    for arguments in (["run", *COMMAND], ["compare", *COMMAND, "--vary", "seed=1,2"], ["sweep", "s.toml"]):
        done = command(*arguments, "--out", "")
        assert (done.returncode, done.stdout) == (2, ""), arguments
        assert "--out" in done.stderr
        assert "is empty; name a directory" in done.stderr
        assert names(tmp_path) == {"s.toml"}
    with pytest.raises(SpecError, match="out: is empty; name a directory"):
        pumice.run(TINY, out="")
    with pytest.raises(SpecError, match="store: is empty; name a directory"):
        pumice.sweep(TINY, {"seed": [1, 2]}, store="")
    for arguments in (["run", *COMMAND], ["compare", *COMMAND, "--vary", "seed=1,2"]):
        done = command(*arguments, "--snapshots", "")
        assert (done.returncode, done.stdout) == (2, ""), arguments
        assert "--snapshots" in done.stderr
        assert "is empty; name a directory" in done.stderr
    with pytest.raises(SpecError, match="snapshots: is empty; name a directory"):
        pumice.run(TINY, snapshots="")
    with pytest.raises(SpecError, match="snapshots: is empty; name a directory"):
        pumice.sweep(TINY, {"seed": [1, 2]}, snapshots="")


def test_the_names_of_a_set_are_told_once(tmp_path: Path) -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert not any("/" in name for name in NAMES)


def test_a_failed_run_leaves_no_empty_folder(command: Command, tmp_path: Path) -> None:
    """A run that failed left an empty output folder, and the folders above it."""
    write_trace(tmp_path / "bad.csv", broken=True)
    (tmp_path / "s.toml").write_text(
        'preset = "tiny"\n[workload]\nkind = "trace"\npath = "bad.csv"\n[vary]\nseed = [1, 2]\n'
    )
    (tmp_path / "kept").mkdir()
    for arguments in (
        ["run", *COMMAND, "--trace", "bad.csv", "--out", "a/b/out"],
        ["run", *COMMAND, "--set", "output.wear_map=true", "--trace", "bad.csv", "--out", "a/b/out"],
        ["run", *COMMAND, "--trace", "bad.csv", "--repeat", "2", "--out", "a/b/out"],
        ["compare", *COMMAND, "--trace", "bad.csv", "--vary", "seed=1,2", "--out", "a/b/out"],
        ["sweep", "s.toml", "--out", "a/b/out"],
        ["trace", "convert", "bad.csv", "a/b/out.csv"],
        ["trace", "info", "bad.csv", "--out", "a/b/out"],
        ["report", "bad.csv", "--out", "a/b/report.html"],
        ["run", *COMMAND, "--trace", "bad.csv", "--out", "kept"],
    ):
        done = command(*arguments)
        assert done.returncode in (1, 2), arguments
        assert {path.name for path in tmp_path.iterdir()} == {"bad.csv", "s.toml", "kept"}, arguments


def mine(path: Path) -> str:
    """Writes a file of the user's; returns its text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "time,op\n1,mine\n"
    path.write_text(text)
    return text


#: Every command that writes a file under a name that the user gives, and that name.
WRITERS: list[tuple[list[str], str]] = [
    (["trace", "convert", "source.csv", "notes.csv"], "notes.csv"),
    (["trace", "convert", "source.csv", "notes.parquet"], "notes.parquet"),
    (["trace", "generate", "notes.csv", "--preset", "tiny"], "notes.csv"),
    (["trace", "info", "source.csv", "--out", "out"], "out/source.csv.info.png"),
    (["trace", "info", "source.csv", "--out", "out"], "out/source.csv.info.svg"),
    (["snapshot", "save", "my.csv", "--preset", "tiny", "--set", "initial.age_writes=0.1"], "my.csv"),
    (["from-mqsim", "ssd.xml", "--out", "my.toml"], "my.toml"),
    (["report", "set", "--out", "my.html"], "my.html"),
    (["crash", "--preset", "tiny", "--out", "out", "--cuts", "1"], "out/crash.json"),
    (["crash", "--preset", "tiny", "--script", "true", "--session", "my.csv", "--cuts", "1"], "my.csv"),
    (["serve", "--preset", "tiny", "--listen", "unix:socket", "--record", "my.csv"], "my.csv"),
    (["serve", "--preset", "tiny", "--listen", "unix:socket", "--session", "my.csv"], "my.csv"),
    (["serve", "--preset", "tiny", "--listen", "unix:socket", "--store", "my.csv"], "my.csv"),
]


@pytest.mark.parametrize(
    ("arguments", "name"), WRITERS, ids=lambda value: value if isinstance(value, str) else " ".join(value[:2])
)
def test_t962_no_command_overwrites_a_file_of_the_users(
    command: Command, tmp_path: Path, arguments: list[str], name: str
) -> None:
    """`trace convert x notes.csv`, `snapshot save my.csv` and `from-mqsim --out my.toml` replaced what was there, with
    status 0."""
    write_trace(tmp_path / "source.csv")
    mqsim_files(tmp_path, {}, SYNTHETIC)
    if arguments[0] == "report":
        pumice.run(TINY, out=tmp_path / "set")
    text = mine(tmp_path / name)
    before = names(tmp_path)
    done = command(*arguments)
    assert done.returncode in (1, 2), done
    assert done.stderr.count("\n") == 1, done.stderr
    assert name in done.stderr
    assert (tmp_path / name).read_text() == text
    assert names(tmp_path) == before


def test_t963_a_trace_is_not_written_over_itself(command: Command, tmp_path: Path) -> None:
    """`trace convert a.csv a.csv` replaced the source by what was made of it."""
    source = write_trace(tmp_path / "a.csv")
    kept = source.read_bytes()
    os.link(source, tmp_path / "same.csv")
    os.symlink(source, tmp_path / "link.csv")
    for name in ("a.csv", "./a.csv", "same.csv", "link.csv"):
        done = command("trace", "convert", "a.csv", name)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done
        with pytest.raises(SpecError, match=r"is the trace that is read; name another file"):
            write_workload(with_options(pumice.Spec(), trace=source), tmp_path / name, "csv")
    assert source.read_bytes() == kept


def test_an_earlier_output_of_the_same_kind_gives_way(command: Command, tmp_path: Path) -> None:
    write_trace(tmp_path / "source.csv")
    for _ in range(2):
        for arguments in (
            ["snapshot", "save", "aged", "--preset", "tiny", "--set", "initial.age_writes=0.1"],
            ["trace", "info", "source.csv", "--out", "out"],
        ):
            done = command(*arguments)
            assert done.returncode == 0, done.stderr


def test_two_runs_into_one_folder_at_once_are_one_line(command: Command, tmp_path: Path) -> None:
    """The second run's files took the place of the first one's while that was still writing."""
    with files.output_directory(tmp_path / "out"):
        for arguments in (["run", *COMMAND], ["compare", *COMMAND, "--vary", "seed=1,2"]):
            done = command(*arguments, "--out", "out")
            assert (done.returncode, done.stdout) == (2, "")
            assert done.stderr == "pumice: out: another run is writing into it; wait for it, or name another\n"
        pumice.run(TINY, out=tmp_path / "out")
        refused: list[str] = []

        def run_beside() -> None:
            with pytest.raises(SpecError) as raised:
                pumice.run(TINY, out=tmp_path / "out")
            refused.append(str(raised.value))

        beside = threading.Thread(target=run_beside)
        beside.start()
        beside.join()
        assert "another run is writing into it" in refused[0]
    assert command("run", *COMMAND, "--out", "out").returncode == 0


@pytest.mark.parametrize("key", sorted(FILES))
def test_a_disk_that_is_full_is_named(tmp_path: Path, key: str) -> None:
    """Errors of files that are written while a run goes on said that no space is left, and not where."""
    script = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64)); from pumice.cli import main; main()"
    arguments = ["run", "--preset", "tiny", "--set", f"output.{key}=true", "--out", "out"]
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done
    assert done.stderr.splitlines()[-1].startswith("pumice: out"), done.stderr
    assert done.stderr.splitlines()[-1].endswith(": File too large")
    assert not names(tmp_path)


def test_commands_to_zones_are_named_in_the_request_log(tmp_path: Path) -> None:
    """Their kinds had no names, so that whoever read the file got an error."""
    zones = {"interface": "zones", "max_open": 4, "max_active": 4}
    flows = [{"kind": kind, "zones": [nth, 1]} for nth, kind in enumerate(("zone-append", "zone-finish", "zone-reset"))]
    spec = pumice.preset("tiny").with_(
        ftl={"kind": "zns", "zns": zones}, initial={"fill": 0.0}, output={"request_log": True, "histograms": True}
    )
    text = "".join(f'[[workload.flow]]\nkind = "{one["kind"]}"\nzones = {one["zones"]}\n' for one in flows)
    spec = dataclasses.replace(spec, text=f"[workload]\nrequests = 40\n{text}")
    result = pumice.run(spec, out=tmp_path)
    kinds = pq.read_table(tmp_path / FILES["request_log"])["kind"].to_pylist()
    counts = {kind: kinds.count(f"zone-{kind}") for kind in ("append", "finish", "reset")}
    assert counts == {kind: result.value(f"host.{kind}.requests") for kind in counts}
    assert all(counts.values())
    assert set(kinds) <= set(REQUEST_KINDS)
