"""Standard output as a file, names and encodings of every kind, and text that a terminal could obey."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pumice
from conftest import Command
from forked import run_forked
from pumice.text import count, json_text, message, printable

TINY = ("--preset", "tiny", "--set", "run.max_requests=200")

#: A name that is not UTF-8 and that would turn a terminal red.
WILD = os.fsdecode(b"n\xff\x1b[31m")
WILD_SHOWN = r"n\xff\x1b[31m"

TRACE = "".join(f"{128166372000000000 + n * 10**6},hm,0,Write,{n * 8192},4096,0\n" for n in range(50))


def raw(directory: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """The command's output as bytes."""
    return run_forked(arguments, directory, {**os.environ, **environment})


def is_harmless(output: bytes) -> bool:
    """Whether a terminal obeys nothing in it but line breaks and tabs."""
    text = output.decode()
    return all(sign.isprintable() or sign in "\n\t" for sign in text)


def test_a_dash_is_standard_input_where_a_file_is_read(process: Command) -> None:
    """`-` was looked for as a file of that name."""
    checked = process("trace", "check", "-", "--json", input=TRACE)
    assert json.loads(checked.stdout)["records"] == 50
    done = process("run", *TINY, "--trace", "-", "--json", input=TRACE)
    assert json.loads(done.stdout)["host"]["write"]["requests"] == 50
    done = process("run", "-", "--json", input='preset = "tiny"\nrun.max_requests = 7\n')
    assert json.loads(done.stdout)["run"]["requests"] == 7


def test_a_spec_that_sets_nothing_is_told(command: Command, tmp_path: Path) -> None:
    """An empty file ran a terabyte without a word."""
    (tmp_path / "empty.toml").write_text("# nothing yet\n")
    done = command("run", "empty.toml", "--set", "run.max_requests=10")
    assert done.returncode == 0
    assert "empty.toml: sets nothing: this runs twin:prn_1 on the default device of" in done.stderr


def test_a_dash_is_standard_output(command: Command, tmp_path: Path) -> None:
    """`-` became a file of that name."""
    command("trace", "generate", "t.csv", *TINY, "--set", "workload.requests=20")
    expected = (tmp_path / "t.csv").read_text()
    for arguments in (
        ["trace", "generate", "-", "--to", "csv", *TINY, "--set", "workload.requests=20"],
        ["trace", "generate", "/dev/stdout", "--to", "csv", *TINY, "--set", "workload.requests=20"],
        ["trace", "convert", "t.csv", "-", "--to", "csv"],
    ):
        done = command(*arguments)
        assert (done.returncode, done.stdout) == (0, expected)
        assert re.search(r"^pumice: requests +20$", done.stderr, re.MULTILINE)
    command("run", *TINY, "--out", "out")
    done = command("report", "out", "--out", "-")
    assert done.stdout.startswith("<!doctype html>")
    assert done.stdout.endswith("</html>\n")
    assert done.stderr == "pumice: report written to -\n"
    for arguments in (["run", *TINY], ["compare", *TINY, "--vary", "seed=1,2"], ["trace", "info", "t.csv"]):
        done = command(*arguments, "--out", "-")
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert "standard output takes one file; a directory is needed" in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"t.csv", "out"}


def test_a_full_disk_behind_a_file_is_one_line_and_status_1(command: Command, process: Command, tmp_path: Path) -> None:
    command("trace", "generate", "t.csv", *TINY, "--set", "workload.requests=20")
    command("run", *TINY, "--out", "out")
    os.symlink("/dev/full", tmp_path / "full")
    for arguments, place in (
        (["trace", "convert", "t.csv", "full", "--to", "csv"], "full"),
        (["trace", "convert", "t.csv", "/dev/full", "--to", "csv"], "/dev/full"),
        (["report", "out", "--out", "full"], "full"),
    ):
        done = command(*arguments)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == f"pumice: {place}: No space left on device\n"
    with open("/dev/full", "w") as full:
        done = process(
            *("trace", "convert", "t.csv", "-", "--to", "csv"),
            capture_output=False,
            stdout=full,
            stderr=subprocess.PIPE,
        )
    assert (done.returncode, done.stderr) == (1, "pumice: standard output: No space left on device\n")
    assert {path.name for path in tmp_path.iterdir()} == {"t.csv", "out", "full"}
    assert (tmp_path / "full").is_symlink()


