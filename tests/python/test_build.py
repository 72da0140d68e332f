"""The build with profile-guided optimisation, as far as it can be tested without building."""

from __future__ import annotations

import re
import subprocess

from conftest import REPOSITORY


def test_a_toolchain_without_llvm_profdata_is_told_what_it_lacks() -> None:
    profile = REPOSITORY / "target" / "pgo" / "merged.profdata"
    command = ["make", "--no-print-directory", "PGO=1", "PROFDATA=", "-W", "benches/training.py", str(profile)]
    found = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=60)
    assert found.returncode != 0
    assert found.stdout.splitlines()[-1].startswith(
        "make: PGO=1 needs llvm-profdata of the Rust toolchain: rustup component"
    )


def test_the_plain_build_knows_no_profile() -> None:
    plain = subprocess.run(
        ["make", "--no-print-directory", "-n", "-B", "build"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=60,
    )
    guided = subprocess.run(
        ["make", "--no-print-directory", "-n", "-B", "dist", "PGO=1"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (plain.returncode, guided.returncode) == (0, 0)
    assert "pgo" not in plain.stdout
    assert re.search(r"maturin build --release --sdist --target \S+ --target-dir target/pgo/optimised", guided.stdout)
