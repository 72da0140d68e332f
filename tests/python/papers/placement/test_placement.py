"""Data placement: windows of a write series, and the drives' curves on small units."""

from __future__ import annotations

from typing import Any

import pytest

import pumice
from pumice_papers.experiment import read_experiment
from pumice_papers.studies.placement.cache import COMPARED, TO_THE_END, CacheLog, cache_logs, windows
from pumice_papers.studies.placement.windows import WriteSeries, errors, largest, root_mean_square, write_series

LOGS = cache_logs(read_experiment("placement", "quick"))
DRIVE = read_experiment("placement", "quick").content["drives"]["samsung"]["windows"]


def test_windows_are_counted_in_user_capacities() -> None:
    window = {"host_programs": 50, "gc_programs": 0, "map_programs": 0}
    document = {
        "write_series": [window, {**window, "gc_programs": 25, "map_programs": 25}, {**window, "gc_programs": 150}],
        "device": {"user_bytes": 100 * 4096, "raw_bytes": 120 * 4096, "pages": 120},
    }
    series = write_series(document)
    assert (series.host, series.media) == ([0.5, 1.0, 1.5], [0.5, 1.5, 3.5])
    assert series.passes == 1
    assert series.amplification(0.0, 1.0) == 1.5
    assert series.amplification(0.75, 1.25) == 3.0
    with pytest.raises(ValueError, match=r"the run wrote 1\.500 user capacities; asked for is 1\.000 to 2\.000"):
        series.amplification(1.0, 2.0)
    assert series.first_copy() == 1.0
    assert series.first_copy(0.6) == 1.5
    assert series.first_copy(3.0) is None


def test_a_profile_is_the_mean_of_the_settled_passes() -> None:
    host = [nth / 2 for nth in range(1, 15)]
    media = [0.0]
    for nth in range(14):
        media.append(media[-1] + (9.0 if nth < 10 else 0.5 + nth % 2))
    series = WriteSeries(host, media[1:])
    assert series.profile(2) == [1.0, 3.0]
    assert series.per_pass() == 2.0
    assert errors([1.1, 1.8], [1.0, 2.0]) == pytest.approx([0.1, -0.1])
    assert (root_mean_square([3.0, -4.0]), largest([3.0, -4.0])) == (12.5**0.5, 4.0)


def samsung(**ftl: Any) -> list[float]:
    """Write amplification over a pass, with units of a quarter of the preset's."""
    spec = pumice.preset("fdp-samsung-7t").with_(
        geometry={"pages_per_block": 1024},
        workload={"requests": 4_430_000},
        output={"write_series": 0.01},
        **({"ftl": ftl} if ftl else {}),
    )
    return write_series(pumice.run(spec).to_dict()).profile()


def test_a_pass_over_the_samsung_drive_is_the_measured_one_on_smaller_units() -> None:
    found = errors(samsung(), DRIVE)
    assert largest(found) < 0.10
    assert root_mean_square(found) < 0.04


@pytest.mark.parametrize("ftl", [{"hot_cold": "mixed"}, {"gc_policy": "fifo"}])
def test_other_collection_is_not_the_drives(ftl: dict[str, Any]) -> None:
    assert largest(errors(samsung(**ftl), DRIVE)) > 0.3


def cache(log: CacheLog, small_share: float) -> list[float]:
    """Write amplification of the windows of a log, simulated with a share of small objects."""
    spec = pumice.preset("fdp-samsung-7t").with_(
        geometry={"pages_per_block": 1024},
        workload={
            "kind": "cache", "small_space": log.small_space, "small_share": small_share,
            "requests": int(log.end * 441_500) + 500,
        },
        output={"write_series": 0.01},
    )  # fmt: skip
    return windows(write_series(pumice.run(spec).to_dict()), log.bounds)


def test_a_cache_without_placement_begins_when_its_share_of_large_objects_says() -> None:
    log = LOGS["kv202206_soc4_none"]
    drive = windows(log.series, log.bounds)
    assert root_mean_square(errors(cache(log, log.small_share), drive)) < 0.1
    assert root_mean_square(errors(cache(log, 0.8), drive)) > 0.5


def test_a_cache_of_large_objects_is_never_copied_without_placement() -> None:
    log = LOGS["twitter37_none"]
    assert max(cache(log, log.small_share)) < 1.01


def test_shares_that_are_said_to_be_read_off_a_plateau_are() -> None:
    shares = {}
    for name, log in LOGS.items():
        if log.share_from == "plateau" and log.handles == 1:
            end = min(2.5, log.series.host[-1])
            shares[name] = 1.0 / log.series.amplification(1.5, end)
            assert shares[name] == pytest.approx(log.small_share, abs=5e-4)
        assert LOGS[f"{name.rsplit('_', 1)[0]}_fdp"].small_share == log.small_share
    assert len(shares) == 3


def test_every_log_of_a_cache_has_one_run_that_is_long_enough() -> None:
    jobs = [job.varied for _, job in read_experiment("placement", "quick").jobs(["cache"])]
    for name, log in LOGS.items():
        keys = (log.small_space, log.small_share, log.handles)
        found = [
            one for one in jobs
            if (one["workload.small_space"], one["workload.small_share"], one["ftl.handles"]) == keys
        ]  # fmt: skip
        assert len(found) == 1, name
        needed = log.series.host[-1] if name in TO_THE_END else min(log.end, COMPARED)
        assert int(found[0]["workload.requests"]) / 441_500 > needed - 0.02, name
