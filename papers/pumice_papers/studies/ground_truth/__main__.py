"""The figures of docs/validation: the simulator beside closed forms, and its speed by device size.

`python -m pumice_papers.studies.ground_truth --out DIR` writes a CSV and an SVG for each figure. `--measure` also
measures the speed, which takes some minutes of an idle machine and 5 GiB of memory. Without it the figure
of the speed is drawn from the CSV that DIR holds.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from pumice_papers.studies.ground_truth import device_size, hot_cold, waiting, write_amplification


def main(arguments: Sequence[str] | None = None) -> None:
    """Writes all figures."""
    parser = argparse.ArgumentParser(prog="ground_truth", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--measure", action="store_true", help="measure the speed by device size anew")
    parser.add_argument("--one", nargs=2, metavar=("GIB", "LOAD"), help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.one is not None:
        print(json.dumps(device_size.measure_one(int(chosen.one[0]), chosen.one[1])))
        return
    for study in (write_amplification, hot_cold, waiting):
        study.simulate(chosen.out)
        study.draw(chosen.out)
    if chosen.measure:
        device_size.measure(chosen.out / "device-size.csv")
    device_size.draw(chosen.out)


if __name__ == "__main__":
    main()
