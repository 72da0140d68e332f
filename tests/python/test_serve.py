"""`pumice serve` and `pumice.serve`: a device that clients read and write, and the result that it leaves."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import pumice
from conftest import Command
from nbd_client import FLUSH, WRITE_ZEROES, Client, NbdError
from pumice import cli

TINY = pumice.preset("tiny").with_(ftl={"kind": "page"})


def exercise(address: str, writes: int = 300) -> None:
    """Writes, reads back and flushes."""
    draw = random.Random(1)
    with Client(address) as client:
        for _ in range(writes):
            offset, data = draw.randrange(0, client.size // 8192) * 4096, draw.randbytes(4096)
            client.write(offset, data)
            assert client.read(offset, 4096) == data
        client.ask(FLUSH)


def test_a_device_is_served_while_its_block_lasts(tmp_path: Path) -> None:
    with pumice.serve(TINY) as device:
        path = Path(device.address.removeprefix("unix:"))
        assert path.is_socket()
        assert device.uri == f"nbd+unix:///?socket={path}"
        exercise(device.address)
        so_far = device.result().to_dict()
        assert so_far["host"]["write"]["requests"] == 300
        exercise(device.address)
    assert not path.parent.exists()
    document = device.result().to_dict()
    assert document["host"]["write"]["requests"] == 600
    assert document["host"]["flush"]["requests"] == 2
    assert document["flash"]["programs"]["host"] == 600
    assert document["preset"] == "tiny"
    assert document["workload"]["format"] == "nbd"
    assert device.stop() == device.result()


def test_a_port_of_this_machine_is_served_too() -> None:
    with pumice.serve(TINY, listen="tcp:127.0.0.1:0") as device:
        assert re.fullmatch(r"nbd://127\.0\.0\.1:\d+", device.uri)
        exercise(device.address, 10)


def test_a_record_replays_to_the_same_result(tmp_path: Path) -> None:
    record = tmp_path / "session.csv"
    spec = TINY.with_(host={"write_buffer_kib": 64, "partial_page": "rmw"})
    with pumice.serve(spec, record=record) as device:
        exercise(device.address)
        with Client(device.address) as client:
            client.write(512, b"x" * 512, fua=True)
            client.ask(WRITE_ZEROES, 8192, 65536)
    served, replayed = device.stop().to_dict(), pumice.run(spec, trace=record).to_dict()
    for document in (served, replayed):
        document.pop("run")
    served["warnings"] = [line for line in served["warnings"] if "partial_page" not in line]
    assert served == replayed


def test_by_the_walls_clock_replies_wait_and_a_record_replays(tmp_path: Path) -> None:
    record = tmp_path / "session.csv"
    spec = TINY.with_(host={"partial_page": "rmw"}, timing={"t_prog_us": 2000.0})
    with pumice.serve(spec, record=record, clock="real") as device:
        started = time.monotonic()
        exercise(device.address, 40)
        assert time.monotonic() - started >= 40 * 2e-3
        lateness = device.status()["lateness"]
        assert lateness["replies"] == 81
        assert lateness["mean_latency_us"] > 1000
    assert device.lateness is not None
    assert device.lateness["max_us"] >= device.lateness["p50_us"] > 0
    served, replayed = device.stop().to_dict(), pumice.run(spec, trace=record).to_dict()
    for document in (served, replayed):
        document.pop("run")
    served["warnings"] = [line for line in served["warnings"] if "partial_page" not in line]
    assert served == replayed
    with pumice.serve(TINY) as steady:
        assert steady.lateness is None
    with pytest.raises(pumice.SpecError, match="allowed: virtual, real"):
        pumice.serve(TINY, clock="sundial")
    with pytest.raises(pumice.SpecError, match="allowed: --clock virtual"):
        pumice.serve(TINY, clock="real", session=tmp_path / "session")


@pytest.mark.parametrize("address", ["/tmp/x", "tcp:10809", "tcp:example.org:1"])
def test_addresses_that_cannot_be_served_are_refused(address: str) -> None:
    with pytest.raises(pumice.SpecError, match=r"allowed: unix:PATH or tcp:127\.0\.0\.1:PORT"):
        pumice.serve(TINY, listen=address)


def test_an_address_in_use_is_refused_and_its_user_goes_on() -> None:
    with pumice.serve(TINY) as device:
        with pytest.raises(OSError, match="nbd: Address already in use"):
            pumice.serve(TINY, listen=device.address)
        exercise(device.address, 3)


def test_a_block_that_fails_keeps_its_own_error() -> None:
    with pytest.raises(KeyError, match="mine"), pumice.serve(TINY):
        raise KeyError("mine")


def test_keys_that_serving_settles_are_told() -> None:
    with pumice.serve(TINY.with_(host={"mode": "closed-loop"})) as device:
        pass
    assert "host.mode has no effect: a served device settles it" in device.result().to_dict()["warnings"]


def test_a_store_keeps_what_was_written(tmp_path: Path) -> None:
    store = tmp_path / "ssd"
    with pumice.serve(TINY, store=store) as device, Client(device.address) as client:
        client.write(4096, b"kept" * 1024)
    with pumice.serve(TINY, store=store) as device, Client(device.address) as client:
        assert client.read(4096, 4096) == b"kept" * 1024
    assert device.result().to_dict()["host"]["write"]["requests"] == 1, "the result is that of the device's life"
    with pytest.raises(OSError, match="holds a device of another spec"):
        pumice.serve(TINY.with_(ftl={"gc_policy": "fifo"}), store=store)


@pytest.mark.parametrize("unit", [{}, {"map_unit_bytes": 1024}], ids=["pages", "units"])
def test_what_was_written_is_there_after_a_power_cut(tmp_path: Path, unit: dict) -> None:
    ftl = {"recovery": "scan", "over_provisioning": 0.25, **unit}
    spec = TINY.with_(ftl=ftl, timing={"copyback": False})
    record = tmp_path / "session.csv"
    with pumice.serve(spec, record=record) as device:
        with Client(device.address) as client:
            client.write(0, b"kept" * 1024)
            cut = device.cut()
            assert cut["cuts"] == 1
            assert cut["recovery_us"] > 0
            with pytest.raises(OSError, match=r".*"):
                client.read(0, 512)
        with Client(device.address) as client:
            assert client.read(0, 4096) == b"kept" * 1024
    served = device.stop().to_dict()
    trims = {"trims": served["config"]["workload"]["trims"]}
    keys = {"power": served["config"]["power"], "host": {"partial_page": "rmw"}, "workload": trims}
    replayed = pumice.run(spec.with_(**keys), trace=record).to_dict()
    assert served["power"]["cuts"] == 1
    for document in (served, replayed):
        document.pop("run")
    assert served == replayed
    with pumice.serve(TINY) as steady, pytest.raises(pumice.SimulationError, match=r"ftl\.recovery"):
        steady.cut()


def test_the_control_socket_is_asked_by_the_command(tmp_path: Path, command: Command) -> None:
    address = f"unix:{tmp_path / 'control'}"
    with pumice.serve(TINY, control=address) as device:
        exercise(device.address, 5)
        asked, own = json.loads(command("ctl", address, "status").stdout), device.status()
        assert asked.pop("connections")["open"] == 1, "the question came over a connection too"
        assert own.pop("connections")["open"] == 0
        assert asked == own
        assert asked["requests"] == 11
        assert json.loads(command("ctl", address, "result").stdout)["host"]["write"]["requests"] == 5
        assert not device.is_over
        assert command("ctl", address, "stop").returncode == 0
        assert device.is_over
    gone = command("ctl", address, "status")
    assert gone.returncode == 2
    assert f"is a device served with --control {address}?" in gone.stderr


def test_a_block_fails_by_order(tmp_path: Path, command: Command) -> None:
    address = f"unix:{tmp_path / 'control'}"
    with pumice.serve(TINY.with_(partial_erase={"unit": "none"}), control=address) as device:
        assert device.fault(3)["block"] == 3
        assert json.loads(command("ctl", address, "fault", "4").stdout)["block"] == 4
        with pytest.raises(pumice.SimulationError, match="block 4 is bad, or its next erase fails already"):
            device.fault(4)
        for wrong in (["fault"], ["fault", "x"], ["status", "4"]):
            asked = command("ctl", address, *wrong)
            assert (asked.returncode, len(asked.stderr.splitlines())) == (2, 1), asked.stderr
        exercise(device.address)


def test_a_device_is_aged_and_keeps_what_it_holds(tmp_path: Path, command: Command) -> None:
    address = f"unix:{tmp_path / 'control'}"
    spec = TINY.with_(erase={"scheme": "aero"})
    by_spec = spec.with_(erase={"initial_pec": 1000}, initial={"age_writes": 0.5})
    with pumice.serve(by_spec) as expected:
        exercise(expected.address)
    with pumice.serve(spec, control=address) as device:
        aged = device.age(pec=1000, writes=0.5)
        assert (aged["pec"], aged["writes"], aged["at_s"]) == (1000, 0.5, 0)
        assert aged["mean_pec"] >= 1000
        exercise(device.address)
        so_far = device.result().to_dict()
        with Client(device.address) as client:
            client.write(0, b"kept" * 1024)
            told = command("ctl", address, "age", "pec=10", "writes=0.25")
            assert json.loads(told.stdout)["writes"] == 0.25, told.stderr
            assert client.read(0, 4096) == b"kept" * 1024, "the connection lives"
        refused = [["age"], ["age", "pec=x"], ["age", "pec=1", "pec=2"], ["age", "writes=nan"], ["age", "wear=1"]]
        for wrong, status in [*((wrong, 2) for wrong in refused), (["age", "writes=11"], 1)]:
            asked = command("ctl", address, *wrong)
            assert (asked.returncode, len(asked.stderr.splitlines())) == (status, 1), asked.stderr
        with pytest.raises(pumice.SimulationError, match="age nothing"):
            device.age()
    by_spec_too = expected.result().to_dict()
    assert so_far["host"] == by_spec_too["host"]
    assert so_far["wear"] == by_spec_too["wear"]
    assert device.result().to_dict()["host"]["write"]["requests"] == 0, "measuring began again"


def test_a_device_goes_back_to_a_snapshot(tmp_path: Path, command: Command) -> None:
    address = f"unix:{tmp_path / 'control'}"
    with pumice.serve(TINY) as straight:
        exercise(straight.address)
    with pumice.serve(TINY, control=address) as device:
        kept = device.snapshot("new")
        assert (kept["name"], kept["requests"]) == ("new", 0)
        with Client(device.address) as client:
            client.write(0, b"gone" * 1024)
            assert json.loads(command("ctl", address, "restore", "new").stdout) == kept
            with pytest.raises(OSError, match=r".*"):
                client.read(0, 512)
        with Client(device.address) as client:
            assert client.read(0, 512) == bytes(512)
        assert device.restore("new") == kept
        assert device.status()["snapshots"] == [kept]
        exercise(device.address)
        assert command("ctl", address, "snapshot", "later").returncode == 0
        assert command("ctl", address, "forget", "later").returncode == 0
        device.forget("new")
        for wrong, status in ((["restore"], 2), (["cut", "new"], 2), (["restore", "new"], 1), (["snapshot", "a b"], 1)):
            asked = command("ctl", address, *wrong)
            assert (asked.returncode, len(asked.stderr.splitlines())) == (status, 1), asked.stderr
        with pytest.raises(pumice.SimulationError, match="there is none"):
            device.restore("new")
    one, other = (served.result().to_dict() for served in (straight, device))
    for document in (one, other):
        document.pop("run")
    assert one == other


@pytest.mark.parametrize("address", ["tcp:example.org:1", "control", "unix:", "tcp:99999"])
def test_a_question_goes_to_an_address_that_a_device_can_have(command: Command, address: str) -> None:
    asked = command("ctl", address, "status")
    assert (asked.returncode, len(asked.stderr.splitlines())) == (2, 1), asked.stderr
    assert "allowed: unix:PATH or tcp:127.0.0.1:PORT" in asked.stderr


def serve_command(folder: Path, *arguments: str, ready: int) -> subprocess.Popen[str]:
    """Starts the command; it writes to the descriptor `ready` when clients can connect."""
    command = [sys.executable, "-m", "pumice", "serve", "--listen", "unix:nbd", *arguments, "--ready-fd", str(ready)]
    return subprocess.Popen(
        command,
        cwd=folder,
        pass_fds=[ready],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_the_command_says_how_late_replies_were(tmp_path: Path) -> None:
    read, write = os.pipe()
    arguments = ["--preset", "tiny", "--set", "ftl.kind=page", "--clock", "real", "--json"]
    with serve_command(tmp_path, *arguments, ready=write) as served:
        os.close(write)
        with os.fdopen(read) as ready:
            assert ready.read() == "nbd+unix:///?socket=nbd\n"
        exercise(f"unix:{tmp_path / 'nbd'}", 5)
        served.send_signal(signal.SIGINT)
        text, said = served.communicate(timeout=60)
    assert (served.returncode, json.loads(text)["host"]["write"]["requests"]) == (0, 5)
    assert "lateness of 11 replies: mean " in said


def test_ctrl_c_is_heard_while_the_device_is_made(tmp_path: Path) -> None:
    read, write = os.pipe()
    arguments = ["--preset", "tiny", "--set", "ftl.kind=page", "--set", "initial.age_writes=1000"]
    arguments += ["--set", "geometry.blocks_per_plane=1024"]
    with serve_command(tmp_path, *arguments, ready=write) as served:
        os.close(write)
        # Its ageing would take minutes. The socket is there before it begins.
        deadline = time.monotonic() + 60
        while not (tmp_path / "nbd").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        started = time.monotonic()
        served.send_signal(signal.SIGINT)
        served.communicate(timeout=60)
        assert time.monotonic() - started < 15
    assert served.returncode == 130
    os.close(read)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_ends_with_a_result_when_it_is_told_to(tmp_path: Path, number: signal.Signals) -> None:
    read, write = os.pipe()
    arguments = [
        "serve",
        "--preset",
        "tiny",
        "--set",
        "ftl.kind=page",
        "--listen",
        "unix:nbd",
        "--json",
        "--out",
        "out",
    ]
    command = [sys.executable, "-m", "pumice", *arguments, "--ready-fd", str(write)]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        pass_fds=[write],
        stdout=subprocess.PIPE,
        text=True,
    ) as served:
        os.close(write)
        with os.fdopen(read) as ready:
            assert ready.read() == "nbd+unix:///?socket=nbd\n"
        exercise(f"unix:{tmp_path / 'nbd'}", 20)
        served.send_signal(number)
        text, _ = served.communicate(timeout=60)
    assert served.returncode == 0
    document = json.loads(text)
    assert document["host"]["write"]["requests"] == 20
    assert json.loads((tmp_path / "out" / "result.json").read_text()) == document
    assert not (tmp_path / "nbd").exists()


def test_no_signal_interrupts_the_putting_away(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    """Only a second Ctrl-C was ignored: SIGTERM and a closed terminal still took the result away."""
    numbers = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    handlers = {number: signal.getsignal(number) for number in numbers}
    heard: list[object] = []

    class Device:
        capacity_bytes, uri = 512, "nbd://here"

        @property
        def is_over(self) -> bool:
            raise KeyboardInterrupt

        def stop(self) -> None:
            heard.extend(map(signal.getsignal, numbers))
            raise pumice.SimulationError("put away")

    monkeypatch.setattr("pumice.cli.serve_command.serve", lambda *_given, **_named: Device())
    try:
        assert cli.run(["serve", "--preset", "tiny", "--listen", "unix:here"]) == 1
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    assert heard == [signal.SIG_IGN] * 3
    assert "put away" in capsys.readouterr().err


def test_a_request_beyond_the_end_is_an_error_for_the_client_alone() -> None:
    with pumice.serve(TINY) as device, Client(device.address) as client:
        with pytest.raises(NbdError, match="28"):
            client.write(client.size, b"x" * 512)
        client.write(0, b"y" * 512)
        assert client.read(0, 1024) == b"y" * 512 + bytes(512)


@pytest.mark.skipif(shutil.which("qemu-io") is None, reason="qemu-io is not installed")
def test_qemu_writes_and_reads_patterns() -> None:
    with pumice.serve(TINY) as device:
        asked = ["write -P 0x5a 1M 64k", "read -P 0x5a 1M 64k", "write -f -P 3 512 512", "write -z 1M 32k", "flush"]
        asked += ["read -P 0 1M 32k", "read -P 0x5a 1056k 32k", "discard 1M 64k", "read -P 3 512 512"]
        commands = [part for one in asked for part in ("-c", one)]
        done = subprocess.run(["qemu-io", "-f", "raw", *commands, device.uri], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
