"""The chip library for C, as `make install` puts it in place: a program built with its pkg-config file, and the example
whose test cuts the power at every operation."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import REPOSITORY

EXAMPLE = REPOSITORY / "examples" / "firmware-test-c"
COMPILER = os.environ.get("CC", "cc")

PROGRAM = r"""
#include <stdio.h>
#include <string.h>
#include <pumice_chip.h>

int main(void)
{
    pumice_chip_options options = PUMICE_CHIP_OPTIONS;
    pumice_chip *chip = NULL;
    char message[200], back[6] = "";
    options.preset = "tiny";
    if (pumice_chip_open(&options, &chip, message, sizeof message) != PUMICE_CHIP_OK)
        return puts(message), 1;
    pumice_chip_program(chip, 3, 0, "hello", 6, NULL, 0);
    pumice_chip_read(chip, 3, 0, back, 6, NULL, 0);
    int again = pumice_chip_program(chip, 3, 0, "again", 6, NULL, 0);
    printf("%s; status %d, %s: %s\n", back, again, pumice_chip_rule(chip), pumice_chip_message(chip));
    pumice_chip_close(&chip);
    return pumice_chip_version() != PUMICE_CHIP_VERSION;
}
"""

SAID = "hello; status 1, erase-before-program: flash rule 'erase-before-program' refuses Program at block 3 page 0\n"


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the library was installed."""
    folder = tmp_path_factory.mktemp("prefix")
    subprocess.run(["make", "install", f"PREFIX={folder}"], cwd=REPOSITORY, check=True, capture_output=True)
    return folder


def flags(prefix: Path, *wanted: str) -> list[str]:
    """What the pkg-config file says, by pkg-config where it is installed."""
    folder = prefix / "lib" / "pkgconfig"
    if shutil.which("pkg-config"):
        environment = {**os.environ, "PKG_CONFIG_PATH": str(folder)}
        command = ["pkg-config", *wanted, "pumice_chip"]
        said = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        return said.stdout.split()
    text = (folder / "pumice_chip.pc").read_text()
    lines = re.findall(r"^(?:Cflags|Libs): (.*)$", text, re.MULTILINE)
    paths = {"${includedir}": str(prefix / "include"), "${libdir}": str(prefix / "lib")}
    found = " ".join(lines)
    for name, path in paths.items():
        found = found.replace(name, path)
    return found.split()


def build(source: Path, program: Path, *more: str) -> None:
    command = [COMPILER, "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-o", str(program), str(source), *more]
    subprocess.run(command, check=True)


def test_a_program_is_built_with_the_flags_of_the_pkg_config_file(prefix: Path, tmp_path: Path) -> None:
    source, program = tmp_path / "hello.c", tmp_path / "hello"
    source.write_text(PROGRAM)
    build(source, program, *flags(prefix, "--cflags", "--libs"), f"-Wl,-rpath,{prefix}/lib")
    assert subprocess.run([program], check=True, capture_output=True, text=True).stdout == SAID


def test_the_static_library_needs_no_other_file(prefix: Path, tmp_path: Path) -> None:
    source, program = tmp_path / "hello.c", tmp_path / "hello"
    source.write_text(PROGRAM)
    private = re.search(r"^Libs.private: (.*)$", (prefix / "lib/pkgconfig/pumice_chip.pc").read_text(), re.MULTILINE)
    assert private is not None
    build(source, program, f"-I{prefix}/include", str(prefix / "lib/libpumice_chip.a"), *private[1].split())
    assert subprocess.run([program], check=True, capture_output=True, text=True).stdout == SAID


def test_the_file_of_pkg_config_has_the_version_of_the_header(prefix: Path) -> None:
    header = (prefix / "include" / "pumice_chip.h").read_text()
    code = re.search(r"#define PUMICE_CHIP_VERSION 0x([0-9a-f]{8})u", header)
    assert code is not None
    major, minor = int(code[1][:4], 16), int(code[1][4:], 16)
    text = (prefix / "lib" / "pkgconfig" / "pumice_chip.pc").read_text()
    assert re.search(r"^Version: (\d+\.\d+)\.\d+$", text, re.MULTILINE)[1] == f"{major}.{minor}"  # type: ignore[index]


def run_example(prefix: Path, out: Path, fault: int) -> subprocess.CompletedProcess[str]:
    sources = [str(EXAMPLE / name) for name in ("store.c", "flash_pumice.c", "test_store.c")]
    options = ["-O2", f"-DSTORE_FAULT={fault}", f"-I{EXAMPLE}", f"-I{prefix}/include"]
    library = [f"-L{prefix}/lib", "-lpumice_chip", f"-Wl,-rpath,{prefix}/lib"]
    build(Path(sources[0]), out / "test_store", *sources[1:], *options, *library)
    return subprocess.run([out / "test_store"], capture_output=True, text=True)


def test_the_example_loses_nothing_wherever_the_power_is_cut(prefix: Path, tmp_path: Path) -> None:
    ended = run_example(prefix, tmp_path, 0)
    assert ended.returncode == 0, ended.stderr
    assert re.fullmatch(r"\d{5} states checked after cuts at each of 175 operations: nothing was lost\n", ended.stdout)


@pytest.mark.parametrize(("fault", "said"), [(1, "is lost"), (2, "is lost"), (3, "unstable-program")])
def test_its_test_notices_each_safeguard_that_is_left_out(prefix: Path, tmp_path: Path, fault: int, said: str) -> None:
    ended = run_example(prefix, tmp_path, fault)
    assert ended.returncode != 0
    assert said in ended.stderr


def test_the_examples_makefile_builds_and_runs_it(prefix: Path, tmp_path: Path) -> None:
    if not shutil.which("pkg-config"):
        return  # the Makefile asks it; without it, the tests above have built the same
    settings = [f"PKG_CONFIG_PATH={prefix}/lib/pkgconfig", f"OUT={tmp_path}"]
    ended = subprocess.run(["make", "-C", str(EXAMPLE), "test", *settings], check=True, capture_output=True, text=True)
    assert "nothing was lost" in ended.stdout
