"""How much RAM does the map need? Flash reads for the map over the entries that are cached, by skew."""

from __future__ import annotations

from pathlib import Path

import pumice
from pumice.analysis.plots import Frame, Scale
from study import device, figure, lines_of, main

ENTRIES = [64, 256, 1024, 4096]


def draw(out: Path, size: float) -> None:
    spec = device(size, ftl={"map_place": "cached", "over_provisioning": 0.3}, workload={"read_fraction": 0.5})
    vary = {"ftl.map_cache_entries": ENTRIES, "workload.kind": ["uniform", "zipf"]}
    table = pumice.sweep(spec, vary, repeat=3)
    lines = lines_of(table, "ftl.map_cache_entries", "gc.map.misses", "workload.kind")
    frame = Frame("A map that does not fit", "look-ups that missed the cache", x_label="map entries cached")
    figure(out / "map-cache", frame, lines, Scale(log_x=True, ticks=ENTRIES))


if __name__ == "__main__":
    main(draw, __doc__)
