"""Sweeps: every combination of some keys' values, one Parquet row a run.

A sweep file is a spec with three additions: `scale`, `repeat` and a table `[vary]` of
`"section.key" = [value, …]`.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from pumice.errors import SpecError
from pumice.results import run_table
from pumice.runs.batch import Outcome, Settings, run_jobs
from pumice.runs.grid import Study, flatten
from pumice.runs.spec import Spec, Value, check_spec, read_text

#: What a sweep file holds besides a spec.
SWEEP_KEYS = ("scale", "repeat", "vary")


def sweep(
    base: Spec,
    vary: Mapping[str, Sequence[Value]],
    *,
    workers: int | None = None,
    repeat: int = 1,
    store: str | os.PathLike[str] | None = None,
    resume: bool = False,
    dask: str | None = None,
) -> pa.Table:
    """Runs every combination of `vary` over `base` and returns one row a run.

    Args:
        base: spec of every run; give it a `scale` by `base.with_(scale=0.0625)`.
        vary: values by `section.key`; `preset`, `scale` and `seed` may be varied too.
        workers: processes; None takes one a CPU. The rows do not depend on it.
        repeat: runs of each combination, over consecutive seeds.
        store: directory in which finished runs are kept, or None.
        resume: take runs that `store` already holds from there.
        dask: address of a Dask scheduler such as "tcp://host:8786", whose workers simulate in place
            of processes of this machine. They need the same pumice, and traces under the same paths.

    Returns:
        The varied keys, `run_seed`, `status` ("done" or "failed") and `error`, then the result's
        fields (`run_table.RESULT_FIELDS`, `run_table.JSON_FIELDS`).

    Raises:
        SpecError: an unknown key, nothing that can be run, or no scheduler at `dask`. A combination that is
            refused or a run that fails is a row with its error instead.
        Interrupted: Ctrl-C.
    """
    directory = Path(store) if store is not None else None
    settings = Settings("sweep", workers, directory, resume, dask=dask)
    return outcome_table(run_study(Study(check_spec(base), vary, repeat), settings))


def run_study(study: Study, settings: Settings) -> list[Outcome]:
    """Runs a study; if not a single run can be started, raises the first refusal.

    Raises:
        SpecError: see above.
        Interrupted: Ctrl-C.
    """
    outcomes = run_jobs(study.jobs(), settings)
    raise_if_refused(outcomes)
    return outcomes


def raise_if_refused(outcomes: Sequence[Outcome]) -> None:
    """Raises the first refusal if spec or trace kept every single run from starting.

    Raises:
        SpecError: with that run's one line.
    """
    if all(outcome.error_kind == "usage" for outcome in outcomes):
        raise SpecError(outcomes[0].error)


def outcome_table(outcomes: Sequence[Outcome]) -> pa.Table:
    """Outcomes as a table, one row each, in their order."""
    rows = [run_table.Row(o.job.varied, o.job.seed, o.document, o.error) for o in outcomes]
    return run_table.build(rows)


def read_sweep(path: Path) -> Study:
    """Reads a sweep file.

    Raises:
        SpecError: it is not TOML, or its additions are not as described; keys of the spec are
            checked when it is run.
    """
    text = read_text(path)
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"{path}: not TOML: {error}") from None
    spec = Spec(text=_without_additions(path, text, content), name=str(path))
    if "scale" in content:
        spec = spec.with_(scale=_number(path, "scale", content["scale"]))
    vary = content.get("vary", {})
    if not isinstance(vary, dict):
        raise SpecError(f'{path}: vary is {vary!r}; allowed: a table [vary] of "section.key" = [value, …]')
    return Study(spec, flatten(vary), int(_number(path, "repeat", content.get("repeat", 1))))


def _number(path: Path, key: str, value: Any) -> float:
    whole = key == "repeat"
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        raise SpecError(f"{path}: {key} is {value!r}; allowed: a {'whole ' if whole else ''}number")
    return value


def _without_additions(path: Path, text: str, content: dict[str, Any]) -> str:
    """The spec's own lines; the additions become empty lines, so that line numbers stay true."""
    kept: list[str] = []
    section = ""
    for line in text.splitlines():
        header = re.fullmatch(r"\s*\[\s*([^\[\]]+?)\s*\]\s*(#.*)?", line)
        if header:
            section = header[1].split(".")[0].strip("\"' ")
        addition = section == "vary" or (not section and re.match(r"\s*(scale|repeat)\s*=", line))
        kept.append("" if addition else line)
    spec = "\n".join(kept) + "\n"
    expected = {key: value for key, value in content.items() if key not in SWEEP_KEYS}
    try:
        understood = tomllib.loads(spec) == expected
    except tomllib.TOMLDecodeError:
        understood = False
    if not understood:
        raise SpecError(
            f"{path}: write scale and repeat on lines of their own at the top, and the varied keys as a table [vary]"
        )
    return spec
