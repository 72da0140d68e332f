"""The playground: one page that carries the engine in WebAssembly, built as a hook of the site."""

from __future__ import annotations

import base64
import gzip
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent
_REPOSITORY = _HERE.parents[2]
TARGET = "wasm32-unknown-unknown"


def missing() -> str | None:
    """What this machine lacks to build the engine for browsers, if anything."""
    compiler = os.environ.get("RUSTC", "rustc")
    libraries = subprocess.run(
        [compiler, "--print", "target-libdir", "--target", TARGET], capture_output=True, text=True
    )
    if libraries.returncode or not list(Path(libraries.stdout.strip()).glob("libstd-*.rlib")):
        return f"the Rust target {TARGET}"
    return None if shutil.which("clang") else "clang, for the C code of zstd"


def build_engine() -> Path:
    """Builds the engine and returns the file.

    Raises:
        subprocess.CalledProcessError: Cargo failed; it has said why.
    """
    target = Path(os.environ.get("CARGO_TARGET_DIR", _REPOSITORY / "target")) / "wasm"
    features = ["--no-default-features", "--features", "playground", "--lib", "--crate-type", "cdylib"]
    command = [
        "cargo",
        "rustc",
        "--quiet",
        "--package",
        "pumice-capi",
        "--profile",
        "wasm",
        "--target",
        TARGET,
        *features,
    ]
    subprocess.run(command, cwd=_REPOSITORY, env={**os.environ, "CARGO_TARGET_DIR": str(target)}, check=True)
    return target / TARGET / "wasm" / "pumice_capi.wasm"


def page(engine: Path) -> str:
    """The page with an engine inside."""
    packed = base64.b64encode(gzip.compress(engine.read_bytes(), mtime=0)).decode()
    text = (_HERE / "page.html").read_text(encoding="utf-8")
    return text.replace("/*ENGINE*/", (_HERE / "engine.js").read_text(encoding="utf-8")).replace("/*WASM*/", packed)


def on_files(files: Any, config: Any) -> Any:
    """The site's files with the playground, or with a page that says what it needs."""
    from mkdocs.structure.files import File

    if lacks := missing():
        text = (
            f"<!doctype html><title>pumice</title><p>This site was built without the playground, which needs {lacks}."
        )
        print(f"playground left out: it needs {lacks}")
    else:
        text = page(build_engine())
    files.append(File.generated(config, "playground.html", content=text))
    return files
