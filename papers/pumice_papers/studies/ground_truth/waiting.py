"""Mean wait for a die by its load, beside the closed form of an M/D/1 queue."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pumice import files
from pumice.analysis import plots
from pumice.results.document import number
from pumice_papers.studies.ground_truth.closed_forms import m_d_1_waiting
from pumice_papers.studies.ground_truth.study_files import draw_svg, read_rows, run_study, worst_difference


def simulate(directory: Path) -> None:
    """Mean wait for a die by its load, as `waiting.csv`."""
    rows: list[list[float]] = []
    for outcome in run_study("waiting"):
        document = outcome.document or {}
        service = _service_us(document)
        load = service / float(outcome.job.varied["workload.mean_interarrival_us"])
        waited = (number(document, "host.read.latency_us.mean") or 0.0) - service
        rows.append([round(load, 6), waited / service, m_d_1_waiting(load)])
    files.write_csv(directory / "waiting.csv", ["load", "wait / service time, simulated", "theory"], rows)


def _service_us(document: Mapping[str, Any]) -> float:
    """tR and the transfer of a page with its spare bytes."""
    config = document["config"]
    moved = int(config["geometry"]["page_bytes"]) + int(config["geometry"]["spare_bytes"])
    return float(config["timing"]["t_r_us"]) + moved / float(config["timing"]["channel_mb_per_s"])


def draw(directory: Path) -> None:
    """Draws `waiting.csv` beside the closed form."""
    rows = read_rows(directory / "waiting.csv")
    loads = [step / 100 for step in range(91)]
    curves = [
        plots.Curve("M/D/1", loads, [m_d_1_waiting(load) for load in loads], "plain", 0),
        plots.Curve("", [float(row[0]) for row in rows], [float(row[1]) for row in rows], "points", 0),
    ]
    title = f"Waiting for a die: dots simulated, line M/D/1 (within {worst_difference(rows, 1):.1%})"
    draw_svg(
        plots.Frame(title, "mean wait, service times", x_label="load"), curves, directory / "waiting", plots.Scale()
    )
