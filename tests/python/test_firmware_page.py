"""docs/FIRMWARE.md, followed as it is printed in an empty folder: its files are written, its commands run, and what
they say is what the page says."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from conftest import REPOSITORY

FENCE = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_page_can_be_followed_as_it_is_printed(chip_environment: dict[str, str], tmp_path: Path) -> None:
    page = (REPOSITORY / "docs" / "FIRMWARE.md").read_text("utf-8")
    said, followed = "", 0
    for kind, name, text in FENCE.findall(page):
        if name:
            (tmp_path / name).write_text(text)
        elif kind == "text":
            assert said.endswith(text), said
            followed += 1
        elif kind == "sh" and "make install" not in text:  # done once for all tests of the library
            command = ["sh", "-e", "-c", text]
            ended = subprocess.run(command, cwd=tmp_path, env=chip_environment, capture_output=True, text=True)
            assert ended.returncode == 0, ended.stderr
            said = ended.stdout
    assert followed == 4
