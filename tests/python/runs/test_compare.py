"""Comparisons and sweeps from Python, of specs and of a program's table of requests."""

from __future__ import annotations

from pathlib import Path

import pytest

import pumice

TINY = pumice.preset("tiny").with_(run={"max_requests": 300})

#: Requests as a program has them: the even ones write, the odd ones read.
REQUESTS = {
    "time_us": [step * 100 for step in range(200)],
    "op": ["W", "R"] * 100,
    "offset_bytes": [step * 7 % 500 * 4096 for step in range(200)],
    "size_bytes": [4096] * 200,
}


def test_variants_of_one_spec_and_of_several_are_the_same_runs() -> None:
    merges = {name: TINY.with_(ftl={"merge": name}) for name in ("block-erase", "m-merge")}
    named = pumice.compare(merges, workers=1)
    varied = pumice.compare(TINY, {"ftl.merge": list(merges)}, workers=1)
    path = "host.write.latency_us.mean"
    found = [results[0].value(path) for results in named.results().values()]
    assert found == [pumice.run(spec).value(path) for spec in merges.values()]
    assert found == [results[0].value(path) for results in varied.results().values()]
    table = named.table().to_pylist()
    [row] = [row for row in table if row["field"] == path]
    assert row["m-merge, ratio"] == pytest.approx(found[1] / found[0])
    first, *lines = str(varied).splitlines()
    assert first.split() == ["unit", "merge", "=", "block-erase", "merge", "=", "m-merge", "ratio"]
    assert any(line.startswith("write amplification ") for line in lines)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((TINY,), "at least two variants"),
        (({"a": TINY},), "at least two variants"),
        (({"a": TINY, "b": TINY}, {"seed": [1, 2]}), "a spec in place of a dictionary of specs"),
        (({"a": TINY, "b": 3},), "3 is not a spec"),
        (([TINY, TINY],), 'allowed: {"a": spec, "b": spec}'),
        ((TINY, {"ftl.merg": [1, 2]}), "nearest valid key: 'ftl.merge'"),
    ],
)
def test_what_cannot_be_compared_is_refused(arguments: tuple[object, ...], told: str) -> None:
    with pytest.raises(pumice.SpecError) as refused:
        pumice.compare(*arguments)  # type: ignore[arg-type]
    assert told in str(refused.value)
    assert "--" not in str(refused.value), "no word of the command line"


def test_a_table_is_replayed_by_every_run(tmp_path: Path) -> None:
    alone = pumice.run(pumice.preset("tiny"), requests=REQUESTS)
    rows = pumice.sweep(
        pumice.preset("tiny"), {"seed": [1, 2]}, requests=REQUESTS, workers=2, store=tmp_path
    ).to_pylist()
    assert [row["status"] for row in rows] == ["done", "done"]
    assert {row["host.write.latency_us.mean"] for row in rows} == {alone.value("host.write.latency_us.mean")}
    again = pumice.sweep(
        pumice.preset("tiny"), {"seed": [1, 2]}, requests=REQUESTS, workers=1, store=tmp_path, resume=True
    )
    assert [row["run.wall_s"] for row in again.to_pylist()] == [row["run.wall_s"] for row in rows], (
        "taken from the store"
    )
    compared = pumice.compare({"a": pumice.preset("tiny"), "b": pumice.preset("small")}, requests=REQUESTS, workers=1)
    assert [len(results) for results in compared.results().values()] == [1, 1]


def test_lazy_frames_are_collected() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.LazyFrame(REQUESTS)
    lazy, eager = pumice.run(TINY, requests=frame), pumice.run(TINY, requests=frame.collect())
    assert lazy.value("host.write") == eager.value("host.write")
