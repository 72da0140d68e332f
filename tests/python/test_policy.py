"""Policies of the user's own: functions, classes, compiled functions and shared objects."""

from __future__ import annotations

import ctypes
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pumice

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "policies"
BASE = pumice.preset("tiny").with_(
    ftl={"kind": "page", "merge": "block-erase", "over_provisioning": 0.2},
    workload={"footprint": 1.0, "read_fraction": 0.0, "requests": 10_000},
    initial={"fill": 0.9},
)


def fewest_valid(plane: pumice.policy.Plane) -> int:
    closed = plane.oldest != pumice.policy.NO_BLOCK
    return plane.oldest[closed.argmax()]


def figures(result: pumice.Result) -> dict[str, Any]:
    """A document without what tells a run with a policy from one without."""
    return {**result.to_dict(), "policy": None, "run": None, "warnings": None}


def load_example() -> Any:
    scope: dict[str, Any] = {"__name__": "cost_benefit"}
    path = EXAMPLES / "cost_benefit.py"
    exec(compile(path.read_text(), str(path), "exec"), scope)
    return scope["CostBenefit"]


@pytest.fixture(scope="module")
def shared_object(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("policy") / "cost_benefit.so"
    include = ROOT / "crates" / "capi" / "include"
    source = EXAMPLES / "cost_benefit.c"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-I", include, "-o", out, source], check=True)
    return out


def test_a_function_gives_the_result_of_the_built_in_policy() -> None:
    own = pumice.run(BASE, policy=pumice.policy.victim(fewest_valid))
    built_in = pumice.run(BASE)
    assert built_in.to_dict()["gc"]["copied_pages"] > 1000
    assert figures(own) == figures(built_in)
    policy = own.to_dict()["policy"]
    assert (policy["name"], policy["decides"]) == ("fewest_valid", ["victim"])
    assert len(policy["sha256"]) == 64
    assert built_in.to_dict()["policy"] is None


def test_the_example_in_python_is_short_and_gives_the_built_in_result() -> None:
    assert len((EXAMPLES / "cost_benefit.py").read_text().splitlines()) <= 45
    spec = BASE.with_(ftl={"gc_policy": "cost-benefit"})
    own = pumice.run(spec, policy=pumice.policy.of_class(load_example()))
    assert figures(own) == figures(pumice.run(spec))
    done = subprocess.run([sys.executable, EXAMPLES / "cost_benefit.py"], capture_output=True, text=True, check=True)
    own_line, built_in_line = done.stdout.splitlines()
    assert own_line.split()[1] == built_in_line.split()[2]


def test_after_power_cuts_a_policy_is_made_anew() -> None:
    made = []

    class Mine:
        def __init__(self, device: pumice.policy.Device) -> None:
            made.append(device)
            self.placed = 0

        def victim(self, plane: pumice.policy.Plane) -> int:
            return fewest_valid(plane)

        def placement(self, lpn: int, plane: int, now: int, copied_from: int | None) -> int:
            assert copied_from in (None, 0, 1)
            self.placed += 1
            return self.placed % 2

    spec = BASE.with_(
        ftl={"recovery": "scan", "over_provisioning": 0.4}, power={"cuts": 12}, run={"check": "integrity"}
    )
    first, second = (pumice.run(spec, policy=pumice.policy.of_class(Mine, streams=2)) for _ in range(2))
    assert figures(first) == figures(second)
    power = first.to_dict()["power"]
    assert power["broken_promises"] == 0
    assert len(made) == 2 * (1 + power["cuts"])
    assert len({device.seed for device in made}) == 1


def test_a_shared_object_by_its_path(shared_object: Path) -> None:
    spec = BASE.with_(ftl={"gc_policy": "cost-benefit"})
    own = pumice.run(spec, policy=shared_object)
    assert figures(own) == figures(pumice.run(spec))
    assert own.to_dict()["policy"]["name"] == "cost-benefit in C"


def test_a_function_at_an_address_is_called() -> None:
    u32, u64 = ctypes.c_uint32, ctypes.c_uint64
    columns = (ctypes.c_void_p, u32, ctypes.POINTER(u32), ctypes.POINTER(ctypes.c_double), u32)

    @ctypes.CFUNCTYPE(u32, u32, u64, *columns)
    def greedy(_plane: int, _now: int, _rows: int, _blocks: int, oldest: Any, _age: Any, counts: int) -> int:
        return next(block for block in oldest[:counts] if block != pumice.policy.NO_BLOCK)

    own = pumice.run(BASE, policy=pumice.policy.victim(greedy, name="by address"))
    assert figures(own) == figures(pumice.run(BASE))


def test_a_compiled_function_has_a_state_and_keys() -> None:
    """A class with a state counts in memory of its own what the host writes of each page, by a key of its own."""
    u32, u64 = ctypes.c_uint32, ctypes.c_uint64

    @ctypes.CFUNCTYPE(u32, ctypes.c_void_p, u32, u32, u64, u32)
    def place(state: int, lpn: int, _plane: int, _now: int, copied_from: int) -> int:
        written = (u32 * (lpn + 2)).from_address(state)
        written[lpn + 1] += copied_from == 255
        return int(written[lpn + 1] > written[0])

    class Compiled:
        keys = {"limit": 2}  # noqa: RUF012
        placement = place

        def __init__(self, device: pumice.policy.Device) -> None:
            self.state = np.zeros(device.user_pages + 1, np.uint32)
            self.state[0] = device.keys["limit"]

    class Plain:
        keys = {"limit": 2}  # noqa: RUF012

        def __init__(self, device: pumice.policy.Device) -> None:
            self.limit, self.written = device.keys["limit"], [0] * device.user_pages

        def placement(self, lpn: int, plane: int, now: int, copied_from: int | None) -> int:
            self.written[lpn] += copied_from is None
            return int(self.written[lpn] > self.limit)

    compiled, plain = (pumice.policy.of_class(one, streams=2) for one in (Compiled, Plain))
    found = {}
    for limit in (2, 5):
        spec = BASE.with_(policy={"limit": limit}, workload={"kind": "zipf"})
        found[limit] = pumice.run(spec, policy=compiled)
        assert figures(found[limit]) == figures(pumice.run(spec, policy=plain))
        assert found[limit].to_dict()["config"]["policy"] == {"limit": limit}
    assert found[2].to_dict()["gc"]["copied_pages"] != found[5].to_dict()["gc"]["copied_pages"]
    assert pumice.run(BASE, policy=plain).to_dict()["config"]["policy"] == {"limit": 2}
    with pytest.raises(pumice.SpecError, match=r"nearest valid key: 'policy\.limit'"):
        pumice.run(BASE.with_(policy={"limits": 1}), policy=plain)
    table = pumice.sweep(BASE, {"policy.limit": [2, 5]}, policy=plain)
    assert table["status"].to_pylist() == ["done"] * 2


def test_arrays_are_views_that_cannot_be_written_and_outlive_the_run() -> None:
    kept: list[pumice.policy.Plane] = []

    def keeping(plane: pumice.policy.Plane) -> int:
        if not kept:
            kept.append(plane)
            with pytest.raises(ValueError, match="read-only"):
                plane.valid[0] = 1
        if plane.index == kept[0].index:
            assert plane is kept[0]
        assert plane.valid[plane.closed].min() == (plane.oldest != pumice.policy.NO_BLOCK).argmax()
        opened, ended = plane.opened_at[plane.closed], plane.closed_at[plane.closed]
        assert (opened <= ended).all()
        assert (ended <= plane.changed[plane.closed]).all()
        ages = plane.now - plane.changed[plane.closed] + 1
        assert plane.age.max() == ages.max()
        return fewest_valid(plane)

    pumice.run(BASE, policy=pumice.policy.victim(keeping))
    (plane,) = kept
    kinds = {name: getattr(plane, name).dtype for name in ("valid", "changed", "erases", "stream", "closed", "age")}
    assert kinds == {
        "valid": np.uint16, "changed": np.uint64, "erases": np.uint32, "stream": np.uint8, "closed": bool, "age": float,
    }  # fmt: skip
    assert plane.valid.shape == plane.closed.shape == (64,)
    assert plane.oldest.shape == plane.age.shape == (65,)
    assert plane.erases.sum() > 0, "the memory is still there"


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (lambda plane: 1 / 0, r'policy "mine": ZeroDivisionError: division by zero \(test_policy.py:\d+\)'),
        (lambda plane: None, r'policy "mine": victim returned None; allowed: a whole number, not below zero'),
        (lambda plane: -1, r'policy "mine": victim returned -1; allowed'),
        (
            lambda plane: 64,
            r'policy "mine": victim named block 64 of plane \d, which the plane does not have: it has 64',
        ),
        (
            lambda plane: int(plane.closed.argmin()),
            r'policy "mine": victim named block \d+ of plane \d, which is no cl',
        ),
    ],
)
def test_what_a_policy_does_wrong_is_one_line_with_its_name(answer: Any, text: str) -> None:
    with pytest.raises(pumice.SimulationError, match=text) as caught:
        pumice.run(BASE, policy=pumice.policy.victim(answer, name="mine"))
    assert "\n" not in str(caught.value)


