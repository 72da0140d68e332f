"""Translation layers of the user's own in shared objects: runs, comparisons, sweeps, keys, and what goes wrong."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import pumice
from conftest import REPOSITORY, Command, built_c_plugin

FENCE = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)

BASE = pumice.preset("tiny").with_(
    ftl={"merge": "block-erase", "over_provisioning": 0.2},
    workload={"footprint": 1.0, "requests": 5_000},
    initial={"fill": 0.9},
)


def test_a_plug_in_runs_and_the_result_says_which(rust_plugin: Path) -> None:
    spec = BASE.with_(ftl={"kind": "plugin:page-log", "page-log": {"reserve": 3}})
    document = pumice.run(spec, plugins=[rust_plugin]).to_dict()
    plugin = pumice.plugin(rust_plugin)
    assert document["plugin"] == {"name": "page-log", "sha256": plugin.sha256, "counts": None}
    assert document["config"]["ftl"]["page-log"] == {"reserve": 3}
    assert document["gc"]["copied_pages"] > 100
    assert [(key.path, key.default) for key in plugin.keys] == [("ftl.page-log.reserve", 2)]
    assert document == {**pumice.run(spec.with_plugins(plugin)).to_dict(), "run": document["run"]}
    assert pumice.run(BASE).to_dict()["plugin"] is None


def test_a_plug_in_is_a_value_of_a_sweep(rust_plugin: Path, tmp_path: Path) -> None:
    vary = {"ftl.kind": ["page", "plugin:page-log"], "ftl.page-log.reserve": [2, 5]}
    table = pumice.sweep(BASE, vary, plugins=[rust_plugin], workers=2, store=tmp_path).to_pylist()
    assert [row["status"] for row in table] == ["done"] * 4, [row["error"] for row in table]
    assert table[0]["gc.copied_pages"] == table[1]["gc.copied_pages"], "the other layer does not read it"
    assert table[2]["gc.copied_pages"] != table[3]["gc.copied_pages"]
    again = pumice.sweep(BASE, vary, plugins=[rust_plugin], workers=2, store=tmp_path, resume=True).to_pylist()
    assert again == table


def test_a_stored_result_is_of_one_file_of_a_plug_in(rust_plugin: Path, c_plugin: Path, tmp_path: Path) -> None:
    from pumice import _engine
    from pumice.runs.store import result_key

    copy = tmp_path / "copy.so"
    copy.write_bytes(rust_plugin.read_bytes() + b"\0")
    spec = BASE.with_(ftl={"kind": "plugin:page-log"})
    resolved = [spec.with_plugins(path).resolve() for path in (rust_plugin, copy)]
    assert resolved[0]["config_sha256"] == resolved[1]["config_sha256"]
    assert result_key(_engine, resolved[0]) != result_key(_engine, resolved[1])
    both = spec.with_plugins(rust_plugin, c_plugin).resolve()
    assert result_key(_engine, both) == result_key(_engine, resolved[0]), "a plug-in that does not run changes nothing"


def test_a_file_that_changed_since_it_was_loaded_is_refused(rust_plugin: Path, tmp_path: Path) -> None:
    copy = tmp_path / "changing.so"
    shutil.copy(rust_plugin, copy)
    pumice.plugin(copy)
    with copy.open("ab") as file:
        file.write(b"\0")
    with pytest.raises(pumice.SpecError, match="has changed since this process loaded it"):
        pumice.plugin(copy)


def test_keys_of_a_plug_in_may_be_set_before_it_is_given(rust_plugin: Path) -> None:
    spec = BASE.with_(ftl={"page-log": {"reserv": 3}})
    with pytest.raises(pumice.SpecError, match=r"unknown key 'ftl\.page-log\.reserv'"):
        spec.resolve()
    with pytest.raises(pumice.SpecError, match=r"nearest valid key: 'ftl\.page-log\.reserve'"):
        spec.with_plugins(rust_plugin).resolve()
    with pytest.raises(pumice.SpecError, match=r"nearest valid key: 'ftl\.page-log\.reserve'"):
        BASE.with_plugins(rust_plugin).with_(ftl={"page-log": {"reserv": 3}})
    with pytest.raises(pumice.SpecError, match="nearest valid key"):
        BASE.with_(ftl={"superblock": {"logicl": 3}})
    with pytest.raises(pumice.SpecError, match="plugins: int is not a list of paths"):
        BASE.with_plugins(3)  # type: ignore[arg-type]


def test_the_command_line_takes_plug_ins(command: Command, rust_plugin: Path, c_plugin: Path, tmp_path: Path) -> None:
    given = ["--plugin", str(rust_plugin), "--plugin", str(c_plugin)]
    sets = ["--set", "ftl.over_provisioning=0.2", "--set", "workload.requests=3000"]
    done = command(
        "compare",
        "--preset",
        "tiny",
        *given,
        *sets,
        "--json",
        "--vary",
        "ftl.kind=page,plugin:page-log,plugin:page-log-c",
    )
    assert done.returncode == 0, done.stderr
    told = command("explain", "ftl.page-log-c.reserve", *given, "--json")
    assert json.loads(told.stdout)["source"] == 'plug-in "page-log-c"'
    schema = json.loads(command("schema", *given).stdout)
    assert "page-log" in schema["properties"]["ftl"]["properties"]
    listed = command("explain", "--search", "page-log reserve", *given)
    assert "ftl.page-log.reserve" in listed.stdout
    sweep = tmp_path / "own.toml"
    kinds = '"ftl.kind" = ["plugin:page-log", "plugin:page-log-c"]'
    device = 'preset = "tiny"\n[workload]\nrequests = 500\n[ftl]\nover_provisioning = 0.2\n'
    sweep.write_text(f"{device}[vary]\n{kinds}\n")
    done = command("sweep", str(sweep), *given, "--out", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("settings", "status", "line"),
    [
        (["ftl.faulty.fault=write"], 1, 'pumice: plug-in "faulty": write failed: panicked: write 1 of page 0 (lib.rs:'),
        (["ftl.faulty.fault=loop"], 1, 'pumice: plug-in "faulty": write failed: panicked: more than 131072 commands'),
        (["ftl.faulty.fault=capacity"], 2, 'pumice: plug-in "faulty": capacity failed: panicked: no capacity in two'),
        (["ftl.faulty.fault=else"], 2, 'pumice: --set: ftl.faulty.fault = "else" is not allowed; allowed: "nowhere"'),
        (["ftl.recovery=scan"], 2, 'pumice: ftl.recovery = "scan" needs ftl.kind = '),
    ],
)  # fmt: skip
def test_a_faulty_plug_in_ends_the_command_with_one_line(
    command: Command, faulty_plugin: Path, settings: list[str], status: int, line: str
) -> None:
    sets = [part for setting in settings for part in ("--set", setting)]
    done = command("run", "--preset", "tiny", "--plugin", str(faulty_plugin), "--set", "ftl.kind=plugin:faulty", *sets)
    assert done.returncode == status
    assert done.stderr.startswith(line), done.stderr
    assert done.stderr.count("\n") == 1, done.stderr


def broken(folder: Path, at_write: str) -> Path:
    """A plug-in that does this at its hundredth write."""
    built = folder / "broken.so"
    source = REPOSITORY / "crates" / "capi" / "tests" / "ftl" / "broken.c"
    include = REPOSITORY / "crates" / "capi" / "include"
    flags = ["-shared", "-fPIC", f"-I{include}", f"-DAT_WRITE={at_write}"]
    subprocess.run(["cc", *flags, "-o", built, source], check=True)
    return built


#: A device that the broken plug-in fills once.
BROKEN = [
    *("--preset", "tiny", "--plugin", "broken.so", "--set", "ftl.kind=plugin:broken"),
    *("--set", "initial.fill=0.0", "--set", "workload.requests=200"),
]


@pytest.mark.parametrize(
    ("at_write", "how"),
    [
        ("exit(0)", "ended with status 0"),
        ("_Exit(0)", "ended with status 0"),
        ("exit(5)", "ended with status 5"),
        ("abort()", "was killed by signal 6 (SIGABRT)"),
        ("raise(SIGSEGV)", "was killed by signal 11 (SIGSEGV)"),
    ],
)
def test_t964_a_plug_in_that_ends_the_process_is_no_success(
    process: Command, tmp_path: Path, at_write: str, how: str
) -> None:
    """`exit(0)` in a plug-in ended `pumice run` with status 0 and without a word."""
    broken(tmp_path, at_write)
    done = process("run", *BROKEN, "--json")
    assert (done.returncode, done.stdout) == (3, "")
    said = f"pumice: the process {how} before the command was done; it ran code of your own: broken.so\n"
    assert done.stderr == said
    done = process("compare", *BROKEN, "--vary", "seed=1,2", "--workers", "2")
    assert done.returncode == 1
    assert f"the worker process {how}" in done.stderr


def test_t965_what_a_plug_in_prints_does_not_spoil_the_answer(process: Command, tmp_path: Path) -> None:
    """A `printf` in a plug-in came out in the middle of the JSON of `--json`."""
    broken(tmp_path, 'puts("of the plug-in")')
    done = process("run", *BROKEN, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["plugin"]["name"] == "broken"
    assert "of the plug-in" in done.stderr


def test_t977_a_comparison_says_when_layers_do_not_keep_the_same_reserve(
    command: Command, c_plugin: Path, tmp_path: Path
) -> None:
    """A plug-in that gave the host fewer pages copied less than a built-in layer, and nothing said why."""
    greedy = altered(tmp_path, "double all = ", "double all = 0.625 * ")
    given = ["--preset", "tiny", "--set", "ftl.over_provisioning=0.2", "--set", "workload.requests=500"]
    vary = ["--vary", "ftl.kind=page,plugin:page-log-c"]
    said = command("compare", *given, *vary, "--plugin", str(greedy)).stdout
    line = "note: the layers do not keep the same reserve: spare pages over all pages are "
    [told] = [one for one in said.splitlines() if one.startswith(line)]
    assert " 50.0 % under " in told, told
    assert line not in command("compare", *given, *vary, "--plugin", str(c_plugin)).stdout


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_a_signal_reaches_a_command_with_a_plug_in(tmp_path: Path, number: int, status: int) -> None:
    broken(tmp_path, "for (;;)")
    arguments = [sys.executable, "-m", "pumice", "run", *BROKEN, "--out", "out"]
    with subprocess.Popen(arguments, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as begun:
        children = Path(f"/proc/{begun.pid}/task/{begun.pid}/children")
        deadline = time.monotonic() + 60
        while not (tmp_path / "out").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.5)
        [child] = children.read_text().split()
        begun.send_signal(number)
        assert begun.wait(timeout=30) == status
        assert begun.stderr is not None
        assert begun.stderr.read().count("\n") == (number != signal.SIGKILL)
    while Path(f"/proc/{child}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path(f"/proc/{child}").exists(), "it has not outlived its parent"


def test_a_plug_in_loses_power_and_keeps_its_promises(rust_plugin: Path) -> None:
    spec = BASE.with_(
        ftl={"kind": "plugin:page-log", "recovery": "scan"}, power={"cuts": 5}, run={"check": "integrity"}
    )
    power = pumice.run(spec, plugins=[rust_plugin]).to_dict()["power"]
    assert (power["cuts"], power["broken_promises"]) == (5, 0)
    assert power["recovery_us"]["mean"] > 0
    with pytest.raises(pumice.SpecError, match=r"power\.cuts needs ftl\.recovery = \"scan\", found"):
        spec.with_(ftl={"recovery": "off"}).with_plugins(rust_plugin).resolve()


def test_what_is_no_plug_in_is_bad_usage(command: Command, tmp_path: Path) -> None:
    text = tmp_path / "text.so"
    text.write_text("no shared object")
    for path, expected in ((text, "is not a shared object"), (tmp_path / "none.so", "No such file")):
        done = command("run", "--preset", "tiny", "--plugin", str(path))
        assert done.returncode == 2
        assert expected in done.stderr
        assert done.stderr.count("\n") == 1, done.stderr


def test_a_call_that_does_not_return_ends_the_run(faulty_plugin: Path) -> None:
    spec = BASE.with_(ftl={"kind": "plugin:faulty", "faulty": {"fault": "hang"}})
    with pytest.raises(pumice.SimulationError, match='plug-in "faulty": a call has not returned for 10 s'):
        pumice.run(spec, plugins=[faulty_plugin])


def test_conform_says_what_holds(command: Command, c_plugin: Path) -> None:
    done = command("conform", str(c_plugin))
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert sum(line.startswith("holds ") for line in lines) > 14
    assert lines[-1] == "holds    power cuts: promises kept, no last copy erased (no copyback)"


def test_conform_cuts_no_power_without_a_recovery(command: Command, c_plugin: Path, tmp_path: Path) -> None:
    out = altered(tmp_path, ", .recover = recover", "", "static void *recover(", "void *recover(")
    done = command("conform", str(out))
    assert done.returncode == 0, done.stdout + done.stderr
    last = done.stdout.splitlines()[-1]
    assert last == "not run  power cuts: promises kept, no last copy erased: the layer declares no recovery"
    assert "needs a device that never loses power" in command("plugins", str(out)).stdout


def test_conform_prints_a_cut_that_breaks_a_promise_as_a_run_to_type(command: Command, tmp_path: Path) -> None:
    out = altered(tmp_path, "area[page].programmed > 0 &&", "0 &&")
    done = command("conform", str(out))
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    at = next(nth for nth, line in enumerate(lines) if line.startswith("FAILS    power cuts"))
    ended = command("run", "--plugin", str(out), *shlex.split(lines[at + 2]))
    assert ended.returncode == 1
    assert ended.stderr == f"pumice: {lines[at + 1].strip()}\n"


def altered(folder: Path, *changes: str) -> Path:
    """The shared object of the example in C, in which every second text replaces the one before it."""
    text = (REPOSITORY / "examples" / "own-ftl-c" / "own_ftl.c").read_text()
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        assert old in text
        text = text.replace(old, new)
    (folder / "altered.c").write_text(text)
    include, out = REPOSITORY / "crates" / "capi" / "include", folder / "altered.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-I", include, "-o", out, folder / "altered.c"], check=True)
    return out


def test_conform_shows_the_shortest_requests_that_fail(command: Command, tmp_path: Path) -> None:
    out = altered(tmp_path, "page < (victim + 1) * pages; page++", "page + 1 < (victim + 1) * pages; page++")
    done = command("conform", str(out))
    assert done.returncode == 1
    assert re.fullmatch(r'pumice: plug-in "page-log-c": \d+ of \d+ checks failed\n', done.stderr)
    shown = [line for line in done.stdout.splitlines() if "shortest requests on the empty device:" in line]
    assert 0 < shown[0].count("write ") < 60
    verdicts = json.loads(command("conform", str(out), "--json").stdout)
    # Nothing is said of requests where a failure has none.
    assert len(shown) == sum(one["length"] > 0 for one in verdicts) > 0
    failed = next(one for one in verdicts if one["requests"])
    assert failed["holds"] is False
    assert failed["length"] == len(failed["requests"])
    assert ["ftl.kind", "plugin:page-log-c"] in failed["sets"]


def test_a_suite_of_which_nothing_could_be_run_is_no_success(command: Command, tmp_path: Path) -> None:
    """A layer that takes no device at all was "not run" thirteen times, with status 0."""
    capi = REPOSITORY / "crates" / "capi"
    out, source = tmp_path / "refusing.so", capi / "tests" / "ftl" / "broken.c"
    given = ["-DCAPACITY=0", "-I", capi / "include"]
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", *given, "-o", out, source], check=True)
    done = command("conform", str(out))
    assert done.returncode == 1
    assert all(line.startswith("not run ") for line in done.stdout.splitlines())
    assert done.stderr == 'pumice: plug-in "broken": no check could be run\n'


def test_plugins_shows_what_a_file_holds(command: Command, rust_plugin: Path) -> None:
    shown = command("plugins", str(rust_plugin)).stdout
    assert 'ftl.kind = "plugin:page-log"; needs erases that do not fail; recovers after power cuts' in shown
    assert "ftl.page-log.reserve" in shown
    told = json.loads(command("plugins", str(rust_plugin), "--json").stdout)
    assert [key["key"] for key in told["keys"]] == ["ftl.page-log.reserve"]
    assert command("plugins", "none.so").returncode == 2


def test_the_page_can_be_followed_as_it_is_printed(plugins_target: Path, tmp_path: Path) -> None:
    page = (REPOSITORY / "docs" / "OWN-FTL.md").read_text("utf-8")
    folder = tmp_path / "own-ftl"
    folder.mkdir()
    # What the crate depends on is compiled once for all tests, in the versions of the example.
    (folder / "target").symlink_to(plugins_target)
    shutil.copy(REPOSITORY / "examples" / "own-ftl-rust" / "Cargo.lock", folder)
    said, followed, place = "", 0, tmp_path
    for kind, name, text in FENCE.findall(page):
        if name:
            (place / name).write_text(text)
        elif kind == "text":
            assert said.endswith(text), said
            followed += 1
        elif kind == "sh":
            path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
            environment = {**os.environ, "PATH": path, "PUMICE": str(REPOSITORY)}
            ended = subprocess.run(["sh", "-e", "-c", text], cwd=place, env=environment, capture_output=True, text=True)
            assert ended.returncode == 0, ended.stderr
            said, place = ended.stdout, folder
    assert followed == 6


def built(folder: Path, target: Path, library: str) -> Path:
    command = ["cargo", "build", "--release", "--locked", "--quiet", "--target-dir", str(target)]
    subprocess.run(command, cwd=folder, check=True)
    return target / "release" / f"lib{library}.so"


@pytest.fixture(scope="module")
def plugins_target() -> Path:
    """The folder that the Rust tests build plug-ins in too."""
    return REPOSITORY / "target" / "tmp" / "plugins"


@pytest.fixture(scope="module")
def rust_plugin(plugins_target: Path) -> Path:
    return built(REPOSITORY / "examples" / "own-ftl-rust", plugins_target, "own_ftl")


@pytest.fixture(scope="module")
def faulty_plugin(plugins_target: Path) -> Path:
    return built(REPOSITORY / "crates" / "capi" / "tests" / "ftl" / "faulty", plugins_target, "faulty")


@pytest.fixture(scope="module")
def c_plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_c_plugin(tmp_path_factory.mktemp("own-ftl-c"))
