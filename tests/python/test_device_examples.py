"""The examples of a drive inside another program: those in C and C++ are built with what `make install` puts in place,
those in Python are imported. The one in Rust is a test of its own crate."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from conftest import REPOSITORY

EXAMPLES = REPOSITORY / "examples" / "device"


def loaded(name: str) -> ModuleType:
    """An example in Python."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def built(name: str, prefix: Path, out: Path, *library: str) -> Path:
    """An example in C or C++, without a warning. `library`: flags of the compiler, and what it is linked with."""
    source, program = EXAMPLES / name, out / Path(name).stem
    compiler, standard = {
        ".c": (os.environ.get("CC", "cc"), "-std=c99"),
        ".cpp": (os.environ.get("CXX", "c++"), "-std=c++17"),
    }[source.suffix]
    flags = [standard, "-O2", "-Wall", "-Wextra", "-pedantic", "-Werror", f"-I{prefix}/include"]
    subprocess.run([compiler, *flags, "-o", str(program), str(source), *library, "-lm"], check=True)
    return program


def said(program: Path) -> str:
    return subprocess.run([program], check=True, capture_output=True, text=True).stdout


@pytest.fixture
def shared(chip_prefix: Path, chip_environment: dict[str, str]) -> list[str]:
    """What the pkg-config file says, and where the program finds the library."""
    command = ["pkg-config", "--libs", "pumice_device"]
    flags = subprocess.run(command, env=chip_environment, check=True, capture_output=True, text=True).stdout
    return [*flags.split(), f"-Wl,-rpath,{chip_prefix}/lib"]


def test_the_histogram_in_c_tells_reads_from_buffered_writes(
    chip_prefix: Path, shared: list[str], tmp_path: Path
) -> None:
    text = said(built("histogram.c", chip_prefix, tmp_path, *shared))
    parts = dict(re.findall(r"^(\w+): (\d+)$", text, re.MULTILINE))
    assert int(parts["reads"]) + int(parts["writes"]) == 20_000
    rows = {}
    for kind, below in re.findall(r"^(\w+): \d+\n((?: .*\n)+)", text, re.MULTILINE):
        found = re.findall(r"below +([\d.]+) us +(\d+) +([\d.]+) %", below)
        assert sum(int(count) for _, count, _ in found) == int(parts[kind])
        assert found[-1][2] == "100.00"
        rows[kind] = [(float(us), int(count)) for us, count, _ in found]
    # Most reads take tR, 70 µs, and some wait for collection; the buffer takes most writes at once.
    usual = {kind: max(found, key=lambda row: row[1])[0] for kind, found in rows.items()}
    assert 70 < usual["reads"] < 280
    assert rows["reads"][-1][0] > 1_000
    assert usual["writes"] < 40


def test_the_static_library_gives_the_same_histogram(chip_prefix: Path, shared: list[str], tmp_path: Path) -> None:
    listed = (chip_prefix / "lib/pkgconfig/pumice_device.pc").read_text()
    private = re.search(r"^Libs.private: (.*)$", listed, re.MULTILINE)
    assert private is not None
    whole = [str(chip_prefix / "lib/libpumice_device.a"), *private[1].split()]
    (tmp_path / "static").mkdir()
    static = said(built("histogram.c", chip_prefix, tmp_path / "static", *whole))
    assert static == said(built("histogram.c", chip_prefix, tmp_path, *shared))


def test_the_port_in_cpp_retries_and_answers_all_requests(chip_prefix: Path, shared: list[str], tmp_path: Path) -> None:
    text = said(built("port.cpp", chip_prefix, tmp_path, *shared))
    found = re.fullmatch(
        r"reads: 500, ([\d.]+) us each\nwrites: 500, ([\d.]+) us each\nretries: (\d+)\nend: ([\d.]+) us\n", text
    )
    assert found is not None, text
    reads, writes, retries, _ = (float(number) for number in found.groups())
    assert writes > reads > 49
    assert retries > 100


@pytest.fixture(scope="session")
def sanitizers(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Flags that let a program find its own errors of memory, undefined behaviour and leaks."""
    flags = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    leaks = tmp_path_factory.mktemp("leaks") / "leaks.c"
    leaks.write_text("#include <stdlib.h>\nint main(void) { return malloc(8) == 0; }\n")
    program = leaks.with_suffix("")
    made = subprocess.run([os.environ.get("CC", "cc"), "-O0", *flags, "-o", program, leaks], capture_output=True)
    if made.returncode != 0:
        pytest.skip("the compiler has no sanitizers")
    if subprocess.run([program], capture_output=True).returncode == 0:
        pytest.skip("leaks are not found here")
    return flags


@pytest.mark.parametrize(("name", "arguments"), [("histogram.c", []), ("port.cpp", []), ("speed.c", ["read", "64000"])])
def test_sanitizers_find_nothing_in_the_examples(
    name: str, arguments: list[str], chip_prefix: Path, shared: list[str], sanitizers: list[str], tmp_path: Path
) -> None:
    program = built(name, chip_prefix, tmp_path, *sanitizers, *shared)
    ended = subprocess.run([program, *arguments], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout


def test_two_hosts_share_a_drive_and_its_queue_builds() -> None:
    two_hosts = loaded("two_hosts")
    latencies, bursts = two_hosts.simulate(400)
    assert max(deepest for *_, deepest in bursts) >= 64
    during = [us for at, us in latencies if any(begin <= at <= end for begin, end, _ in bursts)]
    alone = [us for at, us in latencies if not any(begin <= at <= end for begin, end, _ in bursts)]
    assert len(during) > 20
    assert np.mean(during) > 5 * np.mean(alone)
    assert two_hosts.simulate(100) == two_hosts.simulate(100)


def test_reads_around_drives_that_collect_have_a_shorter_tail() -> None:
    cluster = loaded("cluster")
    plain, around = (cluster.simulate(reads_around, 15_000) for reads_around in (False, True))
    assert len(plain) == len(around) > 14_000
    assert np.quantile(around, 0.99) < 0.1 * np.quantile(plain, 0.99)
    # A drive that answers at once is not avoided: the usual read is as fast.
    assert np.median(around) < 1.1 * np.median(plain)


def test_a_library_exports_its_own_functions_alone(chip_prefix: Path) -> None:
    for library, other in [("chip", "device"), ("device", "chip")]:
        file = next((chip_prefix / "lib").glob(f"libpumice_{library}.so.*"), None)
        if file is None:
            pytest.skip("no ELF here")
        names = subprocess.run(["nm", "-D", "--defined-only", file], check=True, capture_output=True, text=True).stdout
        exported = [line.split()[2] for line in names.splitlines() if "pumice" in line]
        assert len(exported) > 10
        assert all(name.startswith(f"pumice_{library}_") for name in exported), exported
        assert f"pumice_{other}_open" not in names
