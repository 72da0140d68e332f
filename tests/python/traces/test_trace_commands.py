"""Traces on the command line: columns, formats by name, fitted devices."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import pumice
from conftest import Command

TEXT = "10,W,8,512\n11.5,R,0,1024\n"
COLUMNS = "time=0:s,op=1,offset=2:sectors,size=3"


def test_every_command_that_reads_a_trace_takes_columns(command: Command, tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text(TEXT)
    (tmp_path / "s.toml").write_text(
        f'preset = "tiny"\n[workload]\nkind = "trace"\npath = "t.txt"\ncolumns = "{COLUMNS}"\n'
        '[vary]\n"ftl.merge" = ["block-erase", "m-merge"]\n'
    )
    asks = ["--columns", COLUMNS]
    device = ["--preset", "tiny", "--trace", "t.txt", *asks]
    for arguments in (
        ["run", *device, "--json"],
        ["run", *device, "--repeat", "2"],
        ["compare", *device, "--vary", "ftl.merge=block-erase,m-merge"],
        ["sweep", "s.toml"],
        ["trace", "check", "t.txt", *asks],
        ["trace", "info", "t.txt", *asks],
        ["trace", "convert", "t.txt", "t.csv", *asks],
    ):
        done = command(*arguments)
        assert done.returncode == 0, (arguments, done.stderr)
    assert (tmp_path / "t.csv").read_text() == (
        "time_ns,op,offset_bytes,size_bytes\n0,W,4096,512\n1500000000,R,0,1024\n"
    )
    done = command("run", "--preset", "tiny", "--trace", "t.txt", "--columns", "time=0,op=1,offset=2,size=3")
    assert (done.returncode, done.stdout) == (2, "")
    assert "t.txt:1: workload.columns gives time without a unit" in done.stderr
    done = command("run", "--preset", "tiny", "--columns", COLUMNS)
    assert "--columns says how a trace is read, and there is none" in done.stderr


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("x.spc.gz", "spc"),
        ("x.SPC", "spc"),
        ("a.b.tencent.zst", "tencent"),
        ("x.msr.csv", "msr"),
        ("x.csv.xz", "csv"),
        ("x.ssdsim.txt", "ssdsim"),
        ("x.iolog", "fio"),
        ("x.parquet", "parquet"),
        ("x.feather", "arrow"),
    ],
)
def test_a_trace_is_written_in_the_format_of_its_name(command: Command, tmp_path: Path, name: str, told: str) -> None:
    (tmp_path / "t.csv").write_text("time_ns,op,offset_bytes,size_bytes\n0,W,4096,512\n")
    done = command("trace", "convert", "t.csv", name)
    assert (done.returncode, done.stdout.split()[:2]) == (0, ["format", told]), done.stderr
    assert pumice.read_trace(tmp_path / name)["offset_bytes"].tolist() == [4096]


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["x.txt"], "x.txt: the name does not say the format; end it in one of .msr, "),
        (["x"], "the name does not say the format"),
        (["x.gz"], "the name does not say the format"),
        (["-"], "give the format (--to)"),
        (["x.blkparse"], "the name does not say the format"),
        (["x.spc", "--to", "spd"], "nearest: spc"),
        (["x.parquet.gz"], "parquet compresses its columns itself"),
    ],
)
def test_a_name_without_a_format_is_refused(command: Command, tmp_path: Path, arguments: list[str], part: str) -> None:
    (tmp_path / "t.csv").write_text("time_ns,op,offset_bytes,size_bytes\n0,W,4096,512\n")
    done = command("trace", "convert", "t.csv", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert part in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_a_device_is_fitted_to_a_trace(command: Command, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("time_ns,op,offset_bytes,size_bytes\n0,W,0,512\n5,R,3221225472,4096\n")
    lost = command("run", "--preset", "tiny", "--trace", "t.csv")
    assert lost.returncode == 2
    assert "t.csv:3: bytes 3221225472 to" in lost.stderr
    assert "--fit-device" in lost.stderr
    done = command("run", "--preset", "tiny", "--trace", "t.csv", "--fit-device", "--json")
    assert "--fit-device: 2 channels x 64 chips x 1 die, user capacity" in done.stderr
    config = json.loads(done.stdout)["config"]
    assert (config["geometry"]["chips_per_channel"], config["workload"]["address"]) == (64, "exact")
    fitted = ["run", "--preset", "tiny", "--trace", "t.csv", "--fit-device", "--json"]
    compact = command(*fitted, "--set", "workload.address=compact")
    shape = json.loads(compact.stdout)["config"]["geometry"]
    assert (shape["channels"], shape["chips_per_channel"]) == (1, 1)
    scaled = command("run", "--preset", "tiny", "--trace", "t.csv", "--scale", "0.5")
    assert "a recorded trace is never scaled" in scaled.stderr
    assert "--fit-device" in scaled.stderr
    twin = command("run", "--preset", "tiny", "--fit-device")
    assert "--fit-device belongs to a recorded trace" in twin.stderr


def test_variants_share_the_fitted_device(command: Command, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("time_ns,op,offset_bytes,size_bytes\n0,W,0,512\n5,R,100000000,4096\n")
    vary = "ftl.over_provisioning=0.15,0.6"
    done = command("compare", "--preset", "tiny", "--trace", "t.csv", "--fit-device", "--vary", vary, "--out", "out")
    assert done.returncode == 0, done.stderr
    documents = [json.loads(path.read_text()) for path in (tmp_path / "out" / "runs").glob("*.json")]
    assert len(documents) == 2
    assert len({document["config"]["geometry"]["chips_per_channel"] for document in documents}) == 1
    spec = pumice.preset("tiny")
    fitted = pumice.run(spec, trace=tmp_path / "t.csv", fit_device=True)
    assert fitted.document["config"]["geometry"]["chips_per_channel"] == 2
