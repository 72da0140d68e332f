"""Files that a run writes besides its result document.

The files that the keys of `[output]` ask for are written to one directory under fixed names. Every
file is there completely or not at all: it is written under another name and renamed when the run has
ended well.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pumice import _engine, files
from pumice.runs.spec import Spec

#: Name of the file that each key of `[output]` asks for.
FILES = {
    "request_log": "request_log.parquet",
    "command_log": "command_log.bin.zst",
    "histograms": "latency.hlog",
    "wear_map": "wear_map.npy",
}


def run_to_text(spec: Spec, progress: Callable[..., Any] | None, out: Path | None) -> str:
    """Runs `spec` and returns the result document as JSON text.

    With `out` the document is also written there, as `result.json`, beside the files that the spec's
    `[output]` asks for. After an error or an interruption none of them is there.

    Raises:
        SpecError: as `pumice.run`; also if files are asked for and `out` is None.
        OSError: a file cannot be written.
    """
    request = spec.request()
    if out is None:
        return _engine.run(request, progress)
    resolved = spec.resolve()
    wanted = [key for key in FILES if resolved["config"]["output"][key]]
    facts = {"pumice.config_sha256": resolved["config_sha256"], "pumice.scale": repr(resolved["scale"])}
    files.prepare(out)
    from pumice.runs.output_writers import Writers  # loaded here: it needs Arrow, which starts slowly

    with Writers(out, wanted, facts) as writers:
        text = _engine.run(request, progress, writers.take)
    files.write_text(out / "result.json", text if text.endswith("\n") else f"{text}\n")
    return text
