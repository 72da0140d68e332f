"""PEN's figures from made-up runs: what the scoreboard reads, and files a person can read."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from made_up import Named, drawer, drawn, outcome
from pumice.runs.jobs import Job
from pumice.runs.spec import Spec
from pumice_papers.figures import Findings
from pumice_papers.pen.block_size import SIZES
from pumice_papers.pen.figure_14 import LIMITS, SPLITS
from pumice_papers.pen.figure_15 import LOSSES
from pumice_papers.pen.other_ftls import ENDS, FTLS
from pumice_papers.pen.superblock_shapes import SHAPES

WORKLOADS = ("prn_1", "proj_1", "hm_0")


def document(**fields: float) -> dict[str, Any]:
    """A result document with some fields, given as `path__with__underscores`."""
    found: dict[str, Any] = {}
    for path, value in fields.items():
        node = found
        *above, last = path.split("__")
        for part in above:
            node = node.setdefault(part, {})
        node[last] = value
    return found


def runs(
    study: str, points: list[dict[str, Any]], make: Callable[[str, dict[str, Any]], dict[str, Any] | None]
) -> Named:
    named: Named = []
    for workload in WORKLOADS:
        for point in points:
            found = make(workload, point)
            job = Job(f"{study} {workload}", Spec(), {"workload.kind": f"twin:{workload}", **point})
            named.append(outcome(study, job, found))
    return named


def drawing(named: Named, directory: Path) -> Callable[[str], Findings]:
    return drawer("pen", "quick", named, directory, high_write=["prn_1", "proj_1"])


MERGES = [{"ftl.merge": merge} for merge in ("block-erase", "m-merge")]


def timed(factor: float) -> dict[str, Any]:
    return document(
        host__write__latency_us__mean=100.0 * factor, host__read__latency_us__mean=10.0 * factor,
        write_amplification=1 + factor, wear__aep=factor, wear__vep=factor,
    )  # fmt: skip


def open_loop() -> Named:
    return runs("open-loop", MERGES, lambda _w, point: timed(1.0 if point["ftl.merge"] == "block-erase" else 0.5))


def block_size(workload: str, point: dict[str, Any]) -> dict[str, Any]:
    size = point["geometry.pages_per_block"]
    grows = workload in ("prn_1", "proj_1")
    parts = {f"write_latency_breakdown_us__{part}": 100.0 for part in ("program", "queue", "gc_erase", "gc_read")}
    return document(
        gc__invocations=size if grows else 10_000 / size, write_amplification=size / 100,
        write_latency_breakdown_us__gc_write=float(size * 10), write_latency_breakdown_us__gc_spare_read=size / 10,
        **parts,
    )  # fmt: skip


def test_block_sizes(tmp_path: Path) -> None:
    points = [{"geometry.pages_per_block": size} for size in SIZES]
    draw = drawing(runs("block-size", points, block_size), tmp_path)
    copies = draw("3a")["fig3a_copy_share"]
    assert copies.values == [pytest.approx((5760 + 100) / (5760 + 57.6 + 300))]  # without the 100 of `queue`
    assert copies.holds
    assert "with queue: 0.7275, 0.8305, 0.9006, 0.9425, 0.9655, 0.9776" in copies.note
    spare = draw("3b")["fig3b_spare_share"]
    assert spare.values == [pytest.approx(7.2 / (7.2 + 720 + 300)), pytest.approx(57.6 / (57.6 + 5760 + 300))]
    assert spare.holds
    head, first, *_ = lines = drawn(tmp_path, "fig3a")
    assert len(lines) == 1 + 3 * len(SIZES)
    shares = {name: float(cell) for name, cell in zip(head, first, strict=True) if name.startswith("share of GC read")}
    assert shares == {
        f"share of GC read and GC write {queue}{ending}": pytest.approx(820 / total)
        for queue, total in (("without queue", 1027.2), ("with queue", 1127.2))
        for ending in ("", ": least", ": largest")
    }
    assert [row[0] for row in drawn(tmp_path, "fig3b")[1::6]] == ["hm_0", "mean"]
    fourth = draw("4")
    assert fourth["fig4_gc_halves"].holds
    assert fourth["fig4_gc_rises"].values == [72, 576, 72, 576]
    assert fourth["fig4_gc_rises"].holds
    fifth = draw("5")["fig5_waf_by_block"]
    assert fifth.values == [5.76]
    assert fifth.holds
    drawn(tmp_path, "fig4")
    drawn(tmp_path, "fig5")


def over_two_seeds(named: Named, factor: float) -> Named:
    """Runs with seed 1, and with seed 2, under which latency, WAF and wear of M-Merge are as many times as high."""

    def seeded(job: Job, seed: int) -> Job:
        return dataclasses.replace(job, seed=seed)

    second = [
        outcome(
            study,
            seeded(done.job, 2),
            timed(0.5 * factor) if done.job.varied["ftl.merge"] == "m-merge" else done.document,
        )
        for study, done in named
    ]
    return [(study, dataclasses.replace(done, job=seeded(done.job, 1))) for study, done in named] + second


def test_seeds_are_shown_as_means_with_their_ends(tmp_path: Path) -> None:
    draw = drawing(over_two_seeds(open_loop(), 1.5), tmp_path)
    found = draw("12a")
    latency = found["fig12a_latency_nftl"]
    assert latency.values == [pytest.approx(0.625)]
    assert latency.spread == [(0.5, 0.75)]
    assert found["fig12a_order"].values is None  # usr_1 is not among the runs
    rows = drawn(tmp_path, "fig12a")
    assert rows[1][:6] == ["prn_1", "62.5", "100.0", "0.625", "0.5", "0.75"]
    waf = draw("13a")["fig13a_waf_nftl"]
    assert waf.values == [pytest.approx((2 / 1.5 + 2 / 1.75) / 2)]
    assert waf.spread == [(pytest.approx(2 / 1.75), pytest.approx(2 / 1.5))]


def test_a_seed_that_not_all_studies_have_is_left_out(tmp_path: Path) -> None:
    gftl = runs("gftl", [{"ftl.kind": "gftl"}], lambda _w, _p: timed(3.0))
    gftl = [(study, dataclasses.replace(done, job=dataclasses.replace(done.job, seed=2))) for study, done in gftl]
    found = drawing(over_two_seeds(open_loop(), 2.0) + gftl, tmp_path)("12c")["fig12c_gftl"]
    assert found.values == [3.0, 1.0]
    assert found.spread is None


def test_write_amplification_is_compared_by_its_means(tmp_path: Path) -> None:
    """Ratios of 3 and 1 over workloads of unlike size: their mean is 2, the ratio of the means 1.2."""

    def make(workload: str, point: dict[str, Any]) -> dict[str, Any]:
        high = point["ftl.merge"] == "block-erase" and workload == "hm_0"
        return timed(2.0) | {"write_amplification": (3.0 if high else 1.0) if workload == "hm_0" else 4.5}

    found = drawing(runs("open-loop", MERGES, make), tmp_path)("13a")["fig13a_waf_nftl"]
    assert found.values == [pytest.approx(12 / 10)]


@pytest.mark.parametrize(("start", "holds"), [(0.4, False), (0.6, True)])
def test_pbe_must_write_more_than_m_merge(tmp_path: Path, start: float, holds: bool) -> None:
    """Rising alone is not enough: the paper has PBE write more, M-Merge's WAF here is 1.5."""
    points = [{"ftl.capacity_loss": loss} for loss in LOSSES]
    named = open_loop() + runs("pbe", points, lambda _w, point: timed(start + point["ftl.capacity_loss"] / 10))
    found = drawing(named, tmp_path)("15c")["fig15c_pbe"]
    assert found.holds is holds
    assert found.values == [pytest.approx((1 + start + loss / 10) / 1.5) for loss in LOSSES]


