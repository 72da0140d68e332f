"""`make clients` itself: its commands, and what it reads from what clients say."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parent.parent / "clients.py"


@pytest.fixture(scope="module")
def clients() -> ModuleType:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("clients", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_benchmark_of_rocksdb_is_told_where_its_database_is(clients: ModuleType) -> None:
    command = clients.db_bench(Path("/mnt"), "overwrite", "--sync=1")
    assert command[0] == "db_bench"
    assert {"--db=/mnt/rocksdb", "--benchmarks=overwrite", "--num=200000", "--sync=1"} <= set(command)


def test_its_rate_is_read_from_what_it_says(clients: ModuleType) -> None:
    said = "DB path: [/mnt]\n... finished 100 ops\noverwrite    :     545.884 micros/op 1831 ops/sec 10.9 seconds\n"
    assert clients.operations_a_second(said, "overwrite") == 1831
    with pytest.raises(clients.Failure, match="fillseq"):
        clients.operations_a_second(said, "fillseq")


def test_a_client_that_is_not_there_is_said_to_be_missing(clients: ModuleType) -> None:
    absent = clients.Check("absent", ["no-such-program-here"], clients.nbdinfo)
    assert clients.outcome(absent) == ("not installed", "no-such-program-here", "")