def test_a_policy_that_does_not_return_is_an_error() -> None:
    script = """
import pumice
def endless(plane):
    while True:
        pass
spec = pumice.preset("tiny").with_(ftl={"kind": "page", "over_provisioning": 0.2}, initial={"age_writes": 2.0})
try:
    pumice.run(spec, policy=pumice.policy.victim(endless))
except pumice.SimulationError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == 'policy "endless": a call has not returned for 10 s\n'


def test_other_decisions_are_asked_with_what_they_are_about() -> None:
    seen: dict[str, Any] = {}

    class All:
        def __init__(self, device: pumice.policy.Device) -> None:
            assert device.blocks_per_plane == 64
            assert device.planes == 4

        def placement(self, lpn: int, plane: int, now: int, copied_from: int | None) -> int:
            seen["placement"] = (lpn, plane, now, copied_from)
            return 0 if copied_from is None else 1

        def suspend(self, erase: pumice.policy.Erase) -> bool:
            seen["suspend"] = erase
            return erase.done_ns * 2 > erase.total_ns

        def wear_swap(self, plane: pumice.policy.Plane) -> int | None:
            seen["wear_swap"] = plane
            return None

    spec = BASE.with_(
        erase={"scheme": "ispe", "suspension": "pulse"},
        ftl={"over_provisioning": 0.3},
        host={"read_priority": True, "mode": "open-loop"},
        workload={"read_fraction": 0.5, "mean_interarrival_us": 400.0},
    )
    result = pumice.run(spec, policy=pumice.policy.of_class(All, streams=2)).to_dict()
    assert result["policy"]["decides"] == ["placement", "suspend", "wear_swap"]
    assert seen.keys() == {"placement", "suspend", "wear_swap"}
    assert seen["suspend"].waiting_reads > 0
    assert result["flash"]["suspensions"] > 0


def test_what_is_no_policy_is_refused(tmp_path: Path) -> None:
    text = tmp_path / "text.so"
    text.write_text("no shared object")
    with pytest.raises(pumice.SpecError, match=r"policy .*text.so: is not a shared object"):
        pumice.run(BASE, policy=text)
    with pytest.raises(pumice.SpecError, match="No such file"):
        pumice.run(BASE, policy=tmp_path / "absent.so")
    with pytest.raises(pumice.SpecError, match=r"no file 'greedy'; it is a value of 'ftl\.gc_policy'"):
        pumice.run(BASE, policy="greedy")
    with pytest.raises(pumice.SpecError, match="policy: int is none; allowed: a path"):
        pumice.run(BASE, policy=3)  # type: ignore[arg-type]
    with pytest.raises(pumice.SpecError, match="streams = 9; allowed: 1 to 8"):
        pumice.policy.placement(lambda *_: 0, 9)
    with pytest.raises(pumice.SpecError, match="decides nothing"):
        pumice.policy.of_class(object)
    with pytest.raises(pumice.SpecError, match=r'decides victim: it needs ftl\.kind = "page"'):
        pumice.run(pumice.preset("tiny"), policy=pumice.policy.victim(fewest_valid))


def test_sweeps_carry_a_policy_to_their_workers(shared_object: Path) -> None:
    limit = 3  # a function with something of its surroundings

    def greedy(plane: pumice.policy.Plane) -> int:
        assert limit == 3
        return fewest_valid(plane)

    vary = {"seed": [1, 2]}
    own = pumice.sweep(BASE, vary, workers=2, policy=pumice.policy.victim(greedy)).to_pylist()
    built_in = pumice.sweep(BASE, vary, workers=2).to_pylist()
    assert [row["status"] for row in own] == ["done", "done"]
    assert [row["gc.copied_pages"] for row in own] == [row["gc.copied_pages"] for row in built_in]
    assert [row["policy.name"] for row in own] == ["greedy", "greedy"]
    named = pumice.sweep(BASE, vary, workers=1, policy=shared_object).to_pylist()
    assert {row["policy.name"] for row in named} == {"cost-benefit in C"}


def test_a_stored_result_is_that_of_its_policy(tmp_path: Path) -> None:
    def table(**options: Any) -> list[Any]:
        rows = pumice.sweep(BASE, {"seed": [1]}, workers=1, store=tmp_path, resume=True, **options).to_pylist()
        return [row["policy.name"] for row in rows]

    assert table() == [None]
    assert table(policy=pumice.policy.victim(fewest_valid)) == ["fewest_valid"]
    assert table() == [None]


def test_the_command_takes_a_shared_object(shared_object: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pumice"]
    sets = ["--preset", "tiny", "--set", "ftl.kind=page", "--set", "ftl.over_provisioning=0.2"]
    run = [*command, "run", *sets, "--policy", shared_object]
    done = subprocess.run([*run, "--json"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["policy"]["name"] == "cost-benefit in C"
    compare = [*command, "compare", *sets, "--vary", "seed=1,2", "--policy", shared_object]
    assert "ratio" in subprocess.run(compare, capture_output=True, text=True, check=True).stdout
    sweep = tmp_path / "own.toml"
    sweep.write_text('preset = "tiny"\n[ftl]\nkind = "page"\nover_provisioning = 0.2\n[vary]\n"seed" = [1]\n')
    subprocess.run([*command, "sweep", sweep, "--policy", shared_object, "--out", tmp_path / "out"], check=True)
    refused = subprocess.run([*command, "run", *sets, "--policy", tmp_path], capture_output=True, text=True)
    assert refused.returncode == 2
    assert len(refused.stderr.splitlines()) == 1


def test_the_python_of_the_page_runs(tmp_path: Path) -> None:
    """The function and the class; the class goes on from the spec of the function."""
    page = (ROOT / "docs" / "POLICIES.md").read_text("utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert "class MyPolicy" in blocks[1]
    (tmp_path / "mine.py").write_text("\n".join(blocks[:2]))
    done = subprocess.run(
        [sys.executable, "mine.py"], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=100
    )
    assert len(done.stdout.splitlines()) == 4
