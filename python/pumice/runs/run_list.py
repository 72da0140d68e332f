"""The list of the runs of a sweep or of repeated runs: which stored results belong to it, in order."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from pumice import files
from pumice.errors import SpecError
from pumice.outputs import RUNS, STORE
from pumice.results.result import read_json
from pumice.runs.jobs import Outcome

#: Format of `runs.json`.
FORMAT = "pumice.runs/1"


def write(outcomes: Sequence[Outcome], directory: Path) -> None:
    """Writes `runs.json`, all of it or nothing. Runs that failed have no result and are not in it."""
    done = [{"label": o.job.label, "result": f"{STORE}/{o.key}.json"} for o in outcomes if o.document is not None]
    files.write_text(directory / RUNS, json.dumps({"format": FORMAT, "runs": done}, indent=1) + "\n")


def read(directory: Path) -> list[tuple[str, Path]]:
    """Label and result file of every run that `write` listed.

    Raises:
        SpecError: the list cannot be read, is of another version, or names a file outside the store.
    """
    path = directory / RUNS
    found = read_json(path)
    entries = found.get("runs") if isinstance(found, dict) and found.get("format") == FORMAT else None
    if not isinstance(entries, list):
        raise SpecError(f"{path}: not a list of runs; expected format {FORMAT!r}")
    listed: list[tuple[str, Path]] = []
    for entry in entries:
        label, result = (entry.get("label"), entry.get("result")) if isinstance(entry, dict) else (None, None)
        if not isinstance(label, str) or not isinstance(result, str) or Path(result).parent != Path(STORE):
            raise SpecError(f"{path}: an entry lacks its label or its result in {STORE}/")
        listed.append((label, directory / result))
    return listed