def test_a_disk_that_fills_up_leaves_nothing_half_written(tmp_path: Path) -> None:
    limited = "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000));"
    script = f"{limited} from pumice.cli import main; main()"
    for arguments in (
        ["trace", "generate", "new/t.csv", *TINY, "--set", "workload.requests=20000"],
        ["run", "--preset", "tiny", "--set", "output.command_log=true", "--out", "out"],
    ):
        done = subprocess.run(
            [sys.executable, "-c", script, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=120
        )
        assert (done.returncode, done.stdout) == (1, ""), done.stderr
        assert done.stderr.count("\n") == 1, done.stderr
        assert "File too large" in done.stderr
        assert list(tmp_path.iterdir()) == []


def test_a_reader_of_a_trace_that_leaves_early_is_no_error(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pumice", "trace", "generate", "-", "--to", "msr", "--preset", "tiny"]
    process = subprocess.Popen(
        [*command, "--set", "workload.requests=100000000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline().startswith(b"125911584000000000,")
    process.stdout.close()
    assert process.wait(timeout=60) == 0
    assert process.stderr.read() == b""
    process.stderr.close()


def test_names_that_are_not_utf_8(tmp_path: Path) -> None:
    """They ended in an internal error."""
    (tmp_path / f"{WILD}.csv").write_text(TRACE)
    spec = 'preset = "tiny"\n[run]\nmax_requests = 200\n'
    for name in ("a", "b"):
        (tmp_path / f"{name}{WILD}.toml").write_text(spec)
    (tmp_path / f"bad{WILD}.toml").write_text("[ftl]\nmrege = 1\n")
    (tmp_path / f"s{WILD}.toml").write_text(f"{spec}[vary]\nseed = [1, 2]\n")
    all_files = [text for key in ("request_log", "command_log", "wear_map") for text in ("--set", f"output.{key}=true")]
    for arguments in (
        ["trace", "info", f"{WILD}.csv"],
        ["trace", "info", f"{WILD}.csv", "--out", f"f{WILD}"],
        ["trace", "check", f"{WILD}.csv"],
        ["run", f"a{WILD}.toml", "--out", f"o{WILD}", *all_files],
        ["report", f"o{WILD}"],
        ["report", f"o{WILD}/result.json", "--out", f"{WILD}.html"],
        ["verify", f"o{WILD}/command_log.bin.zst"],
        ["compare", f"a{WILD}.toml", f"b{WILD}.toml", "--out", f"c{WILD}"],
        ["report", f"c{WILD}"],
        ["run", f"a{WILD}.toml", "--repeat", "2", "--out", f"r{WILD}"],
        ["sweep", f"s{WILD}.toml"],
        ["report", f"out/s{WILD}"],
        ["trace", "generate", f"g{WILD}.csv.gz", *TINY, "--set", "workload.requests=20"],
    ):
        done = raw(tmp_path, *arguments)
        assert done.returncode == 0, done.stderr
        assert is_harmless(done.stdout)
        assert is_harmless(done.stderr)
    assert (tmp_path / f"out/s{WILD}/s{WILD}.parquet").exists()
    assert len(pumice.read_trace(tmp_path / f"{WILD}.csv")["bytes"]) == 50
    assert len(pumice.read_trace(tmp_path / f"g{WILD}.csv.gz")["bytes"]) == 20
    assert (
        json.loads((tmp_path / f"c{WILD}" / "comparison.json").read_text())["variants"][0]["label"] == f"a{WILD_SHOWN}"
    )


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["run", f"bad{WILD}.toml"], rf"bad{WILD_SHOWN}.toml:2: unknown key 'ftl.mrege'"),
        (["run", f"no{WILD}.toml"], rf"no{WILD_SHOWN}.toml: no such file"),
        (["run", *TINY, "--trace", WILD], rf"trace: the name '{WILD_SHOWN}' is not UTF-8"),
        (["trace", "convert", WILD, "x"], rf"trace: the name '{WILD_SHOWN}' is not UTF-8"),
        (["trace", "info", WILD], "cannot be opened"),
        (["trace", "info", "t.csv", "--format", WILD], rf"format '{WILD_SHOWN}' is not a text"),
        (["trace", "generate", "x", *TINY, "--to", WILD], rf"format '{WILD_SHOWN}' is unknown"),
        (["run", *TINY, "--set", f"ftl.merge={WILD}"], rf"--set: ftl.merge = '{WILD_SHOWN}' is not a text"),
        (["run", *TINY, "--set", f"{WILD}=1"], rf"--set: key '{WILD_SHOWN}' is not a text"),
        (["run", *TINY, "--set", WILD], rf"--set '{WILD_SHOWN}': expected key=value"),
        (["run", *TINY, "--workload", WILD], rf"workload.kind = '{WILD_SHOWN}' is not a text"),
        (["run", *TINY, "--fio-job", f"rw={WILD}"], "fio job"),
        (["run", "--preset", WILD], rf"--preset {WILD_SHOWN} is unknown"),
        (["presets", WILD], rf"preset {WILD_SHOWN} is unknown"),
        (["compare", *TINY, "--vary", f"ftl.merge={WILD},b"], rf"ftl.merge = '{WILD_SHOWN},b' is not a text"),
        (["compare", *TINY, "--vary", f"{WILD}=a,b"], rf"unknown key '{WILD_SHOWN}'"),
        (["explain", WILD], rf"unknown key '{WILD_SHOWN}'"),
        (["plan", "--d", WILD, "--u", "1v"], "is not a run"),
        (["plan", "--d", f"{WILD}.npy", "--u", "1v"], rf"--d: {WILD_SHOWN}.npy: no such file"),
        (["reproduce", WILD], "is unknown"),
        (["report", WILD], rf"{WILD_SHOWN}: no such file"),
        (["verify", WILD], "no such file"),
        ([WILD], "no such command"),
        (["run", f"--{WILD}"], "no such option"),
    ],
)
def test_words_that_are_no_text_are_one_harmless_line(tmp_path: Path, arguments: list[str], text: str) -> None:
    (tmp_path / f"bad{WILD}.toml").write_text("[ftl]\nmrege = 1\n")
    (tmp_path / "t.csv").write_text(TRACE)
    done = raw(tmp_path, *arguments)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.count(b"\n") == 1, done.stderr
    assert is_harmless(done.stderr)
    assert text in done.stderr.decode()
    assert len(list(tmp_path.iterdir())) == 2


def test_escape_sequences_are_shown_and_not_sent(tmp_path: Path) -> None:
    """A name or a line of a trace could steer the terminal of whoever looked at it."""
    name = "\x1b[31m\x9b\u202e.csv"
    (tmp_path / name).write_text(TRACE)
    (tmp_path / f"bad{name}").write_text(f"{TRACE}\x1b[2J\x9b,1\n")
    for arguments in (["trace", "check", name], ["trace", "check", name, "--json"], ["trace", "info", name],
                      ["trace", "check", f"bad{name}"], ["trace", "check", name, "--volumes", name],
                      ["run", *TINY, "--trace", name, "--json"], ["run", *TINY, "--trace", name, "--out", f"o{name}"],
                      ["run", *TINY, "--trace", f"no{name}"], ["report", f"o{name}"]):  # fmt: skip
        done = raw(tmp_path, *arguments)
        assert is_harmless(done.stdout), done.stdout
        assert is_harmless(done.stderr), done.stderr
    assert r"\x1b[31m\x9b\u202e.csv" in raw(tmp_path, "trace", "check", name).stdout.decode()
    found = json.loads(raw(tmp_path, "trace", "check", name, "--json").stdout)
    assert found["path"] == name, "JSON means what it meant"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_drawings_keep_their_columns_in_every_encoding(tmp_path: Path, encoding: str) -> None:
    """Signs without a place in the encoding became four characters each, and cells no longer stood below each other."""

    def lines(name: str) -> list[str]:
        return raw(tmp_path, "plan", "--example", "fig6", PYTHONIOENCODING=name).stdout.decode(name).splitlines()

    shown, expected = lines(encoding), lines("utf-8")
    assert not [line for line in shown if "\\x" in line or "\\u" in line]
    assert [len(line) for line in shown] == [len(line) for line in expected]
    assert [line.find("PB ") for line in shown] == [line.find("PB ") for line in expected]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8", "cp437"])
def test_every_encoding_of_stdout(tmp_path: Path, encoding: str) -> None:
    """Ascii ended in an internal error."""
    (tmp_path / "µ.toml").write_text('preset = "tiny"\n[run]\nmax_requests = 200\n')
    for arguments in (
        ["run", "µ.toml"],
        ["run", "µ.toml", "--repeat", "2"],
        ["compare", "µ.toml", "--vary", "seed=1,2"],
        ["workloads"],
        ["explain", "erase.t_ep_us"],
        ["plan", "--example", "fig11"],
        ["--help"],
    ):
        done = raw(tmp_path, *arguments, PYTHONIOENCODING=encoding)
        assert done.returncode == 0, done.stderr
        assert done.stderr == b""
        done.stdout.decode(encoding)
    for arguments in (
        ["schema"],
        ["workloads", "--json"],
        ["explain", "ftl.merge", "--json"],
        ["run", "µ.toml", "--json"],
    ):
        done = raw(tmp_path, *arguments, PYTHONIOENCODING=encoding)
        assert json.loads(done.stdout.decode(encoding)) is not None
    done = raw(tmp_path, "run", "nosuch-µ.toml", PYTHONIOENCODING=encoding)
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert b"nosuch-" in done.stderr


def test_tables_in_ascii_have_lines_of_ascii(tmp_path: Path) -> None:
    plain = raw(tmp_path, "run", *TINY, PYTHONIOENCODING="ascii").stdout.decode()
    fine = raw(tmp_path, "run", *TINY, PYTHONIOENCODING="utf-8").stdout.decode()
    rows, others = ([line for line in text.splitlines() if "wall time" not in line] for text in (fine, plain))
    assert "note: " in rows[-1]
    for own, other in zip(rows, others, strict=True):
        assert own.replace("─", "-").replace("µ", "u").replace("–", "-") == other


def test_text_that_is_shown() -> None:
    assert printable("µ – 表\n\t") == "µ – 表\n\t"
    assert printable("\x1b[31m\x07\x9b\u202e\udcff\x7f\U000e0001\r") == r"\x1b[31m\x07\x9b\u202e\xff\x7f\U000e0001\x0d"
    assert json_text('"\x9b\udcff\x7f😀"', "ascii") == r'"\u009b\udcff\u007f\ud83d\ude00"'
    assert json_text('"µ😀"', "latin-1") == r'"µ\ud83d\ude00"'
    assert json.loads(json_text(json.dumps("\x9b\x7f😀µ"), None)) == "\x9b\x7f😀µ"
    assert [count(number, "run") for number in (0, 1, 2, 1000)] == ["0 runs", "1 run", "2 runs", "1,000 runs"]
    assert message(f"a {'x' * 5000} b") == f"a {'x' * 80}… b"


def test_one_of_a_thing_is_told_in_the_singular(command: Command, tmp_path: Path) -> None:
    """`1 requests` and the like."""
    (tmp_path / "s.toml").write_text('preset = "tiny"\n[run]\nmax_requests = 200\n[vary]\nseed = [1]\n')
    assert "\n1 run (0 reused) written to" in command("sweep", "s.toml").stdout
    trims = ("--set", "workload.trim_fraction=1.0", "--set", "workload.read_fraction=0", "--set", "workload.requests=1")
    done = command("trace", "generate", "t.csv", "--to", "msr", *TINY, *trims)
    assert "1 trim was left out" in done.stderr
    done = command("run", *TINY[:2], "--set", "run.warmup_requests=1", "--set", "run.max_requests=1")
    assert done.stderr == "pumice: run.warmup_requests = 1 leaves nothing to measure: requests in the run: 1\n"