def test_wear_variance_stands_beside_its_unevenness(tmp_path: Path) -> None:
    """A variance that falls with the mean of the erases: VEP / AEP² rises."""

    def make(_workload: str, point: dict[str, Any]) -> dict[str, Any]:
        erases = 1 / point["partial_erase.wear_limit_w"]
        return document(wear__aep=erases, wear__vep=erases)

    points = [{"partial_erase.wear_limit_w": limit} for limit in LIMITS]
    found = drawing(open_loop() + runs("wear-limit", points, make), tmp_path)("14c")["fig14c_w_vep"]
    assert found.holds is False
    assert found.note.endswith("mean of VEP / AEP² from W = 1 on: 1.00, 4.00, 16.00, 64.00")
    assert drawn(tmp_path, "fig14c-unevenness", "fig14c")[1][::3] == ["prn_1", "1.0", "4.0", "16.0", "64.0"]


def test_block_sizes_with_a_failed_run_have_no_value(tmp_path: Path) -> None:
    def make(workload: str, point: dict[str, Any]) -> dict[str, Any] | None:
        gone = workload == "proj_1" and point["geometry.pages_per_block"] == 576
        return None if gone else block_size(workload, point)

    draw = drawing(runs("block-size", [{"geometry.pages_per_block": size} for size in SIZES], make), tmp_path)
    assert draw("3a")["fig3a_copy_share"].values is None
    assert draw("4")["fig4_gc_halves"].values is not None
    assert draw("4")["fig4_gc_rises"].values is None
    assert draw("5")["fig5_waf_by_block"].values is None


