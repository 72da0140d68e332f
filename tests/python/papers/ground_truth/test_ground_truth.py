"""Closed forms against what defines them; the committed figures against closed forms."""

from __future__ import annotations

import csv
import math
import random
from pathlib import Path

import pytest

from conftest import REPOSITORY
from pumice_papers.studies.ground_truth import device_size
from pumice_papers.studies.ground_truth.closed_forms import (
    greedy_write_amplification,
    lambert_w,
    least_write_amplification_apart,
    lru_write_amplification,
    lru_write_amplification_of_kinds,
    m_d_1_waiting,
)

FIGURES = REPOSITORY / "docs" / "figures"


def test_lambert_w_inverts_what_it_should() -> None:
    for w in (-0.99, -0.7, -0.3, -0.01):
        assert lambert_w(w * math.exp(w)) == pytest.approx(w, rel=1e-9)


@pytest.mark.parametrize("alpha", [1.05, 1.2, 2.0, 5.0])
def test_lru_meets_its_balance(alpha: float) -> None:
    """A block's pages survive one round of the device, in which alpha / A user pages' worth of writes
    come: valid share = exp(-alpha / A), and A = 1 / (1 - valid share)."""
    amplification = lru_write_amplification(alpha)
    assert 1 / (1 - math.exp(-alpha / amplification)) == pytest.approx(amplification, rel=1e-9)


def test_greedy_is_better_than_lru_and_falls_with_spare() -> None:
    found = [greedy_write_amplification(alpha, 256) for alpha in (1.07, 1.2, 1.5)]
    assert found == sorted(found, reverse=True)
    assert all(greedy_write_amplification(alpha, 64) < lru_write_amplification(alpha) for alpha in (1.07, 1.2, 1.5))


def test_kinds_that_are_alike_are_one() -> None:
    for kinds in ([(1.0, 1.0)], [(0.3, 0.3), (0.7, 0.7)]):
        assert lru_write_amplification_of_kinds(1.2, kinds) == pytest.approx(lru_write_amplification(1.2), rel=1e-9)
    assert lru_write_amplification_of_kinds(1.2, [(0.9, 0.1), (0.1, 0.9)]) > lru_write_amplification(1.2)


def test_apart_is_never_worse_than_uniform() -> None:
    assert least_write_amplification_apart(1.2, 256, (0.2, 0.2)) == pytest.approx(
        greedy_write_amplification(1.2, 256), rel=1e-3
    )
    assert least_write_amplification_apart(1.2, 256, (0.9, 0.1)) < greedy_write_amplification(1.2, 256)


def test_waiting_is_that_of_a_queue_played_by_hand() -> None:
    draw = random.Random(1)
    load, wait, total, customers = 0.6, 0.0, 0.0, 400_000
    for _ in range(customers):
        wait = max(0.0, wait + 1.0 - draw.expovariate(load))  # Lindley's recursion
        total += wait
    assert m_d_1_waiting(load) == pytest.approx(total / customers, rel=0.02)


def rows(name: str) -> list[dict[str, str]]:
    with (FIGURES / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_committed_figures_hold_their_bands() -> None:
    for row in rows("write-amplification"):
        band = 0.01 if row["victims"] == "fifo" else 0.02
        assert float(row["simulated"]) == pytest.approx(float(row["theory"]), rel=band)
    for row in rows("hot-cold"):
        expected, simulated = float(row["theory"] or "nan"), float(row["simulated"])
        if row["victims"] == "cost-benefit" and row["theory"]:
            assert expected < simulated < 1.25 * expected
        elif row["theory"]:
            assert simulated == pytest.approx(expected, rel=0.01 if row["victims"] == "fifo" else 0.025)
    for row in rows("waiting"):
        assert float(row["theory"]) == pytest.approx(m_d_1_waiting(float(row["load"])), rel=1e-4)
        assert float(row["wait / service time, simulated"]) == pytest.approx(float(row["theory"]), rel=0.02)
    for name in ("write-amplification", "hot-cold", "waiting"):
        assert "<svg" in (FIGURES / f"{name}.svg").read_text(encoding="utf-8")


def test_the_speed_is_drawn_from_its_csv(tmp_path: Path) -> None:
    device_size.draw(tmp_path)
    assert list(tmp_path.iterdir()) == []
    lines = ['load,"device, GiB",flash commands,"CPU, s"', "writes,1,1000000,0.1", "writes,4096,1000000,0.2"]
    (tmp_path / "device-size.csv").write_text("\n".join(lines) + "\n")
    device_size.draw(tmp_path)
    assert "writes" in (tmp_path / "device-size.svg").read_text(encoding="utf-8")
    assert {path.name for path in tmp_path.iterdir()} == {"device-size.csv", "device-size.svg"}


@pytest.mark.parametrize("load", device_size.LOADS)
def test_a_speed_is_measured_by_cpu_time(monkeypatch: pytest.MonkeyPatch, load: str) -> None:
    monkeypatch.setattr(device_size, "MEASURED_REQUESTS", 50_000)
    found, gib, commands, seconds = device_size.measure_one(1, load)
    assert (found, gib) == (load, 1)
    assert commands >= 49_000  # a few pages of the fill's last stripe are not written, so not read
    assert seconds > 0
