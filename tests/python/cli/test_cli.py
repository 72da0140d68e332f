"""The command line: what it prints, how it fails, how it is stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import pumice
from conftest import Command, write_trace
from pumice import cli
from pumice.errors import SpecError
from pumice.results.document import warnings_of, warnings_of_all

TINY = ("--preset", "tiny", "--set", "run.max_requests=1000")

BAD_USAGE = [
    (["rnu"], "nearest: run"),
    (["run", "--sclae", "1"], "nearest: --scale"),
    (["run", "--scale", "x"], "--scale 'x'"),
    (["run", "--scale", "7"], "allowed"),
    (["run", "--scale", "nan"], "above 0 and at most 1"),
    (["explain", "ftl"], "is a section; its keys are ftl.kind"),
    (["run", "--repeat", "0"], "--repeat '0': is not allowed; allowed: from 1 to 100,000"),
    (["run", "--repeat", "2", "--workers", "0"], "--workers '0': is not allowed; allowed: 1 and more"),
    (["run", "--scale", "50%"], "--scale '50%': is not a number; allowed: digits such as 0.5"),
    (["run", "--seed", "1.5"], "--seed '1.5': is not a whole number"),
    (["run", *TINY, "--preset", "small"], "--preset is given 2 times; allowed: once"),
    (["trace", "check", "t.csv", "--format", "msr", "--format", "spc"], "--format is given 2 times"),
    (["run", *TINY, "--set", "seed=1", "--set", "seed=2"], "--set seed=2: another --set sets this key as well"),
    (["run", *TINY, "--seed", "1", "--set", "seed=2"], "--set seed=2: --seed sets this key as well"),
    (["run", "--trace", "t.csv", "--set", "workload.path=u.csv"], "--trace sets this key as well"),
    (
        ["compare", *TINY, "--set", "ftl.u_index=ram", "--vary", "ftl.u_index=ram,spare"],
        "--vary ftl.u_index: --set sets",
    ),
    (["compare", *TINY, "--seed", "3", "--vary", "seed=1,2"], "--vary seed: --seed sets this key as well"),
    (["run", "a.toml", "b.toml"], "unexpected extra argument"),
    (["run", "nosuch.toml"], "nosuch.toml: no such file"),
    (["run", "tiny"], "--preset tiny"),
    (["run", "bad.toml"], "bad.toml:3: unknown key 'ftl.mrege'; nearest valid key: 'ftl.merge'"),
    (["run", "broken.toml"], "broken.toml:2"),
    (["run", "binary.toml"], "not UTF-8"),
    (["run", "--preset", "tini"], "nearest: tiny"),
    (["run", *TINY, "--set", "foo"], "expected key=value"),
    (["run", *TINY, "--set", "ftl.merg=1"], "ftl.merge"),
    (["run", *TINY, "--set", "ftl.merge=never"], "allowed"),
    (["run", *TINY, "--workload", "twin:prn_9"], "twin:prn_"),
    (["run", *TINY, "--workload", "uniform", "--trace", "t.csv"], "not both"),
    (["run", *TINY, "--format", "msr"], "--format says how a trace is read, and there is none"),
    (["run", *TINY, "--trace", "nosuch.csv"], "nosuch.csv"),
    (["run", *TINY, "--trace", "t.csv"], "t.csv:1"),
    (["run", *TINY, "--repeat", "2", "--trace", "t.csv"], "t.csv:1"),
    (["run", *TINY, "--repeat", "2", "--trace", "nosuch.csv"], "nosuch.csv"),
    (["compare", *TINY], "at least two"),
    (["compare", *TINY, "--vary", "ftl.merge"], "expected key=value"),
    (["compare", *TINY, "--vary", "ftl.mrge=a,b"], "ftl.merge"),
    (["compare", *TINY, "--vary", "seed=1,2", "--repeat", "2"], "seed"),
    (["compare", *TINY, "--vary", "seed=1,2", "--vary", "seed=3,4"], "--vary seed is given twice"),
    (["sweep", "nosuch.toml"], "nosuch.toml: no such file"),
    (["plan"], "--example"),
    (["plan", "--example", "fig7"], "fig6"),
    (["plan", "--example", "fig6", "--d", "1v"], "no --d"),
    (["plan", "--d", "12x", "--u", "3f"], "--d: '12x'"),
    (["plan", "--d", "576v", "--u", "576f", "--disturb", "0,x"], "--disturb: 'x'"),
    (["plan", "--d", "576v", "--u", "576f", "--disturb", "no.npy"], "no.npy"),
    (["explain", "ftl.mrege"], "ftl.merge"),
    (["explain", "p99"], "p99 can mean host.read.latency_us.p99, host.write.latency_us.p99"),
    (["explain", "kind"], "kind can mean ftl.kind, workload.kind"),
    (["explain", "gftl"], "it is a value of 'ftl.kind'"),
    (["explain", "dftl"], 'stands for ftl.kind = "page" with ftl.map_place = "cached"'),
    (["explain"], "one of KEY, --search WORD and --all"),
    (["explain", "ftl.merge", "--all"], "one of KEY, --search WORD and --all"),
    (["explain", "--search", "xyzzy"], "speaks of 'xyzzy'"),
    (["run", "--preset", "gftl"], "it is a value of 'ftl.kind'"),
    (["run", *TINY, "--set", "ftl.kind=page-level"], 'here it is "page"'),
    (["run", "sweep.toml"], "sweep.toml: is a sweep file: it has a table [vary]; `pumice sweep sweep.toml` runs it"),
    (["compare", "sweep.toml", "sweep.toml"], "`pumice sweep sweep.toml` runs it"),
    (["run", "scaled.toml"], "scaled.toml: scale belongs in sweep files; for a spec, use the option --scale 0.5"),
    (["simulate"], "meant is perhaps `pumice run SPEC.toml`"),
    (["help"], "meant is perhaps `pumice --help`"),
    (["completion", "csh"], "allowed: bash, zsh, fish"),
    (["presets", "tini"], "nearest: tiny"),
    (["run", *TINY, "--fio-job", "flow=2"], "--fio-job: key flow of an fio job found"),
    (["run", *TINY, "--fio-job", "no.fio"], "no.fio: no such file"),
    (["run", *TINY, "--fio-job", "rw randwrite"], '--fio-job rw randwrite: no "=" in it; expected such as "rw=randrw'),
    (["run", *TINY, "--policy", "greedy"], "policy: no file 'greedy'; it is a value of 'ftl.gc_policy'"),
    (["run", *TINY, "--fio-job", "rw=read", "--workload", "uniform"], "not both"),
    (["run", *TINY, "--fio-job", ""], '--fio-job is empty; expected settings such as "rw=randrw bs=16k"'),
    (["run", *TINY, "--repeat", "2", "--resume"], "--out DIR names it"),
    (["run", *TINY, "--resume", "--out", "x"], "one run has nothing to take up"),
    (["compare", *TINY, "--vary", "seed=1,2", "--resume"], "--out DIR names it"),
    (["trace", "chekc", "t.csv"], "nearest: check"),
    (["trace", "check", "t.csv"], "t.csv:1"),
    (["trace", "info", "nosuch.csv"], "nosuch.csv"),
    (["report"], "Missing argument"),
    (["report", "nosuch.json"], "nosuch.json: no such file"),
    (["report", "bad.toml"], "this is a spec: `pumice run`"),
    (["report", "t.csv"], "expected what run, compare or sweep write"),
    (["report", "other.json"], "not a result document"),
    (["report", "."], "not a result document"),
    (["run", *TINY, "--out", "t.csv/x"], "t.csv/x: cannot be written to (not a directory)"),
    (["compare", *TINY, "--vary", "seed=1,2", "--out", "t.csv/x"], "t.csv/x: cannot be written to"),
    (["trace", "generate", "t.csv/x.csv", *TINY], "t.csv: is a file; a directory is needed"),
    (["trace", "generate", "t.csv/x/y.csv", *TINY], "t.csv/x: cannot be written to (not a directory)"),
    (["trace", "generate", ".", *TINY], "is a directory; a file is needed"),
    (["trace", "convert", "t.csv", "t.csv/x.csv"], "t.csv: is a file"),
    (["report", "other.json", "--out", "t.csv/r.html"], "t.csv: is a file"),
    (["report", "other.json", "--out", "t.csv"], "t.csv: is there, so it is not overwritten"),
    (["reproduce", "pne"], "nearest: pen"),
    (["reproduce", "pen", "--figure", "99"], "allowed: 3a, 3b"),
]


@pytest.fixture
def inputs(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text('preset = "tiny"\n[ftl]\nmrege = "x"\n')
    (tmp_path / "broken.toml").write_text('preset = "tiny"\n[ftl\n')
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    (tmp_path / "t.csv").write_text("a,b\n")
    (tmp_path / "other.json").write_text("{}")
    (tmp_path / "sweep.toml").write_text('preset = "tiny"\nscale = 0.5\n[vary]\nseed = [1, 2]\n')
    (tmp_path / "scaled.toml").write_text('preset = "tiny"\nscale = 0.5\n')


@pytest.mark.usefixtures("inputs")
@pytest.mark.parametrize(
    ("arguments", "text"), BAD_USAGE, ids=lambda value: " ".join(value) if isinstance(value, list) else ""
)
def test_bad_usage_is_one_line_and_status_2(
    arguments: list[str], text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.run(arguments) == 2
    said, complained = capsys.readouterr()
    assert said == ""
    assert len(complained.splitlines()) == 1, complained
    assert complained.startswith("pumice: ")
    assert text in complained


def test_the_process_has_the_status(process: Command, command: Command) -> None:
    """And so has one that was forked, whose words are the same."""
    for arguments, status in ((["presets"], 0), (["rnu"], 2), (["run", "--scale", "7"], 2)):
        new, forked = process(*arguments), command(*arguments)
        assert new.returncode == status
        assert (forked.returncode, forked.stdout, forked.stderr) == (status, new.stdout, new.stderr)


def test_what_nobody_foresaw_is_one_line_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_example: object) -> None:
        raise ZeroDivisionError("division\nby zero")

    monkeypatch.setattr("pumice.planning.worked_examples.example", broken)
    assert cli.run(["plan", "--example", "fig6"]) == 1
    assert capsys.readouterr().err == (
        "pumice: internal error: ZeroDivisionError: division by zero (PUMICE_TRACEBACK=1 shows where)\n"
    )


def test_a_run_shows_a_table_and_writes_its_document(command: Command, tmp_path: Path) -> None:
    done = command("run", *TINY, "--out", "out")
    assert done.returncode == 0
    assert "write amplification" in done.stdout
    document = json.loads((tmp_path / "out" / "result.json").read_text())
    assert document["format"] == "pumice.result/1"
    assert document["host"]["read"]["requests"] + document["host"]["write"]["requests"] == 1000


def test_json_is_the_document_and_nothing_else(command: Command) -> None:
    done = command("run", *TINY, "--json", "--seed", "7")
    assert json.loads(done.stdout)["seed"] == 7
    many = command("run", *TINY, "--json", "--seed", "7", "--repeat", "3")
    assert [document["seed"] for document in json.loads(many.stdout)] == [7, 8, 9]


def test_repeated_runs_show_their_spread(command: Command, tmp_path: Path) -> None:
    done = command("run", *TINY, "--repeat", "3", "--out", "out")
    assert done.returncode == 0
    assert "± 95 %" in done.stdout
    assert len(list((tmp_path / "out" / "runs").glob("*.json"))) == 3
    assert (tmp_path / "out" / "runs.parquet").exists()


def test_a_comparison_has_ratios_figures_and_a_report(command: Command, tmp_path: Path) -> None:
    vary = "ftl.merge=block-erase,m-merge"
    done = command("compare", *TINY, "--vary", vary, "--repeat", "2", "--out", "out")
    assert done.returncode == 0, done.stderr
    assert "ratio relative to merge = block-erase" in done.stdout
    figures = {path.name for path in (tmp_path / "out" / "figures").iterdir()}
    assert figures == {f"{name}.{kind}" for name in ("ratios", "write-latency-breakdown") for kind in ("png", "svg")}
    assert "pages copied" in (tmp_path / "out" / "comparison.csv").read_text()
    assert command("report", "out").returncode == 0
    assert (tmp_path / "out" / "report.html").exists()


def test_a_comparison_as_json_is_nothing_else(command: Command, tmp_path: Path) -> None:
    done = command("compare", *TINY, "--vary", "ftl.merge=block-erase,m-merge", "--json", "--out", "out")
    found = json.loads(done.stdout)
    assert [variant["label"] for variant in found["variants"]] == ["merge = block-erase", "merge = m-merge"]
    rows = {row["field"]: row["values"] for row in found["rows"]}
    erases = [variant["documents"][0]["flash"]["erases"]["block"] for variant in found["variants"]]
    assert [value["mean"] for value in rows["flash.erases.block"]] == erases
    assert rows["flash.erases.block"][1]["ratio"] == erases[1] / erases[0]
    assert found == json.loads((tmp_path / "out" / "comparison.json").read_text())


def test_a_comparison_whose_runs_all_fail_shows_no_table(command: Command, tmp_path: Path) -> None:
    write_trace(tmp_path / "bad.csv", broken=True)
    done = command("compare", *TINY, "--trace", "bad.csv", "--vary", "ftl.merge=block-erase,m-merge", "--out", "out")
    assert done.returncode in (1, 2)
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "out" / "comparison.json").exists()


def test_seeds_have_an_upper_bound_that_is_named(command: Command) -> None:
    assert command("run", *TINY, "--seed", str(2**63 - 1)).returncode == 0
    done = command("run", *TINY, "--seed", str(2**63))
    assert done.returncode == 2
    assert "allowed: a whole number from 0 to 2^63 - 1" in done.stderr
    assert json.loads(command("schema").stdout)["properties"]["seed"]["maximum"] == 2**63 - 1


def test_catalogues(command: Command) -> None:
    lines = command("presets").stdout.splitlines()
    assert [line.split()[0] for line in lines[2:]] == pumice.presets(), "a line each"
    assert lines[0].split() == ["name", "capacity", "cells", "year", "FTL", "kind", "about"]
    assert any(line.startswith("tiny  ") and "A device of 256 blocks" in line for line in lines)
    drives = [line for line in lines[2:] if " drive  " in line]
    listed = [line.split()[0] for line in command("presets", "--kind", "drive").stdout.splitlines()[2:]]
    assert listed == [line.split()[0] for line in drives] != []
    assert any(line.split()[:6] == ["enterprise-tlc-4t", "3.84", "TB", "TLC", "2021", "page"] for line in drives)
    assert (
        "--kind disk is not allowed; allowed: drive, part, paper, test" in command("presets", "--kind", "disk").stderr
    )
    listed = json.loads(command("presets", "--json").stdout)
    assert all(one["about"] and not one["about"].startswith("schema") for one in listed)
    assert "[geometry]" in command("presets", "tiny").stdout
    assert "#:schema" not in command("presets", "tiny").stdout
    assert "twin:prn_1" in command("workloads").stdout
    assert json.loads(command("schema").stdout)["type"] == "object"
    assert "source" in command("explain", "ftl.merge").stdout
    assert command().stdout.count("reproduce") == 1


def test_a_preset_as_json_is_its_spec(command: Command) -> None:
    found = json.loads(command("presets", "tiny", "--json").stdout)
    assert found["name"] == "tiny"
    assert found["about"]
    assert (
        found["spec"]["geometry"]["blocks_per_plane"]
        == pumice.preset("tiny").resolve()["config"]["geometry"]["blocks_per_plane"]
    )


def test_a_run_of_the_defaults_says_how_large_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    begun = []

    def stopped(*_: object, **_options: object) -> str:
        begun.append(True)
        raise SpecError("not run")

    monkeypatch.setattr("pumice.cli.run_command.run_to_text", stopped)
    said = []
    for arguments in ([], ["--preset", "tiny"], ["--scale", "0.5"]):
        assert cli.run(["run", *arguments]) == 2
        said.append(capsys.readouterr().err.splitlines()[:-1])
    assert said[1:] == [[], []]
    assert len(begun) == 3
    [line] = said[0]
    assert "no SPEC.toml and no --preset: this runs --preset client-tlc-240g --capacity 16g" in line


def test_a_trace_is_checked_and_described(command: Command, tmp_path: Path) -> None:
    lines = [f"{128166372000000000 + step * 10**6},hm,0,Write,{step * 4096},4096,100" for step in range(20)]
    (tmp_path / "good.csv").write_text("\n".join(lines) + "\n")
    assert command("trace", "check", "good.csv").returncode == 0
    assert command("trace", "info", "good.csv", "--json").stdout.startswith("{")
    done = command("run", *TINY, "--trace", "good.csv", "--json")
    assert json.loads(done.stdout)["host"]["write"]["requests"] == 20


def test_a_trace_is_converted_and_generated(command: Command, tmp_path: Path) -> None:
    command("trace", "generate", "tiny.trace", *TINY, "--set", "workload.requests=50", "--to", "ssdsim")
    assert len((tmp_path / "tiny.trace").read_text().splitlines()) == 50
    command("trace", "convert", "tiny.trace", "tiny.csv", "--to", "msr")
    there, back = (pumice.read_trace(tmp_path / name) for name in ("tiny.trace", "tiny.csv"))
    assert (there["offset_bytes"] == back["offset_bytes"]).all()
    assert (there["is_write"] == back["is_write"]).all()
    # MSR counts in 100 ns; both sides start at their own first request.
    assert abs(there["arrival_ns"].astype(int) - back["arrival_ns"].astype(int)).max() <= 100


def test_a_trace_is_drawn_and_its_curves_stay_out_of_the_text(command: Command, tmp_path: Path) -> None:
    command("trace", "generate", "tiny.csv", *TINY, "--set", "workload.requests=200")
    done = command("trace", "info", "tiny.csv", "--out", "figures")
    assert done.returncode == 0
    assert "shape" not in done.stdout
    assert "tiny.csv.info.png" in done.stderr
    for ending in ("png", "svg"):
        assert (tmp_path / f"figures/tiny.csv.info.{ending}").stat().st_size > 10_000
    shape = json.loads(command("trace", "info", "tiny.csv", "--json").stdout)["shape"]
    assert len(shape["hottest_percent_share"]) == 101
    assert shape["hottest_percent_share"][100] == 1.0
    assert sum(step["count"] for step in shape["interarrival_ns"]) == 199


@pytest.mark.parametrize(("ending", "magic"), [("gz", b"\x1f\x8b"), ("zst", b"\x28\xb5\x2f\xfd"), ("xz", b"\xfd7zXZ")])
def test_a_trace_is_compressed_as_its_name_says(command: Command, tmp_path: Path, ending: str, magic: bytes) -> None:
    command("trace", "generate", f"tiny.csv.{ending}", *TINY, "--set", "workload.requests=50")
    assert (tmp_path / f"tiny.csv.{ending}").read_bytes().startswith(magic)
    assert len(pumice.read_trace(tmp_path / f"tiny.csv.{ending}")["bytes"]) == 50


def test_trims_are_kept_where_the_format_has_them(command: Command, tmp_path: Path) -> None:
    trims = ("--set", "workload.trim_fraction=0.5", "--set", "workload.requests=100")
    assert command("trace", "generate", "t.log", *TINY, *trims, "--to", "fio").stderr == ""
    columns = pumice.read_trace(tmp_path / "t.log")
    assert 20 < columns["is_trim"].sum() < 80
    assert not (columns["is_trim"] & columns["is_write"]).any()
    done = command("trace", "convert", "t.log", "t.msr")
    assert f"{columns['is_trim'].sum()} trims were left out" in done.stderr
    assert len(pumice.read_trace(tmp_path / "t.msr")["bytes"]) == 100 - columns["is_trim"].sum()
    found = json.loads(command("trace", "check", "t.log", "--json").stdout)
    assert (found["records"], found["trims"]) == (100, columns["is_trim"].sum())


def test_flushes_and_force_unit_access_are_read_counted_and_reported(command: Command, tmp_path: Path) -> None:
    mix = ("workload.requests=100", "workload.flush_every=20", "workload.fua_fraction=0.5")
    sets = [word for key in mix for word in ("--set", key)]
    kept = command("trace", "generate", "t.log", *TINY, *sets, "--to", "fio")
    columns = pumice.read_trace(tmp_path / "t.log")
    assert len(columns["bytes"]) == 105
    assert columns["is_flush"].sum() == 5
    assert (columns["bytes"][columns["is_flush"]] == 0).all()
    assert not columns["is_fua"].any()
    assert "lost force unit access: format fio has none; csv has" in kept.stderr
    assert "left out" not in kept.stderr
    assert command("trace", "generate", "t.csv", *TINY, *sets).stderr == ""
    assert pumice.read_trace(tmp_path / "t.csv")["is_fua"].sum() > 20
    done = command("trace", "convert", "t.log", "t.msr")
    assert "5 flushes were left out: format msr has none; csv and fio have" in done.stderr
    info = json.loads(command("trace", "info", "t.log", "--json").stdout)
    assert (info["flushes"], info["fua_writes"]) == (5, 0)


def test_a_job_in_fios_words(command: Command, tmp_path: Path) -> None:
    job = "rw=randrw bs=8k iodepth=4 rwmixread=30 number_ios=400"
    done = command("run", "--preset", "tiny", "--fio-job", job, "--json")
    config = json.loads(done.stdout)["config"]
    assert (config["workload"]["kind"], config["workload"]["request_sizes"]) == ("permutation", [8192.0])
    assert (config["host"]["mode"], config["host"]["queue_depth"]) == ("closed-loop", 4)
    (tmp_path / "job.fio").write_text("[global]\nbs=8k\n[mixed]\n" + job.replace(" ", "\n"))
    again = command("run", "--preset", "tiny", "--fio-job", "job.fio", "--set", "seed=1", "--json")
    assert json.loads(again.stdout)["host"] == json.loads(done.stdout)["host"]


def test_a_trace_that_cannot_be_written_leaves_nothing(command: Command, tmp_path: Path) -> None:
    write_trace(tmp_path / "bad.csv", broken=True)
    for arguments, status in ((["bad.csv", "out.csv"], 2), (["bad.csv", "out.csv", "--to", "nonsense"], 2)):
        done = command("trace", "convert", *arguments)
        assert done.returncode == status
        assert len(done.stderr.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["bad.csv"]


def test_a_directory_that_cannot_be_written_is_told_before_the_run(command: Command, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for arguments in (["run", *TINY], ["compare", *TINY, "--vary", "seed=1,2"], ["reproduce", "pen", "--figure", "6"]):
        done = command(*arguments, "--out", "file/out")
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1
        assert "file/out: cannot be written to (not a directory)" in done.stderr


def test_a_reader_that_leaves_early_is_no_error() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "pumice", "schema"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    process.stdout.close()
    assert process.wait(timeout=60) == 0
    assert process.stderr.read() == ""
    process.stderr.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no device that is always full")
def test_a_full_disk_behind_stdout_is_one_line_and_status_1(process: Command) -> None:
    with open("/dev/full", "w") as full:
        done = process("schema", capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert done.stderr == "pumice: standard output: No space left on device\n"


@pytest.mark.parametrize("delay_s", [0.0, 0.2, 1.5])
def test_ctrl_c_is_one_line_and_status_130(tmp_path: Path, delay_s: float) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "pumice", "run", "--preset", "pen-1tb", "--workload", "twin:usr_1", "--out", "out"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while not (tmp_path / "out").exists() and process.poll() is None:
        time.sleep(0.01)
    time.sleep(delay_s)
    os.kill(process.pid, signal.SIGINT)
    said, complained = process.communicate(timeout=60)
    assert process.returncode == 130, complained
    assert said == ""
    assert len(complained.splitlines()) == 1
    assert "kept" in complained
    assert not list(tmp_path.glob("out/*"))


WITHOUT_EFFECT = (
    'pumice: warning: ftl.u_blocks has no effect with ftl.kind = "nftl"; '
    'ftl.kind = "superblock-2006" | "replacement-block" | "log-block" | "fast" reads it\n'
)


def test_a_key_that_is_not_read_gets_a_word(command: Command) -> None:
    done = command("run", *TINY, "--set", "ftl.u_blocks=4", "--set", "workload.read_fraction=.5", "--json")
    assert done.returncode == 0
    assert done.stderr == WITHOUT_EFFECT
    assert json.loads(done.stdout)["warnings"] == [done.stderr.removeprefix("pumice: warning: ").rstrip()]
    assert command("run", *TINY).stderr == ""


def test_each_wrong_setting_has_a_line_and_those_of_a_study_share_one(command: Command) -> None:
    wrong = ["--set", "ftl.gc_polcy=greedy", "--set", "seed=1.5"]
    key, value = (
        "--set: unknown key 'ftl.gc_polcy'; nearest valid key: 'ftl.gc_policy'",
        "--set: seed = 1.5 is not allowed",
    )
    lines = command("run", *TINY, *wrong).stderr.splitlines()
    assert [line.startswith(f"pumice: {part}") for line, part in zip(lines, (key, value), strict=True)] == [True, True]
    assert (
        f"pumice: {key}; {value}" in command("compare", *TINY, *wrong, "--vary", "ftl.merge=block-erase,m-merge").stderr
    )


def test_a_key_that_one_run_reads_gets_none(command: Command) -> None:
    """A study may set what some of its runs do not know."""
    some = command("compare", *TINY, "--set", "partial_erase.wear_limit_w=4", "--vary", "ftl.merge=block-erase,m-merge")
    assert (some.returncode, some.stderr) == (0, "")
    none = command("compare", *TINY, "--set", "ftl.u_blocks=4", "--vary", "ftl.merge=block-erase,m-merge")
    assert none.returncode == 0
    assert none.stderr == WITHOUT_EFFECT


def test_warnings_of_a_study() -> None:
    idle = 'ftl.u_blocks has no effect with ftl.kind = "page"'
    other = 'ftl.u_blocks has no effect with ftl.kind = "nftl"'
    assert warnings_of([]) == []
    assert warnings_of([{"warnings": [idle, "saturated"]}, {"warnings": ["saturated"]}]) == ["saturated"]
    assert warnings_of([{"warnings": [idle]}, None, {"warnings": [other]}]) == [idle]


def test_warnings_that_differ_in_a_number_are_one_line_that_names_the_variants() -> None:
    """Six variants had six warnings, each with another number."""
    six = [(f"v{nth}", {"warnings": [f"saturated: {nth}.5 s behind", "small"]}) for nth in range(6)]
    assert warnings_of_all(six) == ["all 6: saturated: 0.5 s behind (numbers of the first)", "small"]
    assert warnings_of_all([*six[:2], ("well", {"warnings": []})]) == [
        "v0; v1: saturated: 0.5 s behind (numbers of the first)", "v0; v1: small",
    ]  # fmt: skip
