"""Bad inputs that once ended in an internal error, an abort or a long silence: each is one line that says what is
allowed."""

from __future__ import annotations

import json
import struct
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pumice
from conftest import Command
from pumice import SpecError, cli
from pumice.arrays import read_array
from pumice.runs.grid import RUNS_MAX, Grid, repeated
from pumice.runs.spec import SPEC_BYTES_MAX

TINY = pumice.preset("tiny").with_(run={"max_requests": 100})
COMMAND = ("--preset", "tiny", "--set", "run.max_requests=100")

CIRCLE: list[Any] = []
CIRCLE.append(CIRCLE)

LOOP: dict[str, Any] = {}
LOOP["x"] = LOOP


def claiming_head(shape: str, descr: str = "<u4") -> bytes:
    """An .npy file of nothing but a head."""
    head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head


@pytest.mark.parametrize(
    ("sections", "text"),
    [
        (
            {"partial_erase": {"t_us": np.array([1.0, 2.0])}},
            r"^partial_erase\.t_us: no value .* numpy\.ndarray; .*tolist",
        ),
        ({"partial_erase": {"t_us": CIRCLE}}, r"^partial_erase\.t_us: a list inside itself"),
        ({"ftl": LOOP}, r"^ftl\.x\.x\.x.*a section inside itself"),
        ({"ftl": {"merge": "\udcff"}}, r"^ftl\.merge = '\\xff' is not a text"),
        ({"ftl": {"\udcff": 1}}, r"^unknown key 'ftl\.\\xff'"),
        ({"ftl": {"merge": b"m-merge"}}, r"^ftl\.merge: no value of a spec is of type bytes"),
        ({"ftl": {"merge": None}}, r"^ftl\.merge: no value of a spec is of type NoneType"),
        ({"ftl": {"merge": {}}}, r"^ftl\.merge: no value of a spec is of type dict"),
        ({"hots": {}}, r"^hots: no value of a spec is of type dict"),
        ({"ftl": {7: 1}}, r"^unknown key 'ftl\.7'"),
        ({"seed": 10**30}, r"^seed = 10{30} is not allowed; allowed: a whole number from 0 to 2\^63 - 1"),
        ({"seed": 2**63}, r"^seed = 9223372036854775808 is not allowed; allowed: a whole number from 0 to 2\^63 - 1"),
        ({"seed": 10**5000}, r"^seed: a whole number of 16,610 bits is not allowed"),
        ({"seed": -(10**5000)}, r"^seed: a whole number of 16,610 bits is not allowed"),
        ({"seed": float("nan")}, r"^seed = nan is not allowed"),
        ({"seed": True}, r"^seed = true is not allowed"),
        ({"seed": 1j}, r"^seed: no value of a spec is of type complex"),
        ({"scale": "\x1b"}, r"^scale: .*is not a number"),
        ({"preset": "tini"}, r"^preset = 'tini' does not exist|^preset = \"tini\" does not exist"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_values_that_are_none_name_their_key(sections: dict[str, Any], text: str) -> None:
    with pytest.raises(SpecError, match=text) as raised:
        TINY.with_(**sections).resolve()
    assert len(str(raised.value).splitlines()) == 1
    assert len(str(raised.value)) < 1000


def test_scalars_of_numpy_are_numbers() -> None:
    one, other = TINY.with_(seed=np.int64(3), run={"timed": np.bool_(True)}), TINY.with_(seed=3, run={"timed": True})
    assert one.resolve() == other.resolve()
    rows = pumice.sweep(TINY, {"seed": [np.int64(1), 2]}, workers=1)
    assert rows.column("seed").to_pylist() == [1, 2]


def test_errors_name_where_a_value_came_from(capsys: pytest.CaptureFixture[str]) -> None:
    """Values that a program had set were said to come from `--set`."""
    what = "seed = -1 is not allowed; allowed: a whole number from 0 to 2^63 - 1"
    for spec in (TINY.with_(seed=-1), TINY.with_sets([("seed", "-1")])):
        with pytest.raises(SpecError) as raised:
            pumice.run(spec)
        assert str(raised.value) == what
    with pytest.raises(SpecError) as raised:
        pumice.run(TINY, seed=-1)
    assert str(raised.value) == what
    for arguments, origin in (
        (["run", *COMMAND, "--seed", "-1"], "--seed"),
        (["run", *COMMAND, "--set", "seed=-1"], "--set"),
        (["compare", *COMMAND, "--vary", "seed=-1,-2"], "--vary"),
    ):
        assert cli.run(arguments) == 2
        assert capsys.readouterr().err == f"pumice: {origin}: {what}\n"


def test_paths_that_are_none() -> None:
    for trace, text in ((3, "trace: int is not a path"), (b"\xff", r"trace: the name '\\xff' is not UTF-8")):
        with pytest.raises(SpecError, match=text):
            pumice.run(TINY, trace=trace)  # type: ignore[arg-type]
    with pytest.raises(SpecError, match="cannot be written to"):
        pumice.run(TINY, out="a\0b")
    with pytest.raises(SpecError, match=r"format '\\xff' is not a text"):
        pumice.read_trace("x", trace_format="\udcff")


def test_the_last_seed_of_repeated_runs_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    """The second of two runs failed with status 1."""
    last = 2**63 - 1
    assert cli.run(["run", *COMMAND, "--seed", str(last), "--repeat", "2"]) == 2
    said, complained = capsys.readouterr()
    assert said == ""
    assert complained == (
        f"pumice: seed = {last} with repeat = 2 goes beyond the largest seed; allowed: last seeds up to 2^63 - 1\n"
    )
    assert [job.seed for job in repeated(TINY.with_(seed=last - 1), 2, "run")] == [last - 1, last]


def test_the_number_of_runs_has_a_bound_that_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    begun = time.monotonic()
    sweep = tmp_path / "s.toml"
    sweep.write_text(f'preset = "tiny"\nrepeat = 1000\n[vary]\n"run.max_requests" = {list(range(1, 102))}\n')
    many = ",".join(str(number) for number in range(1, 102))
    vary = ["--vary", f"run.max_requests={many}"]
    for arguments, text in (
        (["run", *COMMAND, "--repeat", str(RUNS_MAX + 1)], "allowed: from 1 to 100,000"),
        (["run", *COMMAND, "--repeat", str(10**30)], "allowed: from 1 to 100,000"),
        (["compare", *COMMAND, "--vary", "run.timed=true,false", "--repeat", str(RUNS_MAX)], "200,000 runs"),
        (["compare", *COMMAND[:2], *vary, "--repeat", "1000"], "101 combinations x repeat = 1,000 are 101,000 runs"),
        (["sweep", str(sweep)], "vary: 101 combinations x repeat = 1,000 are 101,000 runs; allowed: at most 100,000"),
    ):
        assert cli.run(arguments) == 2
        said, complained = capsys.readouterr()
        assert said == ""
        assert complained.count("\n") == 1
        assert text in complained
    for repeat in (0, RUNS_MAX + 1, 10**30, 2.5, True):
        with pytest.raises(SpecError, match="allowed: from 1 to 100,000"):
            pumice.sweep(TINY, {"seed": [1]}, repeat=repeat)  # type: ignore[arg-type]
    everything = {f"geometry.{name}": list(range(1, 1001)) for name in ("channels", "chips_per_channel")}
    with pytest.raises(SpecError, match="vary: 1,000,000 combinations are 1,000,000 runs; allowed: at most 100,000"):
        Grid(TINY, everything).jobs()
    assert time.monotonic() - begun < 20


def test_files_have_bounds_that_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "long.toml"
    path.write_text("#" * (SPEC_BYTES_MAX + 1))
    for arguments in (
        ["run", str(path)],
        ["sweep", str(path)],
        ["run", "/dev/zero"],
        ["run", *COMMAND, "--fio-job", str(path)],
    ):
        assert cli.run(arguments) == 2
        assert "is longer than 1,048,576 bytes; allowed: at most that" in capsys.readouterr().err
    path.write_text('preset = "tiny"\n'.ljust(SPEC_BYTES_MAX, "#"))
    assert pumice.Spec.from_file(path).resolve()["config"]["seed"] == 1


def test_a_very_long_word_is_refused_at_once_and_not_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    word = "x" * 100_000
    begun = time.monotonic()
    for arguments in (
        [word],
        ["run", f"--{word}"],
        ["run", word],
        ["run", "--preset", word],
        ["run", *COMMAND, "--set", f"{word}=1"],
        ["run", *COMMAND, "--set", f"ftl.{word}=1"],
        ["run", *COMMAND, "--set", f"ftl.merge={word}"],
        ["run", *COMMAND, "--scale", word],
        ["compare", *COMMAND, "--vary", f"{word}=1,2"],
        ["explain", word],
        ["presets", word],
        ["reproduce", word],
        ["plan", "--example", word],
        ["plan", "--d", word, "--u", "1v"],
    ):
        assert cli.run(arguments) == 2, arguments
        complained = capsys.readouterr().err
        assert complained.count("\n") == 1
        assert len(complained) < 2000, complained[:200]
    for name in (word, "\x1b" * 10_000):
        with pytest.raises(SpecError) as raised:
            pumice.preset(name)
        assert str(raised.value).isprintable()
    assert time.monotonic() - begun < 20


def test_deeply_nested_files_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    deep = "[" * 100_000 + "]" * 100_000
    (tmp_path / "deep.json").write_text(deep)
    (tmp_path / "deep.toml").write_text(f'preset = "tiny"\nx = {deep}\n')
    for arguments in (
        ["report", str(tmp_path / "deep.json")],
        ["run", str(tmp_path / "deep.toml")],
        ["sweep", str(tmp_path / "deep.toml")],
        ["compare", *COMMAND, "--vary", f"ftl.merge={deep},a"],
        ["run", *COMMAND, "--set", f"ftl.merge={deep}"],
    ):
        assert cli.run(arguments) == 2
        said, complained = capsys.readouterr()
        assert said == ""
        assert complained.count("\n") == 1, complained


@pytest.mark.parametrize(
    "content",
    [
        claiming_head("(1000000000000, 9)"),
        claiming_head(f"({2**70},)"),
        claiming_head("(-1,)"),
        claiming_head("(4,)", "|O"),
        claiming_head("(4,)", "nonsense"),
        claiming_head("(" * 200),
        b"\x93NUMPY\x01\x00\xff\xff{",
        b"",
        b"text",
    ],
    ids=range(9),
)
def test_memory_is_taken_for_what_an_array_file_holds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes
) -> None:
    """A head that claimed 9 TiB ended in an internal error."""
    path = tmp_path / "a.npy"
    path.write_bytes(content)
    pumice.run(TINY, out=tmp_path / "out")
    (tmp_path / "out" / "wear_map.npy").write_bytes(content)
    for arguments in (
        ["plan", "--d", str(path), "--u", "1v"],
        ["plan", "--d", "576v", "--u", "576f", "--disturb", str(path)],
        ["report", str(tmp_path / "out")],
    ):
        assert cli.run(arguments) == 2
        said, complained = capsys.readouterr()
        assert said == ""
        assert complained.count("\n") == 1
        assert complained.endswith(".npy: not an .npy array of numbers\n"), complained


def test_array_files_of_other_kinds(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(3, dtype=np.uint8))
    assert read_array(tmp_path / "a.npy").tolist() == [0, 1, 2]
    np.savez(tmp_path / "b.npz", np.arange(3))
    with pytest.raises(SpecError, match=r"b\.npz: an archive of arrays; expected one array"):
        read_array(tmp_path / "b.npz")
    with pytest.raises(SpecError, match="/dev/zero: is not a file"):
        read_array(Path("/dev/zero"))
    with pytest.raises(SpecError, match=r"--d: .*no\.npy: no such file"):
        read_array(tmp_path / "no.npy", "--d")
    with (tmp_path / "sparse.npy").open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(SpecError, match="is longer than 1,073,741,824 bytes"):
        read_array(tmp_path / "sparse.npy")


def test_devices_and_buffers_that_would_fill_the_memory_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    begun = time.monotonic()
    dies = {"geometry.channels": 1024, "geometry.chips_per_channel": 1024, "geometry.pages_per_block": 1}
    blocks = {"geometry.channels": 256, "geometry.chips_per_channel": 256, "geometry.pages_per_block": 1,
              "geometry.blocks_per_plane": 1024}  # fmt: skip
    buffer = {"host.write_buffer_kib": 2**26, "geometry.page_bytes": 512, "geometry.spare_bytes": 64}
    for sets, text in (
        (dies, "gives 1048576 dies; allowed: at most 65536"),
        (blocks, "gives 134217728 blocks; allowed: at most 16777216"),
        (buffer, "host.write_buffer_kib = 67108864 is more than 16777216 pages"),
        ({"host.write_buffer_kib": 2**30}, "allowed: a whole number from 0 to 67108864"),
    ):
        options = [text for key, value in sets.items() for text in ("--set", f"{key}={value}")]
        assert cli.run(["run", *COMMAND, "--set", "partial_erase.max_splits=0", *options]) == 2
        assert text in capsys.readouterr().err
    assert time.monotonic() - begun < 20


def test_the_largest_buffer_takes_the_memory_that_it_needs(command: Command) -> None:
    """A buffer of 2^26 KiB took its memory, up to 8 GB, before the first request."""
    document = {}
    for kib in (0, 2**26):
        buffer = ("--set", f"host.write_buffer_kib={kib}", "--set", "host.flush=lru")
        document[kib] = json.loads(command("run", "--preset", "tiny", *buffer, "--json").stdout)
    assert document[2**26]["run"]["peak_rss_mib"] - document[0]["run"]["peak_rss_mib"] < 50
    assert document[2**26]["host"]["buffer_hits"] > document[0]["host"]["buffer_hits"]
