"""AERO's block-level figures: the models as one call, and the scoreboard they end in."""

from __future__ import annotations

import csv
import itertools
import json
from pathlib import Path

import pytest

from conftest import Command
from pumice import SpecError
from pumice.papers.aero.erase_models import SCHEMES, ask
from pumice.papers.aero.figure_16 import MISPREDICTION
from pumice.papers.aero.figure_17 import MARGIN
from pumice.papers.aero.seed_pairs import Interval, bootstrap, mean_ratio
from pumice.papers.aero.tails import PEC, read_tail
from pumice.papers.experiment import read_experiment
from pumice.papers.figures import figures_of


def test_table_mode_gives_the_measured_shares_back() -> None:
    for scheme in SCHEMES:
        measured = ask("measured", scheme=scheme)
        found = ask("distribution", scheme=scheme, pec=[row["pec"] for row in measured], blocks=200)
        for row, one in zip(measured, found, strict=True):
            assert [count / 200 for count in one["by_pulses"]] == pytest.approx(row["shares"], abs=1e-9)


def test_a_wrong_question_is_a_spec_error() -> None:
    for options in ({"scheme": "areo"}, {"requirement": 41}, {"blocks": 0}, {"blcoks": 1}):
        with pytest.raises(SpecError, match=r"not allowed|unknown field"):
            ask("distribution", **options)


def test_lifetimes_are_reproduced(command: Command, tmp_path: Path) -> None:
    done = command("reproduce", "aero", "--figure", "13", "--figure", "17a", "--figure", "table1", "--out", "aero")
    assert done.returncode == 0, done.stderr
    rows = {row["id"]: row for row in json.loads((tmp_path / "aero" / "scoreboard.json").read_text())}
    assert set(rows) == {"aero.fig13_lifetime", "aero.two_loops_2500", "aero.fig17_requirement"}
    assert rows["aero.fig13_lifetime"]["verdict"] == "reproduced"
    with (tmp_path / "aero" / "figures" / "table1.csv").open() as file:
        assert list(csv.reader(file))[4][1:3] == ["0.5/0", "1/0.5"]
    for kind in ("png", "svg", "csv"):
        assert (tmp_path / "aero" / "figures" / f"fig13.{kind}").stat().st_size > 0


@pytest.mark.parametrize("mode", ["quick", "full"])
def test_schemes_meet_the_same_requests_at_equal_seeds(mode: str) -> None:
    named = read_experiment("aero", mode).jobs(["tails", "suspension"])
    others: dict[tuple[object, ...], set[str]] = {}
    for study, job in named:
        config = job.spec.resolve()["config"]
        scheme = config["erase"].pop("scheme")
        others.setdefault((study, json.dumps(config, sort_keys=True)), set()).add(scheme)
    worn = {"ispe", "dpes", "aero-cons", "aero"}
    assert {frozenset(found) for (study, _), found in others.items() if study == "tails"} == {
        frozenset(worn), frozenset({*worn, "i-ispe"}),
    }  # fmt: skip
    both, all_three = {"ispe", "aero"}, {"ispe", "aero-cons", "aero"}
    for (study, config), found in others.items():
        if study == "suspension":
            mode = json.loads(config)["erase"]["suspension"]
            assert found == (all_three if mode in ("off", "loop") else both)


@pytest.mark.parametrize("mode", ["quick", "full"])
def test_sensitivity_is_run_at_every_value_that_its_figure_shows(mode: str) -> None:
    experiment = read_experiment("aero", mode)
    for study, what in (("misprediction", MISPREDICTION), ("requirement", MARGIN)):
        runs = {json.dumps(dict(job.varied), sort_keys=True) for _, job in experiment.jobs([study])}
        loads = {job.varied["workload.kind"] for _, job in experiment.jobs([study])}
        named = [json.loads(run) for run in runs]
        pecs = {run[PEC] for run in named}
        for scheme, pec, value in itertools.product(("ispe", *what.schemes), pecs, what.values):
            wanted = what.run(scheme, pec, value)
            found = {run["workload.kind"] for run in named if wanted.items() <= run.items()}
            assert found == loads, wanted


