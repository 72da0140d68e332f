"""Recovery time by layer: what the time of a start goes into."""

from __future__ import annotations

import pytest

import pumice
from pumice.runs.jobs import Outcome
from pumice_papers.experiment import read_experiment
from pumice_papers.studies.power.layers import KIND, command_us, seconds_by_command
from pumice_papers.studies.power.recovery_time import seconds


def outcome(kind: str) -> Outcome:
    """A run of a layer on a die so small that it is quick; its cut is that of the study."""
    job = next(job for _, job in read_experiment("power", "quick").jobs(["layers"]) if job.varied[KIND] == kind)
    spec = job.spec.with_(geometry={"blocks_per_plane": 512}, workload={"requests": 500})
    return Outcome(job, pumice.run(spec).to_dict())


@pytest.mark.parametrize("kind", ["nftl", "log-block", "fast"])
def test_on_one_die_the_parts_add_up_to_the_recovery(kind: str) -> None:
    run = outcome(kind)
    parts = seconds_by_command(run)
    assert sum(part for part in parts if part is not None) == pytest.approx(seconds(run), rel=1e-6)
    assert parts[0] is not None
    assert parts[0] > 19.0


def test_a_run_that_failed_has_no_parts() -> None:
    assert command_us(None) == [None] * 3
