"""Notes on results: each on a run that gives cause for it, and on one that does not."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest

import pumice
from pumice.results.document import names_of
from pumice.results.notes import NOTES, notes_of, notes_of_all, notes_of_seeds

TINY = pumice.preset("tiny")

#: A page-level device whose erases can be suspended.
SUSPENDS = TINY.with_(
    ftl={"kind": "page", "over_provisioning": 0.2, "gc_mode": "preemptible"},
    partial_erase={"unit": "none"},
    erase={"scheme": "ispe", "suspension": "immediate"},
    host={"read_priority": True},
    run={"max_requests": 8000},
)

#: A device aged by writes of one page, whose requests write four, each page to a plane of its own.
AGED = TINY.with_(
    ftl={"kind": "page", "allocation": "static", "over_provisioning": 0.3},
    initial={"age_writes": 0.5},
    workload={"request_bytes": 16384},
    run={"max_requests": 500},
)

#: A device aged by uniform writes, under a few of another distribution.
SKEWED = TINY.with_(
    ftl={"kind": "page", "over_provisioning": 0.3},
    initial={"age_writes": 0.5},
    workload={"kind": "zipf"},
    run={"max_requests": 500},
)

#: Requests of four pages on a device of eight dies.
WIDE = TINY.with_(
    geometry={"channels": 4, "chips_per_channel": 1, "dies_per_chip": 2},
    workload={"kind": "uniform", "request_bytes": 16384},
    run={"max_requests": 500},
)

#: A device whose collection keeps most of the over-provisioning free.
KEPT = TINY.with_(
    ftl={"kind": "page", "over_provisioning": 0.25, "gc_free_threshold": 0.2},
    initial={"age_writes": 1.0},
    run={"max_requests": 2000},
)

#: Reads that come so fast that most erases meet some.
FAST = {"mean_interarrival_us": 400.0, "read_fraction": 0.9, "requests": 60_000}


#: Traces that a run is likely to read in another way than they were meant.
TRACES = Path(tempfile.mkdtemp(prefix="pumice-notes-"))
atexit.register(shutil.rmtree, TRACES, ignore_errors=True)


def replayed(name: str, text: str, **workload: str) -> pumice.Spec:
    """A run on a trace of some lines."""
    (TRACES / name).write_text(text)
    return TINY.with_(workload={"kind": "trace", "path": str(TRACES / name), **workload})


#: Five numbers between commas, which is the shape of Tencent's format, with times that count from 0; and with dates.
FROM_ZERO, DATED = "100,8,8,1,0\n200,16,8,0,0\n", "1538323200,8,8,1,0\n1538323201,16,8,0,0\n"


def said(name: str, spec: pumice.Spec) -> str | None:
    """What a note says of a run."""
    return NOTES[name](pumice.run(spec).to_dict())


CAUSES: dict[str, tuple[pumice.Spec, tuple[str, ...], pumice.Spec]] = {
    "saturated": (
        TINY.with_(workload={"mean_interarrival_us": 100.0}, run={"max_requests": 2000}),
        ("saturated", "busiest die was held 100 %", "closed-loop"),
        TINY.with_(run={"max_requests": 2000}),
    ),
    "ended_early": (
        TINY.with_(run={"until": "p50 ± 20 %"}),
        ("measured requests, because", 'run.until = "p50 ± 20 %"', "at a confidence of 95 %"),
        TINY.with_(run={"until": "p50 ± 20 %", "max_requests": 500}),
    ),
    "writes_end_in_the_buffer": (
        TINY.with_(host={"write_buffer_kib": 65536}, run={"max_requests": 500}),
        ("all 352 writes", "latency is 0", "host.write_buffer_kib = 65536"),
        TINY.with_(host={"write_buffer_kib": 16}, workload={"mean_interarrival_us": 100.0}, run={"max_requests": 500}),
    ),
    "few_tail_samples": (
        TINY.with_(run={"max_requests": 2000}),
        ("few samples: read p90 comes from 61 requests", "write p99 comes from 13 requests", "before quoting them"),
        TINY.with_(run={"timed": False, "max_requests": 2000}),
    ),
    "scaled_tails": (
        WIDE.with_(scale=0.25),
        ("scale 0.25 leaves 2 dies", "a read 4.0, a write 4.0 pages", "p99 and beyond"),
        WIDE,
    ),
    "idle_suspension": (
        SUSPENDS,
        ("0 suspensions of", "page reads met an erase", "reads seldom meet one"),
        SUSPENDS.with_(workload=FAST, run={"max_requests": 60_000}),
    ),
    "nothing_reclaimed": (
        TINY.with_(run={"max_requests": 20}),
        ("never reclaimed", "initial.fill"),
        TINY.with_(run={"max_requests": 2000}),
    ),
    "aged_by_other_writes": (
        AGED,
        ("aged by writes of one page, and requests write 4.0", 'aged_by = "requests"'),
        AGED.with_(initial={"aged_by": "requests"}),
    ),
    "amplification_of_the_ageing": (
        SKEWED,
        ("wrote 6.1 % of the user capacity anew", 'aged_by = "requests"'),
        SKEWED.with_(workload={"kind": "uniform"}),
    ),
    "beyond_requirement": (
        SUSPENDS.with_(erase={"initial_pec": 20_000}),
        ("109 raw bit errors per KiB", "erase.rber_requirement allows 63", "erase.worn_blocks"),
        SUSPENDS,
    ),
    "another_calendar": (
        replayed("zero.csv", FROM_ZERO),
        ("recognised as tencent by its content", "pumice trace check", "workload.format"),
        replayed("dated.csv", DATED),
    ),
    "less_than_a_sector": (
        replayed("sectors.txt", "0 W 0 8\n0.5 R 8 16\n", columns="time=0:s,op=1,offset=2:sectors,size=3"),
        ("12.0 bytes on average", "size=3:sectors"),
        replayed("sectors.txt", "0 W 0 8\n0.5 R 8 16\n", columns="time=0:s,op=1,offset=2:sectors,size=3:sectors"),
    ),
    "times_unused": (
        replayed("dated.csv", DATED).with_(host={"mode": "closed-loop", "queue_depth": 3}),
        ("times of the trace are not used", "keeps 3 requests under way", 'host.mode = "open-loop"'),
        replayed("dated.csv", DATED),
    ),
    "units_assumed": (
        replayed("bare.txt", "0 W 0 4096\n0.5 R 8 8192\n", columns="time=0:s,op=1,offset=2:sectors,size=3"),
        ("read as bytes", ": size=3; size=3:sectors would mean 512 bytes each"),
        replayed("bare.txt", "0 W 0 4096\n0.5 R 8 8192\n", columns="time=0:s,op=1,offset=2:sectors,size=3:bytes"),
    ),
    "spare_kept_free": (
        KEPT,
        ("keeps 20 % of the blocks free", "of the 25 % that", "to 0.025 or so"),
        KEPT.with_(ftl={"gc_free_threshold": 0.05}),
    ),
    "corrupt": (
        # Partial erases that do not look at what they disturb.
        TINY.with_(ftl={"merge": "m-merge"}, partial_erase={"disturb_aware": False}),
        ("wrong data", "logical pages corrupt"),
        TINY.with_(ftl={"merge": "m-merge"}, run={"max_requests": 2000}),
    ),
}


def test_writes_in_the_buffer_take_the_time_of_the_link() -> None:
    spec = CAUSES["writes_end_in_the_buffer"][0].with_(host={"link_mb_per_s": 1000.0})
    assert "that of the link, 8.2 µs on average" in (said("writes_end_in_the_buffer", spec) or "")
    assert said("writes_end_in_the_buffer", spec.with_(run={"timed": False})) is None


def test_an_aged_device_that_reclaims_nothing_is_not_told_to_be_aged() -> None:
    spec = TINY.with_(run={"max_requests": 20}, initial={"fill": 0.1, "age_writes": 0.01, "aged_by": "requests"})
    assert "age it by more than initial.age_writes = 0.01, or write more" in (said("nothing_reclaimed", spec) or "")


def test_every_note_is_tested() -> None:
    assert CAUSES.keys() == NOTES.keys()


@pytest.mark.parametrize("name", CAUSES)
def test_a_note_is_given_where_there_is_cause_and_only_there(name: str) -> None:
    suspicious, parts, sound = CAUSES[name]
    line = said(name, suspicious)
    assert line is not None
    assert "\n" not in line
    for part in parts:
        assert part in line
    assert said(name, sound) is None


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"config": {"host": {"read_priority": False}}}, "without host.read_priority = true no read overtakes"),
        ({"flash": {"erases": {"block": 0}}}, "nothing was erased"),
        ({"flash": {"reads": {"host": 0}}}, "no host read reached the flash"),
        ({"wear": {"mean_erase_latency_us": 5e5}}, "came where the rule allows none"),
    ],
)
def test_why_suspension_hardly_fired(change: dict[str, Any], why: str) -> None:
    document = {
        "config": {"erase": {"suspension": "loop"}, "host": {"read_priority": True}},
        "device": {"channels": 2, "chips_per_channel": 1, "dies_per_chip": 2},
        "flash": {"suspensions": 1, "erases": {"block": 1000, "partial": 0}, "reads": {"host": 5000}},
        "wear": {"mean_erase_latency_us": 4000.0},
        "host": {"simulated_s": 1000.0},
    }
    assert "seldom" in (NOTES["idle_suspension"](document) or "")
    assert "erased 0.1 % of the time, so about 5 of 5,000 page reads" in (NOTES["idle_suspension"](document) or "")
    for section, values in change.items():
        document[section] = merged(document[section], values)
    assert why in (NOTES["idle_suspension"](document) or "")


def merged(base: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    return {
        **base,
        **{key: merged(base[key], value) if isinstance(value, dict) else value for key, value in change.items()},
    }


def test_a_format_that_was_named_is_not_doubted() -> None:
    assert said("another_calendar", replayed("zero.csv", FROM_ZERO, format="tencent")) is None


def test_a_result_that_a_model_does_not_apply_to_has_no_notes() -> None:
    assert notes_of({}) == []


def test_a_note_on_several_results_says_of_which_it_is() -> None:
    corrupt = {"integrity": {"corrupt_pages": 3, "lost_pages": 0}}
    [line] = notes_of(corrupt)
    assert notes_of_all([("a", corrupt), ("b", corrupt)]) == [line]
    assert notes_of_all([("a", corrupt), ("b", {}), ("c", corrupt)]) == [f"a; c: {line}"]
    for many, led in ((4, "run 0; run 1; run 2; run 3"), (5, "5 of 9")):
        named = [(f"run {nth}", corrupt if nth < many else {}) for nth in range(9)]
        assert notes_of_all(named) == [f"{led}: {line}"]


def test_seeds_that_change_nothing_are_no_measure_of_chance() -> None:
    """Three runs of a recorded trace had means of ± 0, as if they were sure."""
    same = [pumice.run(replayed("dated.csv", DATED), seed=seed).to_dict() for seed in (1, 2, 3)]
    drawn = [pumice.run(TINY.with_(run={"max_requests": 500}), seed=seed).to_dict() for seed in (1, 2)]
    [line] = notes_of_seeds([("", same)])
    assert line.startswith("every seed gave the same run")
    assert notes_of_seeds([("trace", same), ("uniform", drawn)]) == [f"trace: {line}"]
    assert notes_of_seeds([("uniform", drawn), ("one run", same[:1])]) == []


def test_a_note_that_differs_from_result_to_result_is_not_told_of_each() -> None:
    """A sweep's page began with a screen of notes that differed in a number."""
    corrupt = [(f"run {nth}", {"integrity": {"corrupt_pages": nth, "lost_pages": 0}}) for nth in range(1, 10)]
    assert len(notes_of_all(corrupt[:2])) == 2
    assert notes_of_all(corrupt[:4])[0].endswith(". Likewise, with other numbers: run 2; run 3; run 4")
    [line] = notes_of_all(corrupt)
    assert line.startswith("run 1: the device returned wrong data: 1 logical pages corrupt")
    assert line.endswith(". Likewise, with other numbers: 8 more of 9")


def test_variants_with_a_value_in_common_are_named_by_it() -> None:
    every = [f"spare = {spare}, policy = {policy}" for spare in (0.07, 0.28) for policy in ("greedy", "fifo")]
    assert names_of(every[:2], every) == "spare = 0.07"
    assert names_of(every[1::2], every) == "policy = fifo"
    assert names_of(every[:1], every) == every[0]
    assert names_of(every[:3], every) == "; ".join(every[:3])
    assert names_of(["a", "b"], ["a", "b", "c"]) == "a; b"
