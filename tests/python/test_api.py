"""The package: one call a simulation, documented errors, a stub that tells the truth."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import pumice
from conftest import REPOSITORY, write_trace
from pumice import _engine

TINY = pumice.preset("tiny").with_(run={"max_requests": 1000})


def test_a_run_gives_a_result(tmp_path: Path) -> None:
    result = pumice.run(TINY, seed=3)
    assert result.to_dict()["seed"] == 3
    assert result.latency("write")["mean"] > 0
    assert result.latency("trim")["mean"] is None
    with pytest.raises(pumice.SpecError, match="nearest: write"):
        result.latency("wriet")
    result.to_parquet(tmp_path / "one.parquet")
    (row,) = pq.read_table(tmp_path / "one.parquet").to_pylist()
    assert row["host.write.latency_us.mean"] == result.latency("write")["mean"]


def test_the_same_spec_and_seed_give_the_same_document() -> None:
    one, two = pumice.run(TINY).to_dict(), pumice.run(TINY).to_dict()
    assert {**one, "run": None} == {**two, "run": None}
    assert pumice.run(TINY, seed=9).to_dict()["host"] != one["host"]


def test_progress_is_told_and_can_stop_the_run() -> None:
    long = pumice.preset("tiny").with_(workload={"requests": 400_000})
    told: list[tuple[int, float | None, float]] = []
    pumice.run(long, progress=lambda *report: told.append(report))
    requests = [report[0] for report in told]
    assert len(told) > 2
    assert requests == sorted(requests)
    assert all(share is None or 0 <= share <= 1 for _, share, _ in told)
    with pytest.raises(pumice.Interrupted, match="stopped"):
        pumice.run(long, progress=lambda *_: False)


def test_an_error_in_the_progress_function_comes_out() -> None:
    def broken(*_report: object) -> bool:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        pumice.run(pumice.preset("tiny").with_(workload={"requests": 400_000}), progress=broken)


def test_bad_input_raises_the_command_lines_text() -> None:
    with pytest.raises(pumice.SpecError, match="tiny"):
        pumice.preset("tini")
    with pytest.raises(pumice.SpecError, match="preset None is unknown; allowed: "):
        pumice.preset(None)  # type: ignore[arg-type]
    with pytest.raises(pumice.SpecError, match=r"ftl\.merge"):
        TINY.with_(ftl={"mrege": 1})
    with pytest.raises(pumice.SpecError, match=r"ftl\.superblock\.logical"):
        TINY.with_(ftl={"superblock": {"logicl": 4}})
    for key in ("nonsense", "ftl"):
        with pytest.raises(pumice.SpecError, match=f"'{key}'"):
            TINY.with_(**{key: 1})
    assert TINY.with_(preset="tiny", scale=0.5, seed=2).scale == 0.5
    for thing in (3, "tiny", None):
        with pytest.raises(pumice.SpecError, match=r"is not a spec; pumice\.preset\(NAME\)"):
            pumice.run(thing)  # type: ignore[arg-type]
        with pytest.raises(pumice.SpecError, match="is not a spec"):
            pumice.sweep(thing, {"seed": [1]})  # type: ignore[arg-type]
    for argument, told in {
        "preset": r"; the spec is pumice\.preset\(NAME\)",
        "sed": r" \(nearest: seed\)",
        "ftl": r"; Spec\.with_\(SECTION=\{KEY: VALUE\}\) sets keys of the spec",
    }.items():
        with pytest.raises(TypeError, match=rf"run\(\) has no argument '{argument}'{told}$"):
            pumice.run(TINY, **{argument: "tiny"})
    with pytest.raises(pumice.SpecError, match=r"of a dictionary, pumice\.Spec\(\)\.with_\(\*\*DICT\)$"):
        pumice.run({"preset": "tiny"})  # type: ignore[arg-type]
    with pytest.raises(pumice.SpecError, match=r"dict is not a path; .*run\(requests=…\) takes a table$"):
        pumice.run(TINY, trace={"time_us": [0]})  # type: ignore[arg-type]
    with pytest.raises(AttributeError, match=r"no attribute 'waf'; fields are read by value\('waf'\)"):
        pumice.Result({}).waf  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(pumice.TraceError, match="no_such"):
        pumice.run(TINY, trace="no_such.csv")
    with pytest.raises(pumice.SpecError, match="not both"):
        pumice.run(TINY, workload="uniform", trace="x")
    with pytest.raises(pumice.SpecError, match="set"):
        TINY.with_(ftl={"merge": {1, 2}.union()})  # type: ignore[arg-type]
    with pytest.raises(pumice.SpecError):
        pumice.run(TINY, scale=2.0)


def test_a_resolved_spec_holds_every_key() -> None:
    resolved = TINY.with_(seed=5).resolve()
    assert resolved["config"]["seed"] == 5
    assert resolved["config"]["run"]["max_requests"] == 1000
    assert len(resolved["config_sha256"]) == 64


def test_names_are_offered_and_unknown_ones_are_not() -> None:
    assert set(pumice.__all__) <= set(dir(pumice))
    assert all(getattr(pumice, name).__doc__ for name in pumice.__all__)
    assert pumice.__version__ == _engine.version()
    with pytest.raises(AttributeError, match="no_such"):
        pumice.no_such  # noqa: B018


def test_every_name_is_on_the_page_of_the_interface() -> None:
    page = (REPOSITORY / "docs" / "api.md").read_text("utf-8")
    shown = {line.rpartition(".")[2] for line in page.splitlines() if line.startswith("::: ")}
    assert shown >= set(pumice.__all__)


def test_every_workload_and_preset_that_is_listed_can_be_used() -> None:
    zones = {"kind": "zns", "over_provisioning": 0.3, "zns": {"interface": "zones"}}
    for kind in (workload["name"] for workload in pumice.workloads()):
        of_zones = kind.startswith("zone-")
        spec = pumice.preset("tiny").with_(ftl=zones) if of_zones else pumice.preset("pen-1tb")
        spec.with_(workload={"kind": kind}).resolve()
    for name in pumice.presets():
        pumice.preset(name).resolve()


def test_the_stub_names_what_the_engine_has() -> None:
    stub = ast.parse((Path(pumice.__file__).parent / "_engine.pyi").read_text())
    functions = {node.name: node.args for node in stub.body if isinstance(node, ast.FunctionDef)}
    classes = {node.name for node in stub.body if isinstance(node, ast.ClassDef)}
    offered = {name for name in dir(_engine) if not name.startswith("_")}
    assert offered == set(functions) | classes
    for name, arguments in functions.items():
        signature = inspect.signature(getattr(_engine, name))
        assert list(signature.parameters) == [argument.arg for argument in arguments.args], name
        optional = [
            parameter for parameter in signature.parameters.values() if parameter.default is not parameter.empty
        ]
        assert len(optional) == len(arguments.defaults), name


def test_a_result_names_the_preset_that_it_started_from() -> None:
    few = {"run": {"max_requests": 20}}
    assert pumice.run(pumice.preset("tiny").with_(**few)).value("preset") == "tiny"
    text = pumice.Spec(text='preset = "tiny"\n[run]\nmax_requests = 20\n')
    assert pumice.run(text).value("preset") == "tiny"
    assert pumice.run(pumice.Spec(), scale=0.0625, workload="uniform").value("preset") is None


def test_equal_devices_of_two_presets_keep_their_names() -> None:
    """PEN's device with M-Merge is a preset of its own: the results are equal, the names are not."""
    few = {"run": {"max_requests": 100}, "workload": {"kind": "uniform"}}
    merge = pumice.preset("pen-1tb").with_(ftl={"merge": "m-merge"}, scale=0.0625, **few)
    rows = pumice.sweep(merge, {"preset": ["pen-1tb", "pen-1tb-m-merge"]}, workers=1)
    assert rows.column("preset").to_pylist() == ["pen-1tb", "pen-1tb-m-merge"]
    assert len(set(rows.column("config_sha256").to_pylist())) == 1


def test_a_failed_run_keeps_what_was_varied(tmp_path: Path) -> None:
    """The columns `seed` and `preset` of a failed run were empty: the fields of that name covered them."""
    good, bad = write_trace(tmp_path / "good.csv"), write_trace(tmp_path / "bad.csv", broken=True)
    base = pumice.preset("tiny").with_(workload={"kind": "trace"})
    rows = pumice.sweep(base, {"seed, workload.path": [[1, str(good)], [2, str(bad)]]}, workers=1)
    assert rows.column("status").to_pylist() == ["done", "failed"]
    assert rows.column("seed").to_pylist() == [1, 2]
