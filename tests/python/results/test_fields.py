"""The table of result fields against real documents, and docs/RESULTS.md against the table."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import pumice
from conftest import REPOSITORY, built_c_plugin
from pumice import _engine
from pumice.results.comparison import METRICS
from pumice.results.document import leaves
from pumice.results.fields import Field, fields, names_below, with_lists
from pumice.results.stored import SECTIONS

PAGE = REPOSITORY / "docs" / "RESULTS.md"

#: Kinds of workload in the table, and the workload whose runs here have their fields.
WORKLOADS = {"": None, "generators": "uniform", "file systems": "pic", "twins": "twin", "traces": "trace"}


#: A generated workload with every part that only some have.
MIXED = {
    "kind": "zipf",
    "arrival": "bursty",
    "request_sizes": [4096, 8192],
    "trim_fraction": 0.2,
    "requests": 100,
}


def rows() -> Iterator[tuple[str | None, str]]:
    """Kind of workload and path of every field."""
    return ((WORKLOADS[field.workloads], field.path) for field in fields())


#: Jobs on zones whose requests have fields of their own.
ZONE_JOBS = ("zone-append", "zone-reset", "zone-finish")


@cache
def documents() -> dict[str, list[dict[str, Any]]]:
    """Result documents by kind of workload; both merges, because fields of M-Merge are null without it."""
    tiny = pumice.preset("tiny")
    superblock = pumice.preset("superblock-2006-2g").with_(workload={"kind": "hot-cold", "requests": 1000})
    recovers = {"kind": "page", "over_provisioning": 0.3, "recovery": "scan"}
    cut = tiny.with_(ftl=recovers, power={"cut_at_s": [0.05], "protection": "operations"})
    levels = {"kind": "page", "over_provisioning": 0.3, "wear_leveling": "static"}
    wears = {"scheme": "ispe", "worn_blocks": "retired-by-errors"}
    own = pumice.policy.victim(lambda plane: plane.oldest[(plane.age > 0).argmax()], name="any")
    logged = tiny.with_(ftl={"kind": "plugin:page-log-c", "over_provisioning": 0.3})
    with tempfile.TemporaryDirectory() as folder:
        of_plugin = pumice.run(logged, plugins=[built_c_plugin(Path(folder))])
    large = pumice.preset("pen-1tb").with_(run={"max_requests": 1000})
    return {
        "uniform": [
            pumice.run(tiny).to_dict(),
            pumice.run(tiny.with_(ftl={"merge": "m-merge"})).to_dict(),
            pumice.run(tiny.with_(workload=MIXED)).to_dict(),
            pumice.run(tiny.with_(workload={"kind": "hot-cold", "requests": 100})).to_dict(),
            pumice.run(superblock).to_dict(),
            pumice.run(cut).to_dict(),
            pumice.run(tiny.with_(ftl=levels, workload={"flush_every": 10, "fua_fraction": 0.1})).to_dict(),
            pumice.run(tiny.with_(ftl={"kind": "zns", "over_provisioning": 0.6, "zns": {"finish_at": 0.7}})).to_dict(),
            pumice.run(tiny.with_(ftl={"kind": "page", "over_provisioning": 0.3}), policy=own).to_dict(),
            of_plugin.to_dict(),
            pumice.run(tiny.with_(ftl={"kind": "page", "over_provisioning": 0.3}, erase=wears)).to_dict(),
            pumice.run(tiny.with_(ftl={"kind": "page", "over_provisioning": 0.4, "handles": 2})).to_dict(),
            pumice.run(tiny.with_(run={"until": "mean ± 10 %"})).to_dict(),
        ],
        "pic": [pumice.run(large, workload="pic", scale=0.0625).to_dict()],
        "twin": [pumice.run(large, workload="twin:prn_1", scale=0.0625).to_dict()],
    }


@cache
def of_jobs() -> list[dict[str, Any]]:
    """Results of jobs on zones, of flows, and of a map by units."""
    of_zones = pumice.preset("tiny").with_(ftl={"kind": "zns", "over_provisioning": 0.3, "zns": {"interface": "zones"}})
    jobs = [of_zones.with_(workload={"kind": kind, "requests": 3000}) for kind in ZONE_JOBS]
    flows = pumice.preset("tiny").with_sets(
        [("workload.flow.0.kind", "uniform"), ("workload.flow.1.kind", "zipf")], "test"
    )
    units = {"kind": "page", "over_provisioning": 0.3, "map_unit_bytes": 4096}
    mapped = pumice.preset("tiny").with_(ftl=units, timing={"copyback": False}, geometry={"page_bytes": 16384})
    return [pumice.run(spec).to_dict() for spec in (*jobs, flows, mapped)]


@pytest.fixture
def traced(tmp_path: Path) -> dict[str, Any]:
    path = tmp_path / "two.csv"
    path.write_text("time_ns,op,offset_bytes,size_bytes\n0,W,0,4096\n5,R,0,4096\n")
    return pumice.run(pumice.preset("tiny").with_(ftl={"merge": "m-merge"}), trace=path).to_dict()


def is_named(path: str, value: Any, named: set[str]) -> bool:
    """A table that is null as a whole is described by the paths inside it."""
    if path in named or any(entry.endswith(".*") and path.startswith(entry[:-1]) for entry in named):
        return True
    return value is None and any(entry.startswith(f"{path}.") for entry in named)


def check(document: dict[str, Any], kind: str) -> None:
    named = {path for of_kind, path in rows() if of_kind in (None, kind)}
    missing = [path for path, value in leaves(document) if not is_named(path, value, named)]
    assert not missing, f"fields of a {kind} run that the table of fields does not describe: {missing}"


def test_every_field_is_described() -> None:
    for kind, of_kind in documents().items():
        for document in of_kind:
            check(document, kind)


def test_every_field_of_a_trace_is_described(traced: dict[str, Any]) -> None:
    check(traced, "trace")


def test_every_path_exists(traced: dict[str, Any]) -> None:
    by_kind = documents() | {"trace": [traced]}
    everywhere = [document for of_kind in by_kind.values() for document in of_kind] + of_jobs()
    for kind, path in rows():
        found = {leaf for document in by_kind.get(kind or "", everywhere) for leaf, _ in leaves(document)}
        # A table whose names its run chooses ends in `.*`.
        there = path in found or (path.endswith(".*") and any(leaf.startswith(path[:-1]) for leaf in found))
        assert there, f"the table of fields describes `{path}`, which no {kind or ''} run has"


def test_no_path_is_described_twice() -> None:
    described = list(rows())
    assert len(described) == len(set(described)) > 100


def test_the_lists_of_the_page_are_those_of_the_table() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert with_lists(page) == page, "run: python -m pumice.results.fields docs/RESULTS.md"
    torn = page.replace("- `host.iops`,", "- `host.ipos`,", 1)
    assert with_lists(torn) == page


def test_a_page_without_a_section_is_refused() -> None:
    page = PAGE.read_text(encoding="utf-8")
    without = "\n".join(line for line in page.splitlines() if not line.startswith("- `integrity."))
    with pytest.raises(ValueError, match=r"without a list in docs/RESULTS\.md: integrity\.pages_checked, "):
        with_lists(without)


#: Type in the table → types of a value in Python.
TYPES: dict[str, tuple[type, ...]] = {
    "text": (str,), "integer": (int,), "number": (int, float), "truth value": (bool,), "list": (list,),
}  # fmt: skip


def test_every_value_has_the_type_of_its_field(traced: dict[str, Any]) -> None:
    known: dict[str, Field] = {field.path: field for field in fields() if field.type != "table"}
    every = [document for of_kind in documents().values() for document in of_kind]
    for document in [*every, traced]:
        for path, value in leaves(document):
            if path in known and value is not None:
                assert isinstance(value, TYPES[known[path].type]), (path, value)


def test_what_is_listed_elsewhere_is_in_the_table() -> None:
    assert [metric.unit for metric in METRICS][:1] == ["µs"]  # looks its path up, as every metric does
    assert {metric.path for metric in METRICS} <= {field.path for field in fields()}
    assert {*SECTIONS} <= {field.path.partition(".")[0] for field in fields()}
    for kind in ("read", "write", "trim"):
        assert names_below(f"host.{kind}.latency_us") == names_below("host.write.latency_us")


def test_the_configuration_holds_exactly_the_keys_that_can_be_explained() -> None:
    for path, _ in leaves(documents()["uniform"][0]["config"]):
        _engine.explain(path)
