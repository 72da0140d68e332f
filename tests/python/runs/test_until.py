"""Runs that end when they know enough, as users ask for them: in sweeps, with --repeat, on the command line."""

from __future__ import annotations

import json

import pumice
from conftest import Command

AGED = pumice.preset("tiny").with_(
    ftl={"kind": "page", "over_provisioning": 0.25},
    initial={"age_writes": 3.0},
    host={"mode": "closed-loop", "queue_depth": 4},
    workload={"footprint": 1.0, "request_bytes": 4096, "requests": 300_000},
)

SETS = ["--set=ftl.kind=page", "--set=ftl.over_provisioning=0.25", "--set=initial.age_writes=3"]


def test_a_sweep_over_what_is_to_be_known() -> None:
    wanted = ["steady ± 25 %", "steady +- 10 %"]
    rows = pumice.sweep(AGED, {"run.until": wanted}, workers=1, repeat=2).to_pylist()
    assert [row["until.wanted"] for row in rows] == ["steady ± 25 %"] * 2 + ["steady ± 10 %"] * 2
    assert {row["until.outcome"] for row in rows} == {"reached"}
    assert all(row["until.half_width"] <= share for row, share in zip(rows, [0.25, 0.25, 0.1, 0.1], strict=True))
    coarse, fine = (sum(row["until.requests"] for row in part) for part in (rows[:2], rows[2:]))
    assert coarse < fine < 600_000
    quantities = json.loads(rows[0]["until.quantities"])
    assert [known["of"] for known in quantities] == ["write_amplification", "read_latency_us", "write_latency_us"]


def test_what_cannot_be_known_is_refused_in_one_line(command: Command) -> None:
    for sets, expected in [
        (["run.until=p98 +- 2 %"], 'run.until = "p98 +- 2 %" is not allowed; allowed: "steady", or "NAME ± X %"'),
        (
            ["run.until=p99 ± 2 %", "run.timed=false"],
            'run.until = "p99 ± 2 %" is a latency, which needs run.timed = true',
        ),
    ]:
        told = command("run", "--preset", "tiny", *[f"--set={one}" for one in sets])
        assert (told.returncode, told.stdout) == (2, "")
        assert expected in told.stderr, told.stderr
        assert told.stderr.count("\n") == 1, told.stderr


def test_requests_that_end_first_are_a_warning(command: Command) -> None:
    told = command("run", "--preset", "tiny", *SETS, "--set=run.until=mean ± 0.1 %", "--json")
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)["until"]["outcome"] == "not-reached"
    assert 'run.until = "mean ± 0.1 %" was not reached before the requests ended: ' in told.stderr