def test_a_tail_of_too_few_reads_is_left_out() -> None:
    def document(reads: int) -> dict[str, object]:
        return {"host": {"read": {"requests": reads, "latency_us": {"p99_9": 1.0, "p99_99": 2.0}}}}

    assert [read_tail("p99_99")(document(reads)) for reads in (99_999, 100_000)] == [None, 2.0]
    assert read_tail("p99_9")(document(1000)) == 1.0


def test_every_run_has_an_expected_time() -> None:
    for mode, hours in (("quick", (0.1, 0.7)), ("full", (2.0, 8.0))):
        experiment = read_experiment("aero", mode)
        jobs = experiment.jobs(list(dict.fromkeys(s for one in figures_of("aero").values() for s in one.sweeps)))
        seconds = [job.expected_s for _, job in jobs]
        assert all(seconds)
        assert hours[0] < sum(filter(None, seconds)) / 3600 < hours[1], "runs that studies share are counted twice here"


def test_only_aero_depends_on_the_requirement() -> None:
    for scheme in ("ispe", *MARGIN.schemes):
        found = [ask("distribution", scheme=scheme, requirement=bits, pec=[2500]) for bits in MARGIN.values]
        assert (found[0] == found[-1]) == (scheme in ("ispe", *MARGIN.fixed))


def test_a_bootstrap_over_equal_seeds_has_no_width_and_over_unequal_ones_holds_the_mean() -> None:
    assert bootstrap({"a": [(1.0, 2.0)] * 3, "b": [(3.0, 4.0)] * 3}) == Interval(0.625, 0.625, 0.625)
    spread = {"a": [(1.0, 2.0), (2.0, 2.0), (1.5, 2.0)]}
    found = bootstrap(spread)
    assert found.value == mean_ratio(spread) == pytest.approx(0.75)
    assert 0.5 <= found.lo < 0.75 < found.hi <= 1.0
    assert bootstrap(spread) == found


def _pieces(scheme: str, pec: int, by_loop: bool) -> list[tuple[float, list[float]]]:
    """Share of blocks, and the pieces, ms, in which their erase holds the die: its loops, or all of it."""
    (found,) = ask("distribution", scheme=scheme, pec=[pec], blocks=1000)
    pieces = []
    for pulses, blocks in enumerate(found["by_pulses"]):
        loops = -(-pulses // 7)
        last = 0.5 * (pulses - 7 * (loops - 1)) + 0.1
        parts = [1.1, last - 1.0] if scheme == "aero" and loops == 1 and pulses > 2 else [3.6] * (loops - 1) + [last]
        if blocks:
            pieces.append((blocks / 1000, parts if by_loop else [sum(parts)]))
    return pieces


def _tail_ms(pieces: list[tuple[float, list[float]]], erases_per_ms: float, beyond: float) -> float:
    """The wait that a share `beyond` of reads at random times exceeds, without queues, and a read of 40 µs."""
    lo, hi = 0.0, 50.0
    for _ in range(60):
        wait = (lo + hi) / 2
        longer = erases_per_ms * sum(n * sum(max(0.0, part - wait) for part in parts) for n, parts in pieces)
        lo, hi = (wait, hi) if longer > beyond else (lo, wait)
    return lo + 0.04


@pytest.mark.parametrize(("by_loop", "lo", "hi"), [(True, 0.93, 1.001), (False, 0.5, 0.68)])
def test_between_loops_the_tail_at_2500_cycles_can_hardly_fall_and_without_suspension_it_does(
    by_loop: bool, lo: float, hi: float
) -> None:
    ispe, aero = (_pieces(scheme, 2500, by_loop) for scheme in ("ispe", "aero"))
    whole = sum(n * sum(parts) for n, parts in ispe)
    for share in (3e-5, 1e-4, 1e-3, 5e-3):
        ratio = _tail_ms(aero, share / whole, 1e-6) / _tail_ms(ispe, share / whole, 1e-6)
        assert lo < ratio < hi, (share, ratio)
