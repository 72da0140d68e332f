"""`--threads`: one device on several threads, with the result of one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Command

OPEN = ["run", "--preset", "tiny", "--set", "geometry.channels=4", "--set", "host.partial_page=whole-page", "--json"]

#: What only a wall clock knows.
OF_THE_CLOCK = ("wall_s", "requests_per_s", "flash_commands_per_s", "peak_rss_mib")


@pytest.mark.parametrize("threads", ["1", "2", "4", "auto"])
def test_the_result_is_that_of_one_thread(command: Command, threads: str) -> None:
    alone, together = (json.loads(command(*OPEN, *more).stdout) for more in ([], ["--threads", threads]))
    for document in (alone, together):
        for name in OF_THE_CLOCK:
            assert document["run"].pop(name) is not None
    assert together == alone


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (["--threads", "0"], "--threads 0 is not allowed; allowed: 1 to 64, or auto"),
        (["--threads", "many"], "--threads many is not allowed; allowed: 1 to 64, or auto"),
        (["--threads", "2", "--repeat", "2"], "--threads does not go together with --repeat"),
        (["--threads", "2", "--snapshots", "."], "--threads does not go together with --snapshots"),
        (
            ["--threads", "2", "--set", "host.mode=closed-loop"],
            'threads = 2 is not allowed with host.mode = "closed-loop"',
        ),
    ],
)
def test_what_is_not_exact_is_refused_in_one_line(command: Command, more: list[str], text: str) -> None:
    done = command(*OPEN, *more)
    assert done.returncode == 2
    assert text in done.stderr
    assert done.stderr.count("\n") == 1
