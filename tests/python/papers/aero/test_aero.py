"""AERO's block-level figures: the models as one call, and the scoreboard they end in."""

from __future__ import annotations

import csv
import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from conftest import Command
from made_up import drawer, drawn, outcomes
from pumice import SpecError
from pumice_papers.aero.erase_models import SCHEMES, ask
from pumice_papers.aero.figure_16 import MISPREDICTION
from pumice_papers.aero.figure_17 import MARGIN, most_gained
from pumice_papers.aero.seed_pairs import Interval, bootstrap, mean_ratio
from pumice_papers.aero.suspension_rules import CONTROLLER, FAMILY
from pumice_papers.aero.tails import PEC, TAILS, read_tail
from pumice_papers.experiment import read_experiment
from pumice_papers.figures import figures_of


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
    for (study, config), found in others.items():
        if study == "suspension":
            assert json.loads(config)["erase"]["suspension"] in ("off", "authors-code")
            assert found == {"ispe", "aero-cons", "aero"}


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

    assert [read_tail("p99_99")(document(reads)) for reads in (29_999, 30_000)] == [None, 2.0]
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


def test_a_bootstrap_draws_the_same_seeds_in_every_process() -> None:
    """Its numbers stand in documents: another stream gives other ends of the interval."""
    pairs = {"a": [(1.0, 1.0), (1.3, 2.0), (1.7, 4.0), (2.9, 5.0)], "b": [(3.1, 4.0), (5.3, 4.0), (2.2, 7.0)]}
    found = bootstrap(pairs, 200)
    assert (found.lo, found.hi) == pytest.approx((0.44362745098039214, 0.9425), rel=1e-12)


