"""docs/RESULTS.md against real result documents: every field is described, every path exists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import pumice
from pumice import _engine

PAGE = Path(__file__).parents[2] / "docs" / "RESULTS.md"

#: Heads of the first column, and the kind of workload whose runs have the paths below.
HEADS = {
    "Path": None,
    "Path, generators": "uniform",
    "Path, file systems": "pic",
    "Path, twins": "twin",
    "Path, traces": "trace",
}

#: Any request of a trace: time, host, disk, kind, offset, bytes, response time.
RECORDS = "128166372000000000,test,0,{},{},4096,0\n"


#: A generated workload with every part that only some have.
MIXED = {
    "kind": "zipf",
    "arrival": "bursty",
    "request_sizes": [4096, 8192],
    "trim_fraction": 0.2,
    "requests": 100,
}


def rows() -> Iterator[tuple[str | None, str]]:
    """Kind of workload and path of every row."""
    head = None
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cell = line.split("|")[1].strip() if line.startswith("|") else None
        path = re.fullmatch(r"`([^`]+)`", cell or "")
        if cell is None:
            head = None
        elif cell in HEADS:
            head = cell
        elif head is not None and path:
            yield HEADS[head], path[1]
        else:
            assert cell.strip("-") == "", f"a row of docs/RESULTS.md without a path: {line}"


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every path that does not lead to a table, with its value. A list is one value."""
    if isinstance(value, dict):
        for key, content in value.items():
            yield from leaves(content, f"{path}.{key}" if path else key)
    else:
        yield path, value


@cache
def documents() -> dict[str, list[dict[str, Any]]]:
    """Result documents by kind of workload; both merges, because fields of M-Merge are null without it."""
    tiny = pumice.preset("tiny")
    superblock = pumice.preset("superblock-2006-2g").with_(workload={"kind": "hot-cold", "requests": 1000})
    large = pumice.preset("pen-1tb").with_(run={"max_requests": 1000})
    return {
        "uniform": [
            pumice.run(tiny).to_dict(),
            pumice.run(tiny.with_(ftl={"merge": "m-merge"})).to_dict(),
            pumice.run(tiny.with_(workload=MIXED)).to_dict(),
            pumice.run(tiny.with_(workload={"kind": "hot-cold", "requests": 100})).to_dict(),
            pumice.run(superblock).to_dict(),
        ],
        "pic": [pumice.run(large, workload="pic", scale=0.0625).to_dict()],
        "twin": [pumice.run(large, workload="twin:prn_1", scale=0.0625).to_dict()],
    }


@pytest.fixture
def traced(tmp_path: Path) -> dict[str, Any]:
    path = tmp_path / "two.csv"
    path.write_text(RECORDS.format("Write", 0) + RECORDS.format("Read", 0))
    return pumice.run(pumice.preset("tiny").with_(ftl={"merge": "m-merge"}), trace=path).to_dict()


def is_named(path: str, value: Any, named: set[str]) -> bool:
    """A table that is null as a whole is described by the paths inside it."""
    if path in named or any(entry.endswith(".*") and path.startswith(entry[:-1]) for entry in named):
        return True
    return value is None and any(entry.startswith(f"{path}.") for entry in named)


def check(document: dict[str, Any], kind: str) -> None:
    named = {path for of_kind, path in rows() if of_kind in (None, kind)}
    missing = [path for path, value in leaves(document) if not is_named(path, value, named)]
    assert not missing, f"fields of a {kind} run that docs/RESULTS.md does not describe: {missing}"


def test_every_field_is_described() -> None:
    for kind, of_kind in documents().items():
        for document in of_kind:
            check(document, kind)


def test_every_field_of_a_trace_is_described(traced: dict[str, Any]) -> None:
    check(traced, "trace")


def test_every_path_exists(traced: dict[str, Any]) -> None:
    by_kind = documents() | {"trace": [traced]}
    everywhere = [document for of_kind in by_kind.values() for document in of_kind]
    for kind, path in rows():
        found = {leaf for document in by_kind.get(kind or "", everywhere) for leaf, _ in leaves(document)}
        there = any(leaf.startswith(path[:-1]) for leaf in found) if path.endswith(".*") else path in found
        assert there, f"docs/RESULTS.md describes `{path}`, which no {kind or ''} run has"


def test_no_path_is_described_twice() -> None:
    described = list(rows())
    assert len(described) == len(set(described)) > 100


def test_the_configuration_holds_exactly_the_keys_that_can_be_explained() -> None:
    for path, _ in leaves(documents()["uniform"][0]["config"]):
        _engine.explain(path)
