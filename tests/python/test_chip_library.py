"""The chip library for C, as `make install` puts it in place: a program built with its pkg-config file, and the example
whose test cuts the power at every operation."""

from __future__ import annotations

import os
import re
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


@pytest.fixture
def flags(chip_prefix: Path, chip_environment: dict[str, str]) -> list[str]:
    """What the pkg-config file says, and where the program finds the library."""
    command = ["pkg-config", "--cflags", "--libs", "pumice_chip"]
    said = subprocess.run(command, env=chip_environment, check=True, capture_output=True, text=True)
    return [*said.stdout.split(), f"-Wl,-rpath,{chip_prefix}/lib"]


def build(source: Path, program: Path, *more: str) -> None:
    command = [COMPILER, "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-o", str(program), str(source), *more]
    subprocess.run(command, check=True)


def test_a_program_is_built_with_the_flags_of_the_pkg_config_file(flags: list[str], tmp_path: Path) -> None:
    source, program = tmp_path / "hello.c", tmp_path / "hello"
    source.write_text(PROGRAM)
    build(source, program, *flags)
    assert subprocess.run([program], check=True, capture_output=True, text=True).stdout == SAID


def test_the_static_library_needs_no_other_file(chip_prefix: Path, tmp_path: Path) -> None:
    source, program = tmp_path / "hello.c", tmp_path / "hello"
    source.write_text(PROGRAM)
    private = re.search(
        r"^Libs.private: (.*)$", (chip_prefix / "lib/pkgconfig/pumice_chip.pc").read_text(), re.MULTILINE
    )
    assert private is not None
    build(source, program, f"-I{chip_prefix}/include", str(chip_prefix / "lib/libpumice_chip.a"), *private[1].split())
    assert subprocess.run([program], check=True, capture_output=True, text=True).stdout == SAID


@pytest.mark.parametrize("library", ["chip", "device"])
def test_the_file_of_pkg_config_has_the_version_of_the_header(chip_prefix: Path, library: str) -> None:
    header = (chip_prefix / "include" / f"pumice_{library}.h").read_text()
    code = re.search(rf"#define PUMICE_{library.upper()}_VERSION 0x([0-9a-f]{{8}})u", header)
    assert code is not None
    major, minor = int(code[1][:4], 16), int(code[1][4:], 16)
    text = (chip_prefix / "lib" / "pkgconfig" / f"pumice_{library}.pc").read_text()
    assert re.search(r"^Version: (\d+\.\d+)\.\d+$", text, re.MULTILINE)[1] == f"{major}.{minor}"  # type: ignore[index]


def run_example(chip_prefix: Path, out: Path, fault: int) -> subprocess.CompletedProcess[str]:
    sources = [str(EXAMPLE / name) for name in ("store.c", "flash_pumice.c", "test_store.c")]
    options = ["-O2", f"-DSTORE_FAULT={fault}", f"-I{EXAMPLE}", f"-I{chip_prefix}/include"]
    library = [f"-L{chip_prefix}/lib", "-lpumice_chip", f"-Wl,-rpath,{chip_prefix}/lib"]
    build(Path(sources[0]), out / "test_store", *sources[1:], *options, *library)
    return subprocess.run([out / "test_store"], capture_output=True, text=True)


def test_the_example_loses_nothing_wherever_the_power_is_cut(chip_prefix: Path, tmp_path: Path) -> None:
    ended = run_example(chip_prefix, tmp_path, 0)
    assert ended.returncode == 0, ended.stderr
    assert re.fullmatch(r"\d{5} states checked after cuts at each of 175 operations: nothing was lost\n", ended.stdout)


@pytest.mark.parametrize(("fault", "said"), [(1, "is lost"), (2, "is lost"), (3, "unstable-program")])
def test_its_test_notices_each_safeguard_that_is_left_out(
    chip_prefix: Path, tmp_path: Path, fault: int, said: str
) -> None:
    ended = run_example(chip_prefix, tmp_path, fault)
    assert ended.returncode != 0
    assert said in ended.stderr


