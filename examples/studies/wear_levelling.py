"""Does wear levelling keep the most worn block back? Mean and most erases of a page, by wear levelling."""

from __future__ import annotations

from pathlib import Path

import pumice
from pumice.analysis.plots import Frame
from study import bars, device, main

MODES = ["none", "dynamic", "static", "both"]


def draw(out: Path, size: float) -> None:
    mean: list[float | None] = []
    most: list[float | None] = []
    for mode in MODES:
        spec = device(
            size,
            ftl={"wear_leveling": mode, "wear_threshold": 4},
            workload={"kind": "hot-cold", "hot_space": 0.1, "hot_share": 0.95},
        )
        result = pumice.run(spec)
        mean.append(result.value("wear.aep"))
        most.append(result.value("wear.max_erases_per_page"))
    bars(out / "wear-levelling", Frame("Wear levelling", "erases of a page"), MODES, {"mean": mean, "most": most})


if __name__ == "__main__":
    main(draw, __doc__)
