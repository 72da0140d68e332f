"""Every `pumice` command in a block of code of the documents runs as it is printed, or is listed with what runs it."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from conftest import REPOSITORY, Command
from test_mqsim import GENERATED, written

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"(?:^    .*\n)+", re.MULTILINE)

#: Pages that a test of their own follows from the first line to the last.
FOLLOWED = {
    "README.md": "test_readme.py",
    "docs/FIRMWARE.md": "test_firmware_page.py",
    "docs/OWN-FTL.md": "test_plugins.py",
    "docs/POLICIES.md": "test_policy.py",
    "docs/TORTURE.md": "test_torture.py",
}

#: How commands begin that need root, minutes, a browser or a client, and what runs them.
ELSEWHERE = {
    "pumice view ": "test_workbench.py",
    "pumice reproduce ": "papers",
    "pumice compare --preset pen-1tb": "test_readme.py",
    "pumice crash --preset small --set ftl.kind=page": "ext4, which needs root: make clients",
    "pumice crash --session ext4.session": "the same",
    "pumice run --preset small --trace session.csv": "test_serve.py: a record replays with the same result",
}

#: Parts of commands that are made smaller here, so that each ends within seconds.
SMALLER = {
    "--cuts 10000": "--cuts 50",
    "ledger.py check'": "ledger.py check' --cuts 50 --checks 5",
    "workload.requests=1000000": "workload.requests=100000",
    "workload.requests=400000": "workload.requests=40000",
    "partial_erase.max_splits=3": "partial_erase.max_splits=3 --set run.max_requests=20000",
    "--vary ftl.merge=block-erase,m-merge --repeat 3": "--vary ftl.merge=block-erase,m-merge --repeat 2",
}

#: A command that finds what its page says that it finds, and ends with status 1.
FINDS = "--set host.flush=ignored"

SWEEP = 'preset = "tiny"\n[run]\nmax_requests = 300\n[vary]\n"ftl.over_provisioning" = [0.2, 0.3]\n'
#: What a page takes for granted: files and folders that its reader has.
GIVEN = {
    "docs/OUTPUTS.md": (
        "pumice sweep sweep.toml --out out/sweep",
        "pumice compare --preset tiny --set run.max_requests=300 --vary ftl.merge=block-erase,m-merge --out out/merge",
    ),
}


def commands(page: str) -> list[str]:
    """The `pumice` commands in a page's blocks of code, in order, without comments and redirections."""
    text = (REPOSITORY / page).read_text("utf-8")
    blocks = [block for language, block in FENCE.findall(text) if language in ("", "sh")]
    blocks += INDENTED.findall(FENCE.sub("", text))
    joined = (re.sub(r"\\\n\s*", " ", block) for block in blocks)
    lines = [line.strip().removeprefix("$ ") for block in joined for line in block.splitlines()]
    return [re.split(r" +(?:#|[|>] )", line)[0] for line in lines if line.startswith("pumice ")]


def pages() -> list[str]:
    """The pages with commands, but for those that are followed elsewhere."""
    found = [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
    names = [path.relative_to(REPOSITORY).as_posix() for path in found]
    return [name for name in names if name not in FOLLOWED and commands(name)]


def is_elsewhere(line: str) -> bool:
    return any(line.startswith(begin) for begin in ELSEWHERE)


def test_what_is_listed_is_still_on_a_page() -> None:
    lines = [line for page in pages() for line in commands(page)]
    for begin in ELSEWHERE:
        assert any(line.startswith(begin) for line in lines), begin
    for part in SMALLER:
        assert any(part in line for line in lines), part
    assert all((REPOSITORY / page).is_file() for page in FOLLOWED)


@pytest.mark.parametrize("page", pages())
def test_the_commands_of_a_page_run(page: str, command: Command, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(REPOSITORY / "examples")
    (tmp_path / "sweep.toml").write_text(SWEEP, "utf-8")
    (tmp_path / "x.txt").write_text("0.0 W 16 4096\n0.5 R 16 4096\n", "utf-8")
    for place, name in zip(written(tmp_path, {}, ("flow", GENERATED)), ("ssdconfig.xml", "workload.xml"), strict=True):
        place.rename(tmp_path / name)
    for language, block in FENCE.findall((REPOSITORY / page).read_text("utf-8")):
        if language == "toml" and "[vary]" in block:
            (tmp_path / "splits.toml").write_text(block, "utf-8")
    served: list[subprocess.Popen[str]] = []
    with tempfile.TemporaryDirectory() as short:  # a socket's path may not be long
        for line in (*GIVEN.get(page, ()), *(line for line in commands(page) if not is_elsewhere(line))):
            for part, smaller in SMALLER.items():
                line = line.replace(part, smaller)
            words = shlex.split(line.replace("/tmp/ssd", f"{short}/ssd").removesuffix("&"))[1:]
            if words[0] == "serve":
                _end(served)
                served.append(_serve(words, tmp_path))
                continue
            done = command(*words)
            assert done.returncode == (FINDS in line), f"{line}: {done.stderr}"
        _end(served)


def _serve(words: list[str], folder: Path) -> subprocess.Popen[str]:
    """A served device, when clients can connect."""
    told, ready = os.pipe()
    arguments = [sys.executable, "-m", "pumice", *words, "--ready-fd", str(ready)]
    device = subprocess.Popen(
        arguments, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, pass_fds=[ready]
    )
    os.close(ready)
    with open(told, encoding="utf-8") as address:
        assert address.readline(), f"{words}: nothing is served"
    return device


def _end(served: list[subprocess.Popen[str]]) -> None:
    while served:
        device = served.pop()
        device.send_signal(signal.SIGTERM)
        told, _ = device.communicate(timeout=60)
        assert device.returncode == 0, told
