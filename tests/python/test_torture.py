"""Torture of firmware: findings of known faults, crashes and hangs, lines that repeat them, and going on."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import pumice
from conftest import REPOSITORY, Command

EXAMPLES = REPOSITORY / "examples" / "torture"
CHIP = EXAMPLES / "chip.toml"
FENCE = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Counter:
    """Programs a page for each step; after a cut a page that looks blank may take no program."""

    steps = 10

    def __init__(self, chip: pumice.Chip) -> None:
        self.chip, self.value = chip, 0

    def format(self) -> None:
        """The chip is as it should be."""

    def mount(self) -> None:
        self.value = sum(self.chip.is_blank(0, page) is False for page in range(16))

    def work(self, step: int) -> None:
        self.chip.program(0, self.value, b"x")
        self.value += 1

    def check(self, done: int) -> None:
        assert done <= self.value <= done + 1, f"{self.value} after {done} steps"


class Trusting(Counter):
    """It reads what a cut may have left."""

    def check(self, done: int) -> None:
        for page in range(done):
            self.chip.read(0, page)


def built(folder: Path, fault: int) -> Path:
    out = folder / f"counter{fault}.so"
    include = REPOSITORY / "crates" / "capi" / "include"
    flags = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-O2", "-shared", "-fPIC", f"-DFAULT={fault}"]
    subprocess.run([os.environ.get("CC", "cc"), *flags, "-I", include, "-o", out, EXAMPLES / "counter.c"], check=True)
    return out


def spec() -> pumice.Spec:
    return pumice.Spec.from_file(CHIP)


def test_t980_a_fault_is_found_and_its_line_shows_it_again(command: Command, tmp_path: Path) -> None:
    done = command("torture", str(built(tmp_path, 1)), str(CHIP), "--json")
    assert done.returncode == 1
    document = json.loads(done.stdout)
    assert {row["failed"] > 0 for row in document["table"] if row["leaves"] == "before"} == {False}
    assert sum(row["cases"] for row in document["table"]) == document["cases"]["tried"] == document["cases"]["wanted"]
    [kind] = document["kinds"]
    assert (kind["phase"], kind["text"]) == ("check", "the counter is not what it was")
    again = command("torture", str(built(tmp_path, 1)), str(CHIP), *shlex.split(kind["repeat"]))
    assert again.returncode == 1
    assert "check: the counter is not what it was (the program of block" in again.stdout
    sound = built(tmp_path, 0)
    assert command("torture", str(sound), str(CHIP), *shlex.split(kind["repeat"])).returncode == 0
    done = command("torture", str(sound), str(CHIP), "--fails", "3", "--out", str(tmp_path / "out"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"nothing was found in [\d,]+ cases", done.stderr)
    assert json.loads((tmp_path / "out" / "torture.json").read_text())["kinds"] == []


def test_t981_firmware_in_python_is_tortured_too() -> None:
    plan = pumice.Tortured(leaves=["before", "new"], then=["later"])
    assert pumice.torture(Counter, spec(), plan=plan, workers=1).is_sound
    report = pumice.torture(Trusting, spec(), plan=plan, workers=2)
    [kind] = report.kinds
    assert kind["text"] == "Uncorrectable: block N page N fails its code"
    assert kind["first"]["case"].endswith("leaves=new then=later")
    assert report.document["table"][0] == {"leaves": "before", "then": "later", "cases": 10, "failed": 0}
    case = kind["first"]["case"]
    assert not pumice.torture(Trusting, spec(), plan=plan, case=case, workers=1).is_sound


@pytest.mark.parametrize(
    ("done", "phase", "text"),
    [
        ("os._exit(0)", "crash", "it ended with status N"),
        ("os.abort()", "crash", "it was killed by signal N (SIGABRT)"),
        ("time.sleep(60)", "hang", "nothing for N s"),
        ("raise ValueError('two\\n lines')", "mount", "ValueError: two lines"),
    ],
)
def test_t982_crashes_ends_and_hangs_are_findings(
    command: Command, tmp_path: Path, done: str, phase: str, text: str
) -> None:
    """After the fourth cut the firmware finds five pages, and does this."""
    at = 7 if phase == "hang" else 4
    (tmp_path / "own.py").write_text(
        "import os, sys, time\n"
        f"sys.path.insert(0, {str(REPOSITORY / 'tests' / 'python')!r})\n"
        "from test_torture import Counter\n"
        "class Own(Counter):\n"
        "    steps = 8\n"
        "    def mount(self):\n"
        "        super().mount()\n"
        "        print('of the firmware')\n"
        f"        if self.chip.counts['cuts'] and self.value == {at + 1}: {done}\n"
    )
    given = ["--leaves", "new", "--then", "settle", "--after", "0", "--limit", "1", "--workers", "1"]
    ended = command("torture", f"{tmp_path / 'own.py'}:Own", str(CHIP), *given, "--json", "--out", str(tmp_path / "o"))
    assert ended.returncode == 1, ended.stderr
    document = json.loads(ended.stdout)
    assert document["cases"] == {"wanted": 8, "tried": 8}
    [kind] = [kind for kind in document["kinds"] if kind["phase"] != "check"]
    assert (kind["phase"], kind["text"]) == (phase, text)
    assert kind["first"]["case"] == f"cut={at} leaves=new then=settle"


def test_t983_an_interrupted_torture_is_gone_on_with(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pumice.torture_lab._AT_ONCE", 8)
    plan = pumice.Tortured(fails=2)
    whole = pumice.torture(Trusting, spec(), plan=plan, workers=1).to_dict()

    def interrupt(tried: int, wanted: int) -> None:
        if tried > wanted // 2:
            raise KeyboardInterrupt

    first = pumice.torture(Trusting, spec(), plan=plan, workers=1, progress=interrupt).to_dict()
    assert first["interrupted"]
    assert 0 < first["cases"]["tried"] < first["cases"]["wanted"]
    kept: dict[str, Any] = json.loads(json.dumps(first))
    second = pumice.torture(Trusting, spec(), plan=plan, workers=1, earlier=kept).to_dict()
    for key in ("cases", "table", "failed", "done", "interrupted"):
        assert second[key] == whole[key], key
    firsts = [[(kind["text"], kind["cases"], kind["first"]) for kind in one["kinds"]] for one in (second, whole)]
    assert firsts[0] == firsts[1]
    with pytest.raises(pumice.SpecError, match="another plan"):
        pumice.torture(Trusting, spec(), plan=pumice.Tortured(), earlier=kept)


def test_what_cannot_be_tried_is_refused_in_one_line(command: Command, tmp_path: Path) -> None:
    text = tmp_path / "text.so"
    text.write_text("no shared object")
    own = tmp_path / "own.py"
    own.write_text("class Own: pass\n")
    for given, said, status in (
        ([str(text)], "is not a shared object", 2),
        ([f"{own}:Other"], "has no class Other", 2),
        ([f"{own}:Own"], "the firmware has no number `steps`; give steps", 2),
        ([f"{own}:Own", "--steps", "3"], "start: TypeError: Own() takes no arguments", 1),
        ([str(text), "--leaves", "half"], "is not a shared object", 2),
        ([f"{own}:Own", "--steps", "3", "--leaves", "half"], 'leaves = "half" is not allowed; allowed: before, old', 2),
        ([str(text), "--resume"], "--out DIR names it", 2),
        ([str(text), "--page-programs", "0"], "allowed: a number from 1 on, or bytes", 2),
    ):
        ended = command("torture", *given)
        assert ended.returncode == status, (given, ended.stderr)
        assert said in ended.stderr
        assert ended.stderr.count("\n") == 1, ended.stderr


def test_the_page_can_be_followed_as_it_is_printed(tmp_path: Path) -> None:
    page = (REPOSITORY / "docs" / "TORTURE.md").read_text("utf-8")
    said, followed = "", 0
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PUMICE": str(REPOSITORY), "COLUMNS": "120"}
    for kind, name, text in FENCE.findall(page):
        if name:
            (tmp_path / name).write_text(text)
        elif kind == "text":
            assert said.endswith(text), said
            followed += 1
        elif kind == "sh":
            command = ["sh", "-e", "-c", text]
            ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
            assert ended.returncode == 0, ended.stderr
            said = ended.stdout
    assert followed == 4
