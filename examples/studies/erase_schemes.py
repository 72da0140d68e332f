"""How long does an erase take as a block ages? Mean erase latency over P/E cycles, by erase scheme."""

from __future__ import annotations

from pathlib import Path

import pumice
from pumice.analysis.plots import Frame
from study import device, figure, lines_of, main


def draw(out: Path, size: float) -> None:
    vary = {"erase.initial_pec": [0, 1000, 2500, 4000], "erase.scheme": ["ispe", "dpes", "aero"]}
    table = pumice.sweep(device(size), vary, repeat=3)
    lines = lines_of(table, "erase.initial_pec", "wear.mean_erase_latency_us", "erase.scheme")
    frame = Frame("Erases of ageing blocks", "mean time of an erase, µs", x_label="P/E cycles before the run")
    figure(out / "erase-schemes", frame, lines)


if __name__ == "__main__":
    main(draw, __doc__)