@pytest.mark.parametrize("rising", [True, False])
def test_sweeps_of_splits_limits_and_losses(tmp_path: Path, rising: bool) -> None:
    def by(key: str) -> Callable[[str, dict[str, Any]], dict[str, Any]]:
        return lambda _w, point: timed(1 + point[key] / 100 if rising else 1 - point[key] / 1000)

    named = open_loop()
    for study, key, values in (
        ("splits", "partial_erase.max_splits", SPLITS),
        ("wear-limit", "partial_erase.wear_limit_w", LIMITS),
        ("pbe", "ftl.capacity_loss", LOSSES),
    ):
        named += runs(study, [{key: value} for value in values], by(key))
    draw = drawing(named, tmp_path)
    for figure, row, holds in (
        ("14a", "fig14a_splits", not rising),
        ("14b", "fig14b_w_latency", not rising),
        ("14c", "fig14c_w_vep", rising),
        ("15c", "fig15c_pbe", rising),
    ):
        found = draw(figure)[row]
        assert found.holds is holds, row
        assert [line[0] for line in drawn(tmp_path, f"fig{figure}")[-3:]] == [
            "arithmetic mean", "geometric mean", "ratio of means",
        ]  # fmt: skip
    assert draw("13c")["fig13c_vep"].holds is rising


def test_disturb(tmp_path: Path) -> None:
    def make(_workload: str, point: dict[str, Any]) -> dict[str, Any]:
        aware = point["partial_erase.disturb_aware"]
        return timed(0.55 if aware else 0.5) | {"integrity": {"corrupt_pages": 0 if aware else 7}}

    points = [{"partial_erase.disturb_aware": aware} for aware in (True, False)]
    found = drawing(open_loop() + runs("disturb", points, make), tmp_path)("15a")
    assert found["fig15a_disturb"].values == [pytest.approx(1.1)]
    assert found["fig15a_disturb"].holds
    assert found["fig15a_corrupt"].values == [0, 21]
    assert found["fig15a_corrupt"].holds
    drawn(tmp_path, "fig15a")


