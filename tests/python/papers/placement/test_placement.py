"""Data placement: windows of a write series, and the drives' curves on small units."""

from __future__ import annotations

from typing import Any

import pytest

import pumice
from pumice_papers.experiment import read_experiment
from pumice_papers.studies.placement.windows import WriteSeries, errors, largest, root_mean_square, write_series

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
