"""The build with profile-guided optimisation, and the source distribution, as far as they can be tested without
building."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

from conftest import REPOSITORY


def test_a_build_is_guided_by_a_profile_only_where_it_is_asked_for() -> None:
    def told(*asked: str) -> list[str]:
        command = ["make", "--no-print-directory", "-n", "-B", *asked]
        made = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=60, check=True)
        return re.findall(r"maturin build .*", made.stdout)

    for asked in ("build", "dist"):
        (plain,), (guided,) = told(asked), told(asked, "PGO=1")
        assert ("--pgo" in plain, "--pgo" in guided) == (False, True)


def test_what_a_guided_build_runs_is_there() -> None:
    told = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["maturin"]["pgo-command"]
    interpreter, *files = told.split()
    assert interpreter == "python"
    assert files == ["benches/training.py"]
    assert (REPOSITORY / files[0]).is_file()


#: What the wheel and the interfaces for C are built from, and what a reader of the sources must have.
IN_THE_DISTRIBUTION = (
    "Cargo.lock", "Cargo.toml", "LICENSE", "README.md", "pyproject.toml", "presets/**/*.toml", "crates/*/Cargo.toml",
    "crates/*/src/**/*.rs", "crates/*/data/**/*", "crates/capi/include/*.h", "crates/capi/*.pc.in",
    "python/pumice/**/*.py", "python/pumice/**/*.pyi", "benches/training.py", "examples/traces/office.csv.gz",
)  # fmt: skip


def test_the_source_distribution_holds_what_it_is_built_from(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "maturin", "sdist", "--out", str(tmp_path)]
    made = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=120)
    assert made.returncode == 0, made.stderr
    (path,) = tmp_path.glob("pumice-*.tar.gz")
    with tarfile.open(path) as archive:
        archive.extractall(tmp_path, filter="data")
    (unpacked,) = (folder for folder in tmp_path.iterdir() if folder.is_dir())
    expected = [file for pattern in IN_THE_DISTRIBUTION for file in REPOSITORY.glob(pattern) if file.is_file()]
    for name in ("pumice_chip.h", "pumice_ftl.h", "pumice_policy.h"):
        assert REPOSITORY / "crates" / "capi" / "include" / name in expected
    assert len(expected) > 500, "patterns that match nothing would check nothing"
    held = {file.relative_to(unpacked) for file in unpacked.rglob("*") if file.is_file()}
    missing = sorted({str(file.relative_to(REPOSITORY)) for file in expected} - {str(file) for file in held})
    assert missing == []
    assert [file for file in held if file.suffix in {".so", ".pyc", ".whl"} or "target" in file.parts] == []
    # Every crate that a manifest names is there.
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--offline"]
    told = subprocess.run(command, cwd=unpacked, capture_output=True, text=True, timeout=120)
    assert told.returncode == 0, told.stderr
