"""`pumice crash` and `pumice.crash`: the power of a device is cut at many instants of a session, and each is judged."""

from __future__ import annotations

import hashlib
import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pumice
from conftest import built_c_plugin
from pumice.crash_lab import CrashReport, crash, record_session, session_spec

LEDGER = Path(__file__).parents[2] / "examples" / "crash" / "ledger.py"

DEVICE = pumice.preset("tiny").with_(
    ftl={"kind": "page", "recovery": "scan", "over_provisioning": 0.25},
    host={"write_buffer_kib": 256, "flush": "lru"},
    initial={"fill": 0.0},
)

#: A device with less room than the ledger needs.
SMALLER = DEVICE.with_(
    ftl={"over_provisioning": 0.6},
    partial_erase={"unit": "none"},
    geometry={"channels": 1, "planes_per_die": 1, "blocks_per_plane": 16, "pages_per_block": 8},
)

CHECK = f"{shlex.quote(sys.executable)} {shlex.quote(str(LEDGER))} check"


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session of the ledger."""
    session = tmp_path_factory.mktemp("crash") / "ledger.session"
    record_session(DEVICE, f"{shlex.quote(sys.executable)} {shlex.quote(str(LEDGER))} write 150", session)
    return session


def with_header(session: Path, change: Callable[[dict[str, Any]], None], path: Path) -> Path:
    """The session with another header, as somebody else may write it."""
    name, header, body = session.read_bytes().split(b"\n", 2)
    content = json.loads(header)
    change(content)
    path.write_bytes(b"\n".join([name, json.dumps(content).encode(), body]))
    return path


#: A shared object that leaves a file behind wherever it is loaded.
TRAP = """
#include <stdio.h>
__attribute__((constructor)) static void spring(void) { fclose(fopen(MARK, "w")); }
"""


def trap(folder: Path, name: str) -> tuple[Path, Path]:
    """A shared object that leaves a file behind when it is loaded, and that file."""
    source, built, mark = folder / f"{name}.c", folder / f"{name}.so", folder / f"{name}.sprung"
    source.write_text(TRAP)
    defined = f'-DMARK="{mark}"'
    subprocess.run(["cc", "-shared", "-fPIC", defined, "-o", built, source], check=True)
    return built, mark


def test_t960_nothing_that_a_session_names_is_loaded(ledger: Path, tmp_path: Path) -> None:
    """A recording named the plug-ins of its device by paths, and `pumice crash --session` loaded them: whoever could
    send a session could run code. A plug-in is now named by who reads the session, and held against the recorded
    digest before it is loaded."""
    (named, sprung), (other, other_sprung) = trap(tmp_path, "named"), trap(tmp_path, "other")
    digest = hashlib.sha256(named.read_bytes()).hexdigest()

    def name_it(header: dict[str, Any]) -> None:
        header["spec"]["plugins"] = [{"path": str(named), "sha256": digest}]

    session = with_header(ledger, name_it, tmp_path / "hostile.session")
    for given in ([], [other]):
        with pytest.raises(pumice.SpecError, match=f"plug-in of SHA-256 {digest}.*--plugin FILE"):
            crash(session=session, cuts=1, plugins=given)
    assert not sprung.exists()
    assert not other_sprung.exists()
    with pytest.raises(pumice.SpecError, match="exports no function pumice_ftl"):
        crash(session=session, cuts=1, plugins=[named])
    assert sprung.exists(), "the trap works"


def test_a_session_knows_its_plug_in_by_digest_alone(tmp_path: Path) -> None:
    plugin = built_c_plugin(tmp_path)
    spec = pumice.preset("tiny").with_(ftl={"kind": "plugin:page-log-c", "over_provisioning": 0.3})
    session = tmp_path / "own.session"
    record_session(spec.with_plugins(plugin), "true", session)
    assert str(tmp_path).encode() not in session.read_bytes().split(b"\n", 2)[1]
    with pytest.raises(pumice.SpecError, match="was recorded with a plug-in of SHA-256"):
        session_spec(session)
    found = session_spec(session, [plugin])
    assert found.resolve()["plugin_sha256"] == pumice.plugin(plugin).sha256


@pytest.mark.parametrize(
    ("field", "content"),
    [("spec", {}), ("spec", None), ("sets", [["a"]]), ("sets", 3), ("origins", ["a"] * 99), ("plugins", ["x"])],
    ids=str,
)
def test_t961_a_damaged_header_is_one_line(ledger: Path, tmp_path: Path, field: str, content: object) -> None:
    """A header without a field ended in a KeyError."""

    def damage(header: dict[str, Any]) -> None:
        (header if field == "spec" else header["spec"])[field] = content

    session = with_header(ledger, damage, tmp_path / "damaged.session")
    with pytest.raises(OSError, match=r"^[^\n]*damaged.session: its header is damaged: [^\n]*$"):
        crash(session=session, cuts=1)


def failing(**sections: Any) -> pumice.Spec:
    return DEVICE.with_(**sections)


def test_an_honest_device_keeps_every_promise_and_the_ledger_is_whole(ledger: Path) -> None:
    for at in ("random", "promises", "dense"):
        report = crash(session=ledger, cuts=120, at=at, check=CHECK, checks=5)
        document = report.to_dict()
        assert report.is_kept, report.broken[0]
        assert document["cuts"] | {"at": at} == document["cuts"]
        assert document["cuts"]["tried"] == len(report.verdicts) == 120
        assert document["checks"] == {"done": 5, "failed": 0}
        assert [verdict["at_ns"] for verdict in report.verdicts] == sorted({v["at_ns"] for v in report.verdicts})
        # Right behind a promise nothing need be under way.
        assert at != "random" or document["cuts"]["met_something"] > 20


#: What the lab must find of each way to fail.
FAILURES: list[tuple[dict[str, Any], str]] = [
    ({"power": {"failure": "bit-corruption"}}, "corrupt"),
    ({"power": {"failure": "shorn-writes"}}, "shorn"),
    ({"power": {"failure": "flying-writes"}}, "foreign"),
    ({"power": {"failure": "unserializable-writes"}}, "out_of_order"),
    ({"power": {"failure": "metadata-corruption"}}, "lost"),
    ({"power": {"failure": "dead-device"}}, "dead"),
    ({"host": {"flush": "ignored"}}, "lost"),
]


def found(report: CrashReport, kind: str) -> int:
    """Cuts after which this was wrong."""
    document = report.to_dict()
    cuts: int = document["cuts"][kind] if kind in document["cuts"] else document["wrong"][kind]["cuts"]
    return cuts


@pytest.mark.parametrize(("failure", "kind"), FAILURES, ids=lambda value: str(value))
def test_each_failure_of_a_drive_is_found_and_breaks_the_ledger(
    ledger: Path, failure: dict[str, Any], kind: str
) -> None:
    report = crash(failing(**failure), session=ledger, cuts=60, at="promises", check=CHECK, checks=60)
    assert found(report, kind) > 0, report.to_dict()["wrong"]
    # A dead device has no image to be checked.
    assert kind == "dead" or report.to_dict()["checks"]["failed"] > 0


def test_a_workload_brings_no_data_and_is_judged_all_the_same() -> None:
    spec = DEVICE.with_(workload={"kind": "hot-cold", "requests": 200, "flush_every": 9, "fua_fraction": 0.1})
    assert crash(spec, cuts=50).is_kept
    assert found(crash(spec.with_(host={"flush": "ignored"}), cuts=50), "lost") > 0
    with pytest.raises(pumice.SpecError, match="a check needs the data of a session"):
        crash(spec, check="true")


def test_a_cut_is_told_with_the_command_that_repeats_it(ledger: Path, tmp_path: Path) -> None:
    pumice_crash = [sys.executable, "-m", "pumice", "crash", "--session", str(ledger)]
    sets = ["--set", "host.flush=ignored"]
    out = tmp_path / "out"
    done = subprocess.run(
        [*pumice_crash, *sets, "--cuts", "20", "--out", str(out)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    assert "broke a promise" in done.stderr
    assert "promised data is gone" in done.stdout
    first = json.loads((out / "crash.json").read_text())["broken"][0]
    assert first["repeat"] in done.stdout
    words = shlex.split(first["repeat"])
    assert words[:2] == ["pumice", "crash"]
    again = subprocess.run(
        [sys.executable, "-m", "pumice", *words[1:], "--json"], capture_output=True, text=True, check=False
    )
    assert again.returncode == 1
    assert json.loads(again.stdout)["broken"] == [first]
    kept = subprocess.run([*pumice_crash, "--cuts", "20"], capture_output=True, text=True, check=False)
    assert kept.returncode == 0, kept.stderr
    assert "every promise was kept in 20 cuts" in kept.stderr


def test_what_was_tried_is_kept_when_the_work_is_interrupted(ledger: Path) -> None:
    def interrupt(tried: int, wanted: int) -> None:
        assert wanted == 500
        if tried == 30:
            raise KeyboardInterrupt

    report = crash(session=ledger, cuts=500, progress=interrupt)
    assert report.to_dict()["interrupted"]
    assert len(report.verdicts) == 30


def test_what_cannot_be_done_is_refused_in_one_line(ledger: Path, tmp_path: Path) -> None:
    with pytest.raises(pumice.SpecError, match=r"ftl\.recovery = \"off\".*allowed: \"scan\""):
        crash(DEVICE.with_(ftl={"recovery": "off"}), session=ledger)
    with pytest.raises(pumice.SpecError, match=r"request \d+ of the session ends at byte \d+, the device has"):
        crash(SMALLER, session=ledger)
    with pytest.raises(pumice.SpecError, match=r'power\.protection = "full": a fork .* allowed: "none", "operations"'):
        crash(DEVICE.with_(power={"protection": "full"}), session=ledger)
    with pytest.raises(pumice.SpecError, match="at = 'never' is not allowed"):
        crash(session=ledger, at="never")
    other = tmp_path / "other"
    other.write_bytes(ledger.read_bytes()[:-5])
    with pytest.raises(OSError, match="ends in the middle"):
        crash(session=other)
    with pytest.raises(pumice.SimulationError, match="the script ended with status 3"):
        record_session(DEVICE, "exit 3", other)
    with pytest.raises(pumice.SpecError, match="a run keeps no bytes"):
        pumice.run(DEVICE.with_(power={"failure": "shorn-writes"}, workload={"requests": 10}))


def test_a_device_that_misbehaves_is_served_too(tmp_path: Path) -> None:
    with pytest.raises(pumice.SpecError, match="a drive that fails is not kept in a file"):
        pumice.serve(failing(power={"failure": "dead-device"}), store=tmp_path / "store")
    with pumice.serve(failing(power={"failure": "dead-device"})) as device:
        for _ in range(40):
            if device.cut()["is_dead"]:
                break
        else:
            pytest.fail("it never died")
