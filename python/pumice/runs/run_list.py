"""The list of the runs of a sweep or of repeated runs: which stored results belong to it, in order."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pumice import files
from pumice.errors import SpecError
from pumice.outputs import RUNS, STORE
from pumice.results.grid_summary import Run
from pumice.results.result import read_result
from pumice.results.stored import read_json
from pumice.runs.jobs import Outcome

#: Format of `runs.json`.
FORMAT = "pumice.runs/1"


@dataclass(frozen=True)
class SweepFile:
    """The file that says which runs a sweep has: its name without folders, and its text."""

    name: str
    text: str


def write(outcomes: Sequence[Outcome], directory: Path, sweep: SweepFile | None = None) -> None:
    """Writes `runs.json`, all of it or nothing: the runs that have a result, and those that failed, with the value of
    each varied key and the seed if runs are repeated, and the sweep file if they are of one."""
    done = [{**_of(o), "result": f"{STORE}/{o.key}.json"} for o in outcomes if o.document is not None]
    failed = [{**_of(o), "error": o.error} for o in outcomes if o.document is None]
    file = {"sweep": asdict(sweep)} if sweep is not None else {}
    content = {"format": FORMAT, **file, "runs": done, "failed": failed}
    files.write_text(directory / RUNS, json.dumps(content, indent=1, default=str) + "\n")


def _of(outcome: Outcome) -> dict[str, Any]:
    job = outcome.job
    return {"label": job.label, "varied": dict(job.varied), "seed": job.seed}


def read(directory: Path) -> list[Run]:
    """The runs that `write` listed, those that failed last.

    Raises:
        SpecError: the list or a result cannot be read, is of another version, or names a file outside the store.
    """
    path = directory / RUNS
    found = read_json(path)
    entries = found.get("runs") if isinstance(found, dict) and found.get("format") == FORMAT else None
    if not isinstance(entries, list):
        raise SpecError(f"{path}: not a list of runs; expected format {FORMAT!r}")
    listed: list[Run] = []
    for entry in entries:
        label, varied = _name(path, entry)
        result = entry.get("result")
        if not isinstance(result, str) or Path(result).parent != Path(STORE):
            raise SpecError(f"{path}: an entry lacks its label or its result in {STORE}/")
        listed.append(Run(label, varied, read_result(directory / result).document))
    failed = found.get("failed", [])
    for entry in failed if isinstance(failed, list) else []:
        listed.append(Run(*_name(path, entry), None, str(entry.get("error"))))
    return listed


def sweep_file(directory: Path) -> SweepFile | None:
    """The sweep file that `write` put into the list; None if there is none.

    Raises:
        SpecError: the list cannot be read.
    """
    found = read_json(directory / RUNS)
    entry = found.get("sweep") if isinstance(found, dict) else None
    if not isinstance(entry, dict) or not all(isinstance(entry.get(key), str) for key in ("name", "text")):
        return None
    return SweepFile(Path(entry["name"]).name, entry["text"])


def _name(path: Path, entry: Any) -> tuple[str, dict[str, Any]]:
    label = entry.get("label") if isinstance(entry, dict) else None
    if not isinstance(label, str):
        raise SpecError(f"{path}: an entry lacks its label or its result in {STORE}/")
    varied = entry.get("varied")
    return label, varied if isinstance(varied, dict) else {}