def _pieces(scheme: str, pec: int, rule: str) -> list[tuple[float, list[float]]]:
    """Share of blocks, and the pieces, ms, for which a read has to wait: all of an erase without suspension, each
    of its loops, or only the last."""
    (found,) = ask("distribution", scheme=scheme, pec=[pec], blocks=1000)
    pieces = []
    for pulses, blocks in enumerate(found["by_pulses"]):
        loops = -(-pulses // 7)
        last = 0.5 * (pulses - 7 * (loops - 1)) + 0.1
        parts = [1.1, last - 1.0] if scheme == "aero" and loops == 1 and pulses > 2 else [3.6] * (loops - 1) + [last]
        if blocks:
            waited = {"off": [sum(parts)], "loop": parts, "last": parts[-1:]}
            pieces.append((blocks / 1000, waited[rule]))
    return pieces


def _tail_ms(pieces: list[tuple[float, list[float]]], erases_per_ms: float, beyond: float) -> float:
    """The wait that a share `beyond` of reads at random times exceeds, without queues, and a read of 40 µs."""
    lo, hi = 0.0, 50.0
    for _ in range(60):
        wait = (lo + hi) / 2
        longer = erases_per_ms * sum(n * sum(max(0.0, part - wait) for part in parts) for n, parts in pieces)
        lo, hi = (wait, hi) if longer > beyond else (lo, wait)
    return lo + 0.04


def _time_ms(scheme: str, pec: int) -> float:
    return sum(n * sum(parts) for n, parts in _pieces(scheme, pec, "off"))


@pytest.mark.parametrize(("rule", "lo", "hi"), [("loop", 0.93, 1.001), ("off", 0.5, 0.68)])
def test_between_loops_the_tail_at_2500_cycles_can_hardly_fall_and_without_suspension_it_does(
    rule: str, lo: float, hi: float
) -> None:
    ispe, aero = (_pieces(scheme, 2500, rule) for scheme in ("ispe", "aero"))
    for share in (3e-5, 1e-4, 1e-3, 5e-3):
        erases = share / _time_ms("ispe", 2500)
        ratio = _tail_ms(aero, erases, 1e-6) / _tail_ms(ispe, erases, 1e-6)
        assert lo < ratio < hi, (share, ratio)


def test_a_protected_last_loop_leaves_the_published_tails_where_dies_erase_rarely() -> None:
    found = {}
    for share in (3e-5, 1e-4, 1e-3):
        erases = share / _time_ms("ispe", 500)
        tails = {
            (scheme, pec): _tail_ms(_pieces(scheme, pec, "last"), erases, 1e-6)
            for scheme in ("ispe", "aero")
            for pec in (500, 2500, 4500)
        }
        found[share] = [tails["aero", pec] / tails["ispe", pec] for pec in (500, 2500, 4500)]
    assert found[1e-4] == pytest.approx([0.56, 0.80, 0.94], abs=0.01), "published: 0.57, 0.77, 0.95"
    assert found[3e-5] == pytest.approx([0.48, 0.66, 0.85], abs=0.01)
    assert found[1e-3] == pytest.approx([0.62, 0.97, 0.99], abs=0.01)


def test_p9999_differs_only_where_dies_erase_often_enough_for_a_read_in_ten_thousand() -> None:
    """With a protected last loop. The figure `load` measures the same on a device."""

    def ratio(pec: int, share: float) -> float:
        erases = share / _time_ms("ispe", pec)
        aero, ispe = (_tail_ms(_pieces(scheme, pec, "last"), erases, 1e-4) for scheme in ("aero", "ispe"))
        return aero / ispe

    assert [ratio(*at) for at in ((500, 1e-4), (2500, 2e-4), (4500, 3e-4))] == pytest.approx([1.0] * 3)
    assert [ratio(pec, 1e-3) for pec in (500, 2500, 4500)] == pytest.approx([0.375, 0.241, 0.295], abs=0.01)
    assert [ratio(pec, 1e-2) for pec in (500, 2500, 4500)] == pytest.approx([0.561, 0.691, 0.830], abs=0.01)


def _document(_study: str, varied: dict[str, Any]) -> dict[str, Any]:
    """A made-up run: under aero tails are half as long, with SEF bits learned a little shorter."""
    tail = 1000.0 * (0.5 if varied["erase.scheme"] == "aero" else 1.0)
    tail *= 0.9 if varied.get("erase.initial_memory") == "learned" else 1.0
    latency = {"p99_9": tail, "p99_99": 2 * tail, "p99_9999": 3 * tail, "mean": 50.0}
    return {
        "host": {
            "read": {"requests": 2_000_000, "latency_us": latency},
            "write": {"latency_us": latency},
            "simulated_s": 1000.0,
            "service_iops": 100.0,
        },
        "gc": {"time_us": {"erase": 1e5}},
        "utilisation": {"die": [0.1]},
        "flash": {"suspensions": 3, "erase_restarts": 2, "erases": {"block": 9}},
        "wear": {"restart_stress": 0.01},
    }


def test_rules_of_suspension_are_compared_at_equal_runs(tmp_path: Path) -> None:
    for mode in ("quick", "full"):
        draw = drawer("aero", mode, outcomes("aero", mode, ["family", "controller"], _document), tmp_path)
        for name, compared, expected in (("family", FAMILY, {0.5}), ("controller", CONTROLLER, {0.5, 0.45})):
            assert draw(name) == {}
            columns, *rows = drawn(tmp_path, name)
            loads = {row[2] for row in rows}
            assert len(rows) == len(compared) * 3 * 3 * len(loads), "compared, ages, percentiles, workloads"
            assert {round(float(row[6]), 6) for row in rows} == expected
            for scheme in ("ispe", "aero"):
                assert {row[columns.index(f"{scheme}: restarts")] for row in rows} == {"2.0"}


def test_a_failed_run_leaves_figures_without_rows_undrawn(tmp_path: Path) -> None:
    draw = drawer("aero", "quick", outcomes("aero", "quick", ["family", "load"], lambda *_: None), tmp_path)
    assert [draw(name) for name in ("family", "load")] == [{}, {}]
    assert not list(tmp_path.iterdir())


def test_a_tail_is_drawn_against_how_often_dies_erase(tmp_path: Path) -> None:
    assert drawer("aero", "quick", outcomes("aero", "quick", ["load"], _document), tmp_path)("load") == {}
    _, *rows = drawn(tmp_path, "load")
    assert len(rows) == 4 * 3 * 3, "workloads, speeds, ages"
    assert {row[3] for row in rows} == {"0.0001"}
    assert {float(row[6]) for row in rows} == {0.5}


def test_figures_of_tails_are_drawn_from_planned_runs(tmp_path: Path) -> None:
    for mode in ("quick", "full"):
        draw = drawer("aero", mode, outcomes("aero", mode, ["14", "15", "table4"], _document), tmp_path)
        found = {row: one for name in ("14", "15", "table4") for row, one in draw(name).items()}
        for row in ("fig14_p9999_aero", "fig14_p999999_aero", "fig15_no_suspension"):
            assert found[row].values == [0.5] * 3
        for name, pictures in (("fig14", ["fig14"]), ("fig15", [f"fig15-{tail}" for tail in TAILS.values()])):
            rows = drawn(tmp_path, name, *pictures)
            assert len(rows) > 100
            assert {row[2] for row in rows[1:]} == ({"authors-code"} if name == "fig14" else {"off", "authors-code"})


def test_at_40_bits_the_published_life_would_need_nearly_three_times_the_stress_that_is_saved() -> None:
    end = ask("lifetime", scheme="aero-cons", requirement=40)["pec_at_requirement"]
    points = ask("lifetime", scheme="aero-cons", requirement=40, pec=[round(end), round(1.14 * end)])["points"]
    needed = 1 - points[0]["relative_stress"] / points[1]["relative_stress"]
    assert needed == pytest.approx(0.394, abs=0.001), "of the stress of each erase, if saved evenly"
    for mode in ("table", "mechanism"):
        cons, aero = (
            ask("distribution", scheme=scheme, mode=mode, requirement=40, pec=list(range(0, 4001, 500)), blocks=960)
            for scheme in ("aero-cons", "aero")
        )
        saved = [1 - less["mean_stress"] / all_["mean_stress"] for all_, less in zip(cons, aero, strict=True)]
        assert max(saved) < 0.14, (mode, saved)
        life = ask("lifetime", scheme="aero", mode=mode, requirement=40)["pec_at_requirement"] / end
        assert life < most_gained(end) == pytest.approx(1.04, abs=0.002), "the most that joining the ages can give"
        assert life == pytest.approx({"table": 1.034, "mechanism": 1.010}[mode], abs=0.001)
