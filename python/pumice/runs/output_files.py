"""A run with the files that it writes besides its result document."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pumice import _engine, files
from pumice.outputs import FILES, RESULT, one_set
from pumice.runs.snapshots import SnapshotPlaces
from pumice.runs.spec import Spec
from pumice.traces.columnar import Content

if TYPE_CHECKING:
    from pumice.policy import Policy


def run_to_text(
    spec: Spec,
    progress: Callable[..., Any] | None,
    out: Path | None,
    requests: Content | None = None,
    places: SnapshotPlaces | None = None,
) -> str:
    """Runs `spec` and returns the result document as JSON text.

    With `out` the document is also written there, as `result.json`, beside the files that the spec's
    `[output]` asks for; they take the place of what an earlier run left there (see `outputs`). After an
    error or an interruption none of them is there. `requests` are read in place of the spec's trace file. `places`
    are where the run looks for its aged device.

    Raises:
        SpecError: as `pumice.run`; also if files are asked for and `out` is None.
        OSError: a file cannot be written.
    """
    request = spec.request(with_policy=False)
    if places is not None:
        request = places.laid_into(request, _engine)
    if out is None:
        return _engine.run(request, progress, None, requests, spec.policy)
    resolved = spec.resolve()
    wanted = [key for key in FILES if resolved["config"]["output"][key]]
    facts = {"pumice.config_sha256": resolved["config_sha256"], "pumice.scale": repr(resolved["scale"])}
    with files.output_directory(out), one_set(out, RESULT) as staged:
        if wanted:
            text = _run_with_files((request, requests, spec.policy), progress, staged, wanted, facts)
        else:
            text = _engine.run(request, progress, None, requests, spec.policy)
        (staged / RESULT).write_text(text if text.endswith("\n") else f"{text}\n", encoding="utf-8")
    return text


def _run_with_files(
    work: tuple[str, Content | None, Policy | None],
    progress: Callable[..., Any] | None,
    directory: Path,
    wanted: list[str],
    facts: dict[str, str],
) -> str:
    """Runs a request, with what replaces its trace file and its policy, and writes the files that it asks for."""
    from pumice.runs.output_writers import Writers  # loaded here: it needs Arrow, which starts slowly

    with Writers(directory, wanted, facts) as writers:
        return _engine.run(work[0], progress, writers.take, work[1], work[2])
