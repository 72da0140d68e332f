"""A run with the files that it writes besides its result document."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pumice import _engine, files
from pumice.outputs import FILES, RESULT, one_set
from pumice.runs.snapshots import SnapshotPlaces
from pumice.runs.spec import Spec
from pumice.traces.columnar import Content


def run_to_text(
    spec: Spec,
    progress: Callable[..., Any] | None,
    out: Path | None,
    requests: Content | None = None,
    places: SnapshotPlaces | None = None,
    threads: dict[str, int] | None = None,
) -> str:
    """Runs `spec` and returns the result document as JSON text.

    With `out` the document is also written there, as `result.json`, beside the files that the spec's
    `[output]` asks for; they take the place of what an earlier run left there (see `outputs`). After an
    error or an interruption none of them is there. `requests` are read in place of the spec's trace file. `places`
    are where the run looks for its aged device, `threads` how many threads run it: `{"number": 2}`, or `{"up_to": 2}`
    where several would be exact.

    Raises:
        SpecError: as `pumice.run`; also if files are asked for and `out` is None.
        OSError: a file cannot be written.
    """
    request = spec.request(with_policy=False)
    if places is not None:
        request = places.laid_into(request, _engine)
    if threads is not None:
        request = json.dumps({**json.loads(request), "threads": threads})

    def simulate(sink: Callable[..., Any] | None = None) -> str:
        return _engine.run(request, progress, sink, requests, spec.policy)

    if out is None:
        return simulate()
    resolved = spec.resolve()
    wanted = [key for key in FILES if resolved["config"]["output"][key]]
    facts = {"pumice.config_sha256": resolved["config_sha256"], "pumice.scale": repr(resolved["scale"])}
    with files.output_directory(out), one_set(out, RESULT) as staged:
        text = _with_files(simulate, staged, wanted, facts) if wanted else simulate()
        (staged / RESULT).write_text(text if text.endswith("\n") else f"{text}\n", encoding="utf-8")
    return text


def _with_files(
    simulate: Callable[[Callable[..., Any]], str], directory: Path, wanted: list[str], facts: dict[str, str]
) -> str:
    """Simulates, and writes the files that the run asks for."""
    from pumice.runs.output_writers import Writers  # loaded here: it needs Arrow, which starts slowly

    with Writers(directory, wanted, facts) as writers:
        return simulate(writers.take)
