"""Sweeps: files, grids, tables."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pumice
from conftest import Command
from pumice.results.document import leaves
from pumice.results.run_table import JSON_FIELDS, RESULT_FIELDS
from pumice.runs.grid import Grid, parse_value, parse_vary, short_names
from pumice.runs.sweep import read_sweep
from pumice.runs.values import toml_text

SWEEP = """\
preset = "tiny"   # small
scale = 1.0
repeat = 2

[run]
max_requests = 500

[vary]
"ftl.merge" = ["block-erase", "m-merge"]
partial_erase.max_splits = [
    2,
    4,
]
"""


def test_a_sweep_file_is_a_spec_with_three_additions(tmp_path: Path) -> None:
    path = tmp_path / "sweep.toml"
    path.write_text(SWEEP)
    grid = read_sweep(path)
    assert grid.repeat == 2
    assert grid.base.scale == 1.0
    assert dict(grid.vary) == {"ftl.merge": ["block-erase", "m-merge"], "partial_erase.max_splits": [2, 4]}
    assert [job.seed for job in grid.jobs()] == [1, 2] * 4
    assert grid.base.text.splitlines()[5] == "max_requests = 500"  # lines keep their numbers


TRACE = "".join(f"{128166372000000000 + n * 10**6},hm,0,Write,{n * 8192},4096,0\n" for n in range(20))


@pytest.mark.parametrize(
    "line", ['workload = {kind = "trace", path = "t.csv"}', '"workload.path" = "t.csv"\nworkload.kind = "trace"']
)
def test_a_trace_in_a_spec_is_looked_for_beside_the_spec(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    """It was looked for where the command was given, so that a folder with spec and trace worked in one place alone."""
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "t.csv").write_text(TRACE)
    path = tmp_path / "study" / "spec.toml"
    path.write_text(f'preset = "tiny"\n{line}\n')
    monkeypatch.chdir(tmp_path)
    spec = pumice.Spec.from_file("study/spec.toml")
    assert spec.resolve()["config"]["workload"]["path"] == os.path.join("study", "t.csv")
    assert pumice.run(spec).value("host.write.requests") == 20
    (tmp_path / "u.csv").write_text(TRACE.splitlines()[0])
    assert pumice.run(spec, trace="u.csv").value("host.write.requests") == 1, "a path of a program starts where it runs"
    monkeypatch.chdir(path.parent)
    assert pumice.Spec.from_file("spec.toml").resolve()["config"]["workload"]["path"] == "t.csv"
    path.write_text(f'preset = "tiny"\n{line}\n'.replace("t.csv", str(tmp_path / "u.csv")))
    assert pumice.run(pumice.Spec.from_file(path)).value("host.write.requests") == 1


def test_traces_in_a_sweep_file_are_looked_for_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "study").mkdir()
    for name in ("a.csv", "b.csv"):
        (tmp_path / "study" / name).write_text(TRACE)
    path = tmp_path / "study" / "s.toml"
    path.write_text(
        'preset = "tiny"\nworkload.kind = "trace"\n[vary]\n"seed, workload.path" = [[1, "a.csv"], [2, "b.csv"]]\n'
    )
    monkeypatch.chdir(tmp_path)
    jobs = read_sweep(Path("study/s.toml")).jobs()
    assert [job.varied["workload.path"] for job in jobs] == ["a.csv", "b.csv"], "called as the file calls them"
    for job in jobs:
        assert pumice.run(job.spec).value("host.write.requests") == 20


@pytest.mark.parametrize(
    "text",
    [
        'preset = "tiny"\n[vary]\nseed = [1]\n[run]\nmax_requests = 500\n',
        'vary = { seed = [1] }\npreset = "tiny"\n[run]\nmax_requests = 500\n',
        'vary.seed = [\n1,\n]\npreset = "tiny"\nscale = 1.0\nrun.max_requests = 500\n',
        'preset = "tiny"\n[run]\nmax_requests = 500\n[vary.partial_erase]\nmax_splits = [2]\n[vary]\nseed = [1]\n',
        'preset = "tiny" # [vary]\n[run] # scale = 3\nmax_requests = 500\n\n["vary"]\n# scale\nseed = [1]\n',
    ],
)
def test_the_additions_may_stand_anywhere_and_lines_keep_their_numbers(tmp_path: Path, text: str) -> None:
    path = tmp_path / "sweep.toml"
    path.write_text(text)
    grid = read_sweep(path)
    assert grid.vary["seed"] == [1]
    spec = grid.base.text
    assert spec is not None
    assert tomllib.loads(spec) == {"preset": "tiny", "run": {"max_requests": 500}}
    lines, kept = text.splitlines(), spec.splitlines()
    assert all(line in ("", lines[place]) for place, line in enumerate(kept))
    assert [job.spec.resolve()["config"]["run"]["max_requests"] for job in grid.jobs()] == [500]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (("[run]", "[rnu]"), "rnu"),
        (("max_requests", "max_request"), "max_requests"),
        (("repeat = 2", "repeats = 2"), "repeats"),
        (("repeat = 2", "repeat = 2.5"), "whole number"),
        (("repeat = 2", "repeat = 0"), "repeat"),
        (("scale = 1.0", 'scale = "x"'), "scale"),
        (("scale = 1.0", "scale = 3"), "scale"),
        (('"ftl.merge"', '"ftl.mrege"'), "ftl.merge"),
        (('["block-erase", "m-merge"]', "[]"), "no values"),
        (('["block-erase", "m-merge"]', '"m-merge"'), "a list of values"),
        (("[vary]", "[vary"), "not TOML"),
    ],
)
def test_sweep_files_that_cannot_be(command: Command, tmp_path: Path, change: tuple[str, str], text: str) -> None:
    (tmp_path / "sweep.toml").write_text(SWEEP.replace(*change))
    done = command("sweep", "sweep.toml")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert text in done.stderr


def test_one_row_a_run_and_the_same_rows_for_any_workers(tmp_path: Path, command: Command) -> None:
    (tmp_path / "sweep.toml").write_text(SWEEP)
    tables = []
    for workers in ("1", "3"):
        done = command("sweep", "sweep.toml", "--workers", workers, "--out", f"out{workers}")
        assert done.returncode == 0, done.stderr
        tables.append(pq.read_table(tmp_path / f"out{workers}" / "sweep.parquet"))
    assert tables[0].schema == tables[1].schema
    assert tables[0].num_rows == 8
    assert tables[0].column("ftl.merge").to_pylist() == ["block-erase"] * 4 + ["m-merge"] * 4
    assert set(tables[0].column("status").to_pylist()) == {"done"}
    for name in tables[0].column_names:
        if not name.startswith("run."):  # the wall clock's part
            assert tables[0].column(name) == tables[1].column(name), name
    done = command("sweep", "sweep.toml", "--out", "out1", "--resume")
    assert "8 runs (8 reused)" in done.stdout


def test_a_combination_that_is_refused_ends_the_study_before_its_first_run(tmp_path: Path, command: Command) -> None:
    """The others were run first, and the status was that of a run that failed."""
    (tmp_path / "sweep.toml").write_text(SWEEP.replace("    4,", "    12,"))
    vary = ("--vary", "partial_erase.max_splits=2,12")
    for arguments in (
        ["sweep", "sweep.toml", "--out", "new"],
        ["compare", "--preset", "tiny", "--set", "ftl.merge=m-merge", *vary, "--out", "new"],
    ):
        done = command(*arguments)
        assert (done.returncode, done.stdout) == (2, ""), done.stderr
        assert done.stderr.count("\n") == 1
        assert "max_splits = 12: " in done.stderr
        assert not (tmp_path / "new").exists(), "nothing was run"
    with pytest.raises(pumice.SpecError, match=r"^seed = -1: .*seed"):
        pumice.sweep(pumice.preset("tiny"), {"seed": [1, -1]}, store=tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("entry", "values", "shown"),
    [
        ("seed", [1, 2, 1], "1"),
        ("ftl.merge", ["block-erase", "block-erase"], "block-erase"),
        ("ftl.over_provisioning", [0.5, 0.25, 0.5], "0.5"),
        ("workload.read_fraction", [1, 1.0], "1.0"),
        ("seed, run.timed", [[1, True], (1, True)], "[1, true]"),
    ],
)
def test_a_value_that_is_given_twice_is_refused(entry: str, values: list[Any], shown: str) -> None:
    """Its run counted as one of two seeds, with an interval of 0."""
    text = re.escape(f"vary: {entry} has {shown} twice; allowed: each value once")
    with pytest.raises(pumice.SpecError, match=text):
        pumice.sweep(pumice.preset("tiny"), {entry: values})


def test_a_value_that_is_given_twice_is_refused_on_the_command_line(tmp_path: Path, command: Command) -> None:
    (tmp_path / "sweep.toml").write_text('preset = "tiny"\n[vary]\nseed = [1, 1]\n')
    for arguments in (["sweep", "sweep.toml"], ["compare", "--preset", "tiny", "--vary", "seed=1,1"]):
        done = command(*arguments)
        assert done.returncode == 2
        assert done.stderr == "pumice: vary: seed has 1 twice; allowed: each value once\n"


def test_variants_of_one_file_name_are_told_apart_by_path(tmp_path: Path, command: Command) -> None:
    (tmp_path / "x").mkdir()
    for place, seed in (("a.toml", 1), ("x/a.toml", 2), ("b.toml", 3)):
        (tmp_path / place).write_text(f'preset = "tiny"\nseed = {seed}\n[run]\nmax_requests = 200\n')
    done = command("compare", "a.toml", "x/a.toml", "b.toml", "--json")
    assert [one["label"] for one in json.loads(done.stdout)["variants"]] == ["a.toml", "x/a.toml", "b"]
    done = command("compare", "a.toml", "x/../a.toml")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "x/../a.toml: is given twice" in done.stderr


def test_an_interruption_is_a_ctrl_c_for_python() -> None:
    """`except Exception` around a study went on with the next one."""
    assert issubclass(pumice.Interrupted, KeyboardInterrupt)
    assert not issubclass(pumice.Interrupted, Exception)


def test_the_schema_does_not_depend_on_the_results() -> None:
    base = pumice.preset("tiny").with_(run={"max_requests": 100})
    one = pumice.sweep(base, {"run.timed": [True, False]}, workers=1)
    assert one.schema.field("run.timed").type == "bool"
    names = ["run.timed", "run_seed", "status", "error"]
    assert one.column_names == [*names, *(path for path, _ in RESULT_FIELDS), *JSON_FIELDS]


def test_every_field_of_a_document_has_a_column() -> None:
    result = pumice.run(pumice.preset("tiny").with_(ftl={"merge": "m-merge"}, run={"max_requests": 2000}))
    known = {path for path, _ in RESULT_FIELDS}
    missing = [
        path
        for path, _ in leaves(result.to_dict())
        if not any(path in (name, f"{name}") or name.startswith(f"{path}.") for name in known)
        and not any(path == name or path.startswith(f"{name}.") for name in JSON_FIELDS)
    ]
    assert missing == []


def test_grids_vary_the_last_key_fastest_and_refuse_two_sources_of_seeds() -> None:
    grid = Grid(pumice.preset("tiny"), {"ftl.merge": ["block-erase", "m-merge"], "seed": [1, 2]})
    assert [job.label for job in grid.jobs()] == [
        f"merge = {merge}, seed = {seed}" for merge in ("block-erase", "m-merge") for seed in (1, 2)
    ]
    with pytest.raises(pumice.SpecError, match="seed"):
        Grid(grid.base, grid.vary, repeat=2).jobs()


def test_labels_name_what_varies() -> None:
    """`compare` showed columns called 1 to 6."""
    assert short_names(["partial_erase.max_splits", "workload.kind"]) == {
        "partial_erase.max_splits": "max_splits",
        "workload.kind": "workload",
    }
    same = ["ftl.merge", "x.merge", "seed"]
    assert short_names(same) == {"ftl.merge": "ftl.merge", "x.merge": "x.merge", "seed": "seed"}
    vary = {"partial_erase.max_splits": [3], "partial_erase.disturb_aware": [True], "partial_erase.t_us": [[1.5, 2.0]]}
    (job,) = Grid(pumice.preset("tiny"), vary, name="pen").jobs()
    assert job.label == "pen, max_splits = 3, disturb_aware = true, t_us = [1.5, 2.0]"


def test_keys_that_share_an_entry_change_together() -> None:
    vary = {"geometry.pages_per_block, geometry.blocks_per_plane": [[32, 128], [64, 64]], "seed": [1, 2]}
    points = Grid(pumice.preset("tiny"), vary).points()
    assert len(points) == 4
    assert points[1] == {"geometry.pages_per_block": 32, "geometry.blocks_per_plane": 128, "seed": 2}
    for entry, text in (
        ({"geometry.pages_per_block, geometry.blocks": [[1, 2]]}, "geometry.blocks"),
        ({"seed, run.timed": [[1]]}, "a list of 2 values"),
        ({"seed, run.timed": [1]}, "a list of 2 values"),
        ({"seed, run.timed": [[1, True]], "seed": [1]}, "seed is given twice"),
    ):
        with pytest.raises(pumice.SpecError, match=text):
            Grid(pumice.preset("tiny"), entry).jobs()
    with pytest.raises(pumice.SpecError, match="repeat varies the seed"):
        Grid(pumice.preset("tiny"), {"seed, run.timed": [[1, True]]}, repeat=2).jobs()


VALUES = st.recursive(
    st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False)
    | st.text(st.characters(max_codepoint=0x7E)),
    lambda inner: st.lists(inner, max_size=4),
    max_leaves=6,
)


@given(VALUES)
def test_values_survive_being_written_as_toml(value: object) -> None:
    assert parse_value(toml_text("a.b", value)) == value


def test_vary_options() -> None:
    assert parse_vary("ftl.merge=block-erase,m-merge") == ("ftl.merge", ["block-erase", "m-merge"])
    assert parse_vary("a.b=[1,2],[3]") == ("a.b", [[1, 2], [3]])
    assert parse_vary('a.b="x,y",true,1.5') == ("a.b", ["x,y", True, 1.5])
    assert parse_vary("a.b=.6,1.,-.5,.") == ("a.b", [0.6, 1.0, -0.5, "."])
    for text in ("a.b", "=1", "a.b="):
        with pytest.raises(pumice.SpecError, match="expected key=value"):
            parse_vary(text)
    for text, told in {"seed=1:3": "seed=1,…,3", "seed=1..3": "seed=1,…,3", "a.b=0.1:.3": "a.b=0.1,…,.3"}.items():
        with pytest.raises(pumice.SpecError, match=f"ranges are not read; expected each value: {told}"):
            parse_vary(text)


def test_every_wrong_key_is_told() -> None:
    tiny = pumice.preset("tiny")
    for ask in (
        lambda: tiny.with_(ftl={"merg": 1, "kind": "page"}, host={"qd": 3}),
        lambda: pumice.sweep(tiny, {"ftl.merg": [1], "ftl.kind": ["page"], "host.qd": [3]}),
    ):
        with pytest.raises(pumice.SpecError) as refused:
            ask()
        first, second = str(refused.value).splitlines()
        assert "'ftl.merge'" in first
        assert "'host.queue_depth'" in second


def test_a_script_without_a_main_guard_runs_once(tmp_path: Path) -> None:
    """Workers once ran the caller's script again, from its first line."""
    script = tmp_path / "study.py"
    script.write_text(
        "import pumice\n"
        "print('once')\n"
        "tiny = pumice.preset('tiny').with_(run={'max_requests': 100})\n"
        "print(pumice.sweep(tiny, {'seed': [1, 2]}, workers=2).column('status').to_pylist())\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["once", "['done', 'done']"]
    assert done.stderr == ""


def test_resume_says_why_nothing_was_reused(command: Command, tmp_path: Path) -> None:
    """After a change of the spec all ran again without a word, beside the old results."""
    sweep = tmp_path / "sweep.toml"
    text = 'preset = "tiny"\n[run]\nmax_requests = 50\n[vary]\n"seed" = [1, 2]\n'
    sweep.write_text(text)
    assert "stored" not in command("sweep", "sweep.toml", "--out", "out").stderr
    assert "stored" not in command("sweep", "sweep.toml", "--out", "out", "--resume").stderr
    sweep.write_text(text.replace("50", "60"))
    done = command("sweep", "sweep.toml", "--out", "out", "--resume")
    assert "2 stored results are of other runs: spec, trace or pumice itself changed since; they stay" in done.stderr
    compared = ("compare", "--preset", "tiny", "--vary", "ftl.merge=block-erase,m-merge", "--out", "merges")
    assert command(*compared, "--set", "run.max_requests=50").returncode == 0
    done = command(*compared, "--set", "run.max_requests=60", "--resume")
    assert done.stderr.count("2 stored results are of other runs") == 1
