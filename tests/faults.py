"""Writes the faults in recovery of crates/engine/tests/engine/recovery_faults.toml into a copy of the sources, where a
test switches one on at a time, and runs the tests that have to notice them: `make faults`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
TABLE = "crates/engine/tests/engine/recovery_faults.toml"
COPY = ROOT / "target" / "faulty"
#: What the engine and its tests are made of.
COPIED = ["Cargo.toml", "Cargo.lock", "crates", "presets"]
TESTS = "cargo test -p pumice-engine --test engine -- --ignored"


def faulty_sources() -> dict[str, str]:
    """The files with faults, by their names."""
    texts: dict[str, str] = {}
    for name, fault in tomllib.loads((ROOT / TABLE).read_text()).items():
        for file, old, new in fault["edits"]:
            path = f"crates/{file}"
            text = texts.get(path) or (ROOT / path).read_text()
            if text.count(old) != 1:
                sys.exit(f"{TABLE}: {name}: {path} must have once: {old}")
            texts[path] = text.replace(old, new.replace("FAULT", f'pumice_types::fault::is_on("{name}")'))
    return texts


def main() -> int:
    faulty = faulty_sources()
    listed = subprocess.run(["git", "ls-files", "-z", *COPIED], cwd=ROOT, capture_output=True, text=True, check=True)
    names = [name for name in listed.stdout.split("\0") if name]
    for gone in {file for file in COPY.glob("crates/**/*") if file.is_file()} - {COPY / name for name in names}:
        gone.unlink()
    for name in names:
        content = faulty[name].encode() if name in faulty else (ROOT / name).read_bytes()
        file = COPY / name
        # Files that are as they were are not compiled again.
        if not file.exists() or file.read_bytes() != content:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
    # A folder of its own: cargo takes packages at the same place in two workspaces for the same one.
    environment = {**os.environ, "CARGO_TARGET_DIR": str(COPY / "target")}
    return subprocess.run(TESTS.split(), cwd=COPY, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
