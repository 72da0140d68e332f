"""A Micron 7450 MAX: windows of parts of it, predicted with the flash that was fitted to the whole."""

from __future__ import annotations

import pytest

import pumice
from pumice_papers.experiment import read_experiment
from pumice_papers.studies.drives.micron7450 import CAPACITY, Windows, counter_overhead, measured, rms, simulated

DRIVE = measured(read_experiment("drives", "quick"))


def test_the_drives_windows_are_read_with_their_overhead() -> None:
    assert {part: len(windows.ends) for part, windows in DRIVE.items()} == {373: 40, 596: 40, 745: 40}
    assert counter_overhead(DRIVE) == pytest.approx(1.036, abs=0.0005)
    assert Windows([2.9, 3.1, 4.0], [9.0, 1.0, 2.0]).steady == 1.5


def test_windows_of_a_part_are_counted_in_the_parts_size() -> None:
    window = {"host_programs": 50, "gc_programs": 0, "map_programs": 0}
    document = {
        "write_series": [window, {**window, "gc_programs": 25}],
        "device": {"user_bytes": 200 * 4096, "raw_bytes": 220 * 4096, "pages": 220},
    }
    found = simulated(document, 0.5, DRIVE, [0.5, 1.0])
    assert found.amplification == pytest.approx([counter_overhead(DRIVE), 1.5 * counter_overhead(DRIVE)])


@pytest.mark.parametrize("part", [596, 373])
def test_a_part_of_the_drive_is_predicted_on_smaller_units(part: int) -> None:
    share = part / CAPACITY
    spec = pumice.preset("micron-7450-max").with_(
        geometry={"pages_per_block": 512},
        workload={"footprint": share, "requests": round(735_000 * share)},
        initial={"fill": share},
    )
    found = simulated(pumice.run(spec).to_dict(), share, DRIVE, DRIVE[part].ends)
    assert rms(found, DRIVE[part]) < 0.02
    assert found.steady / DRIVE[part].steady == pytest.approx(1.0, abs=0.02)