def test_the_examples_makefile_builds_and_runs_it(chip_environment: dict[str, str], tmp_path: Path) -> None:
    command = ["make", "-C", str(EXAMPLE), "test", f"OUT={tmp_path}"]
    ended = subprocess.run(command, env=chip_environment, check=True, capture_output=True, text=True)
    assert "nothing was lost" in ended.stdout


#: The names of littlefs that the glue uses, with the types that littlefs documents for them.
LITTLEFS_HEADER = r"""
#include <stddef.h>
#include <stdint.h>
typedef uint32_t lfs_block_t, lfs_off_t, lfs_size_t;
enum lfs_error { LFS_ERR_OK = 0, LFS_ERR_IO = -5, LFS_ERR_CORRUPT = -84, LFS_ERR_INVAL = -22 };
struct lfs_config {
    void *context;
    int (*read)(const struct lfs_config *, lfs_block_t, lfs_off_t, void *, lfs_size_t);
    int (*prog)(const struct lfs_config *, lfs_block_t, lfs_off_t, const void *, lfs_size_t);
    int (*erase)(const struct lfs_config *, lfs_block_t);
    int (*sync)(const struct lfs_config *);
    lfs_size_t read_size, prog_size, block_size, block_count;
    int32_t block_cycles;
    lfs_size_t cache_size, lookahead_size;
};
"""

#: What littlefs does with a block: erase, program, read; then what it is told of a cut and of a bad block.
LITTLEFS_CALLS = r"""
#include <assert.h>
#include <string.h>
#include "lfs_pumice.h"
int main(void)
{
    static uint8_t written[8192], found[8192];
    pumice_chip_options options = PUMICE_CHIP_OPTIONS;
    pumice_chip *chip = NULL;
    struct lfs_config c;
    options.preset = "tiny";
    assert(pumice_chip_open(&options, &chip, NULL, 0) == PUMICE_CHIP_OK);
    assert(lfs_pumice_config(&c, chip) == LFS_ERR_OK);
    assert(c.block_size == 64 * 4096 && c.block_count == 256 && c.read_size == 4096 && c.lookahead_size % 8 == 0);
    memset(written, 0x5a, sizeof written);
    assert(c.erase(&c, 7) == LFS_ERR_OK && c.prog(&c, 7, 4096, written, 8192) == LFS_ERR_OK);
    assert(c.sync(&c) == LFS_ERR_OK && c.read(&c, 7, 4096, found, 8192) == LFS_ERR_OK);
    assert(memcmp(found, written, 8192) == 0);
    assert(c.read(&c, 7, 0, found, 4096) == LFS_ERR_OK && found[0] == 0xff && found[4095] == 0xff);
    assert(c.prog(&c, 7, 4096, written, 4096) == LFS_ERR_INVAL);
    pumice_chip_cut_after(chip, 0, PUMICE_CHIP_CUT_OLD);
    assert(c.prog(&c, 7, 3 * 4096, written, 4096) == LFS_ERR_IO);
    pumice_chip_power_on(chip);
    assert(c.prog(&c, 7, 3 * 4096, written, 4096) == LFS_ERR_CORRUPT);
    pumice_chip_grow_bad(chip, 8);
    assert(c.erase(&c, 8) == LFS_ERR_CORRUPT && c.prog(&c, 8, 0, written, 4096) == LFS_ERR_CORRUPT);
    pumice_chip_close(&chip);
    return 0;
}
"""


def test_the_glue_for_littlefs_fits_its_interface_and_answers_as_it_expects(flags: list[str], tmp_path: Path) -> None:
    glue = REPOSITORY / "examples" / "littlefs-c"
    (tmp_path / "lfs.h").write_text(LITTLEFS_HEADER)
    (tmp_path / "calls.c").write_text(LITTLEFS_CALLS)
    options = [f"-I{tmp_path}", f"-I{glue}", *flags]
    build(tmp_path / "calls.c", tmp_path / "calls", str(glue / "lfs_pumice.c"), *options)
    subprocess.run([tmp_path / "calls"], check=True)
    assert len((glue / "lfs_pumice.c").read_text().splitlines()) < 150
