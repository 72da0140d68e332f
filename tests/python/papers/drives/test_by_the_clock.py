"""Drives by the clock: what is compared, with which bands, and which of it was fitted."""

from __future__ import annotations

import pytest

import pumice
from pumice_papers.experiment import read_experiment
from pumice_papers.studies.drives import under_load, zn540
from pumice_papers.studies.drives.held_against import Held, Setting, totals

EXPERIMENT = read_experiment("drives", "quick")


def test_a_band_is_the_larger_of_a_width_and_the_spread_of_equal_runs() -> None:
    near = Setting("reads", (1.0,), [{"p99": 98.0}, {"p99": 102.0}, {}])
    assert near.mean("p99") == 100.0
    assert near.band("p99", 0.05) == pytest.approx((95.0, 105.0))
    assert near.band("p99", 0.01) == (98.0, 102.0)
    held = [Held("row", "p99", near, 0.05, value, counted=True) for value in (104.0, 96.0, 120.0)]
    assert [one.is_inside for one in held] == [True, True, False]
    found = totals(held)
    assert found.values == pytest.approx([2 / 3, 0.04])
    assert found.holds is False


def test_the_runs_of_the_zoned_drive_are_those_of_its_sweeps() -> None:
    settings = zn540.settings(EXPERIMENT)
    assert {one.run for one in settings} == set(zn540.KINDS)
    for kind, of_kind in zn540.KINDS.items():
        jobs = EXPERIMENT.jobs([of_kind.study])
        for setting in (one for one in settings if one.run == kind):
            wanted = zn540.varied(setting).items()
            assert sum(all(job.varied.get(key) == value for key, value in wanted) for _, job in jobs) == 1, setting
    fitted = {(run, depth, rate) for run, depth, rate, _ in zn540.FITTED}
    assert fitted <= {(one.run, int(one.at[0]), round(one.at[1])) for one in settings}


@pytest.mark.parametrize("drive", under_load.DRIVES)
def test_every_load_up_to_saturation_is_simulated(drive: str) -> None:
    simulated = {job.varied[under_load.BETWEEN] for _, job in EXPERIMENT.jobs([drive])}
    loads = under_load.settings(EXPERIMENT, drive)
    below = {under_load.between(one) for one in under_load.below_saturation(loads)}
    assert below < simulated, "and some beyond"
    assert [len(one.figures) for one in loads] == [3] * len(loads), "three repeats"


def test_the_zoned_drive_reads_at_the_rate_that_was_fitted() -> None:
    spec = pumice.preset("zn540").with_(geometry={"pages_per_block": 60}, workload={"requests": 20_000})
    rates = [pumice.run(spec.with_(host={"queue_depth": depth})).value("host.iops") for depth in (1, 128)]
    assert rates == pytest.approx([11_168, 292_100], rel=0.03)