def test_latency_over_time_compares_windows_with_writes(tmp_path: Path) -> None:
    def make(_workload: str, point: dict[str, Any]) -> dict[str, Any]:
        ours = point["ftl.merge"] == "m-merge"
        means = [10.0, None, 40.0, 9.0] if ours else [20.0, 30.0, 30.0, 9.0]
        return {"time_series": [{"start_s": 3600.0 * n, "write_mean_us": mean} for n, mean in enumerate(means)]}

    found = drawing(runs("over-time", MERGES, make), tmp_path)("15b")["fig15b_over_time"]
    assert found.values == [pytest.approx(2 / 3)]
    assert found.holds is False
    assert len(drawn(tmp_path, "fig15b")) == 1 + 3


def test_comparators_and_superblocks(tmp_path: Path) -> None:
    def superblock(_workload: str, point: dict[str, Any]) -> dict[str, Any]:
        gains = {"m-merge": 0.5, "m-merge-budgeted": 0.4}
        return timed(gains.get(point["ftl.merge"], 1.0) * (1.6 if point["preset"].endswith("4-8") else 1.0))

    merges = ("block-erase", "m-merge", "m-merge-budgeted")
    points = [{"preset": preset, "ftl.merge": merge} for preset in SHAPES.values() for merge in merges]
    named = open_loop() + runs("superblock", points, superblock)
    named += runs("gftl", [{"ftl.kind": "gftl"}], lambda _w, _p: timed(3.0))
    draw = drawing(named, tmp_path)
    gftl = draw("12c")["fig12c_gftl"]
    assert gftl.values == [6.0, 2.0]
    assert gftl.holds
    sixteen = draw("16a")
    assert sixteen["fig16_latency_4_5"].values == [0.5]
    assert sixteen["fig16_latency_4_8"].values == [0.5, 0.5]
    assert not sixteen["fig16_latency_4_8"].holds
    assert "budgeted planner: 4:5 0.400, 4:8 0.400" in sixteen["fig16_latency_4_8"].note
    assert draw("16b")["fig16_read"].holds
    assert draw("17a")["fig17_waf_aep"].values == pytest.approx([0.75, 1.8 / 2.6, 0.5, 0.5])
    for figure in ("17b", "17c"):
        assert draw(figure) == {}
    for figure in ("12c", "16a", "16b", "17a", "17b", "17c"):
        drawn(tmp_path, f"fig{figure}")


def test_block_sizes_under_other_ftls_and_with_a_searched_pointer(tmp_path: Path) -> None:
    """Copies grow with the block under the Superblock FTL, and nothing does under the page-level one."""

    def make(workload: str, point: dict[str, Any]) -> dict[str, Any]:
        size = point["geometry.pages_per_block"] if point["ftl.kind"] == "superblock-pen" else 100
        return block_size(workload, {"geometry.pages_per_block": size})

    kinds = [{"ftl.kind": kind, "geometry.pages_per_block": size} for kind in FTLS.values() for size in ENDS]
    found = drawing(runs("other-ftls", kinds, make), tmp_path)("other-ftls")
    assert {row: one.holds for row, one in found.items()} == dict.fromkeys(found, True)
    assert found["sec232_superblock_waf"].values == [pytest.approx(0.72), pytest.approx(5.76)]
    assert found["sec232_page_level_waf"].values == [1.0]
    assert [row[0] for row in drawn(tmp_path, "other-ftls")[1:]] == list(FTLS)

    sizes = [{"geometry.pages_per_block": size} for size in SIZES]
    merges = [{**one, "geometry.pages_per_block": size} for one in MERGES for size in ENDS]
    named = open_loop() + runs("block-size", sizes, block_size)
    named += runs("u-pointer", merges, lambda w, p: block_size(w, p) | timed(1.0 + (p["ftl.merge"] == "m-merge")))
    assert drawing(named, tmp_path)("u-pointer") == {}
    name, in_ram, _, _, searched, *_ = drawn(tmp_path, "u-pointer")[-1]
    assert (name, float(in_ram), float(searched)) == ("12a, M-Merge / baseline", 0.5, 2.0)
