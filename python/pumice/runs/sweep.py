"""Sweeps: every combination of some keys' values, one Parquet row a run.

A sweep file is a spec with three additions: `scale`, `repeat` and a table `[vary]` of
`"section.key" = [value, …]`.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pumice import files
from pumice.errors import SpecError, in_python_words, one_line
from pumice.runs.batch import Settings, run_jobs
from pumice.runs.fit import fit_jobs
from pumice.runs.grid import Grid, flatten
from pumice.runs.jobs import Outcome
from pumice.runs.spec import Spec, check_spec, folder_of, read_text
from pumice.runs.values import Value
from pumice.text import printable

if TYPE_CHECKING:
    import pyarrow as pa

    from pumice.plugins import Plugin
    from pumice.policy import Policy

#: What a sweep file holds besides a spec.
SWEEP_KEYS = ("scale", "repeat", "vary")


@in_python_words
def sweep(
    base: Spec,
    vary: Mapping[str, Sequence[Value]],
    *,
    requests: Any = None,
    columns: str | None = None,
    workers: int | None = None,
    repeat: int = 1,
    store: str | os.PathLike[str] | None = None,
    resume: bool = False,
    dask: str | None = None,
    policy: Policy | str | os.PathLike[str] | None = None,
    plugins: Sequence[Plugin | str | os.PathLike[str]] = (),
    snapshots: str | os.PathLike[str] | None = None,
) -> pa.Table:
    """Runs every combination of `vary` over `base` and returns one row a run.

    Args:
        base: spec of every run; give it a `scale` by `base.with_(scale=0.0625)`.
        vary: values by `section.key`; `preset`, `scale` and `seed` may be varied too.
        requests: a table of requests in place of the workload of every run, as `pumice.run` takes it. It is kept as
            `requests.csv` in `store`, if there is one, and else in a temporary file.
        columns: which column of the table is what, as there.
        workers: processes; None starts one for each CPU. The rows do not depend on it.
        repeat: runs of each combination, over consecutive seeds.
        store: directory in which finished runs are kept, or None.
        resume: take runs that `store` already holds from there.
        dask: address of a Dask scheduler such as "tcp://host:8786", whose workers simulate in place
            of processes of this machine. They need the same pumice, and traces under the same paths.
        policy: a policy of your own for every run, as `pumice.run` takes it. Worker processes get a copy of a policy
            in Python; a shared object must be under the same path for them.
        plugins: translation layers of your own, as `pumice.run` takes them; `ftl.kind` may be varied over them.
        snapshots: folder that keeps aged devices for later runs. Without it, runs of this sweep that need the same
            aged device share it in memory.

    Returns:
        The varied keys, `run_seed`, `status` ("done" or "failed") and `error`, then the result's
        fields (`results.fields`).

    Raises:
        SpecError: an unknown key, a value that is given twice, a combination that is refused, or no scheduler at
            `dask`; nothing was run then. A run that fails is a row with its error instead.
        Interrupted: Ctrl-C. It is a KeyboardInterrupt.

    Example:
        >>> base = pumice.preset("tiny").with_(run={"max_requests": 1000})
        >>> table = pumice.sweep(base, {"partial_erase.max_splits": [0, 2, 4]}, workers=1)
        >>> table["partial_erase.max_splits"].to_pylist()
        [0, 2, 4]
        >>> len(table["host.write.latency_us.p99"])
        3
    """
    base = check_spec(base)
    if policy is not None:
        base = base.with_policy(policy)
    base = base.with_plugins(*plugins)
    directory = files.named_directory(store, "store")
    folder = files.named_directory(snapshots, "snapshots")
    settings = Settings("sweep", workers, directory, resume, dask=dask, all_or_none=True, snapshots=folder)
    from pumice.traces.kept import as_trace  # loaded here: most sweeps replay no table

    with as_trace(requests, columns, directory) as replay:
        return outcome_table(run_grid(Grid(replay(base), vary, repeat), settings))


def run_grid(grid: Grid, settings: Settings, *, fit: bool = False) -> list[Outcome]:
    """Runs every point of a grid; with `fit` on devices fitted to the recorded traces.

    Raises:
        SpecError: a run cannot be started and `settings.all_or_none` is set, or not one can; with the first refusal.
        Interrupted: Ctrl-C.
    """
    jobs = grid.jobs()
    if fit:
        jobs = fit_jobs(jobs, settings.announce or (lambda _: None))
    outcomes = run_jobs(jobs, settings)
    raise_if_refused(outcomes)
    return outcomes


def raise_if_refused(outcomes: Sequence[Outcome]) -> None:
    """Raises the first refusal if spec or trace kept every single run from starting.

    Raises:
        SpecError: the first refusal.
    """
    if all(outcome.error_kind == "usage" for outcome in outcomes):
        raise SpecError(outcomes[0].error)


def outcome_table(outcomes: Sequence[Outcome]) -> pa.Table:
    """Outcomes as a table, one row each, in their order."""
    from pumice.results import run_table  # loaded here: it needs Arrow, which starts slowly

    rows = [run_table.Row(o.job.varied, o.job.seed, o.document, o.error) for o in outcomes]
    return run_table.build(rows)


def find_sweep(path: Path) -> Path:
    """The sweep file of a name: the file itself, or else that of the package pumice-papers, which is called
    `experiments/PAPER/NAME.toml` from every directory."""
    if path.exists() or path.parts[:1] != ("experiments",):
        return path
    papers = find_spec("pumice_papers")
    shipped = [Path(folder) / path for folder in (papers and papers.submodule_search_locations) or ()]
    return next(filter(Path.is_file, shipped), path)


def read_sweep(path: Path) -> Grid:
    """Reads a sweep file; see `find_sweep`. Relative paths of traces in it start at the file.

    Raises:
        SpecError: it is not TOML, or its additions are not as described; keys of the spec are
            checked when it is run.
    """
    found = find_sweep(path)
    text = read_text(found)
    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SpecError(f"{path}: not TOML: {one_line(error)}") from None
    folder = folder_of(found)
    spec = Spec(text=_without_additions(text), name=printable(str(path))).with_trace_of(text, folder)
    if "scale" in content:
        spec = spec.with_(scale=_number(path, "scale", content["scale"]))
    vary = content.get("vary", {})
    if not isinstance(vary, dict):
        raise SpecError(f'{path}: vary is not a table; allowed: a table [vary] of "section.key" = [value, …]')
    repeat = int(_number(path, "repeat", content.get("repeat", 1)))
    return Grid(spec, flatten(vary), repeat, text=text, folder=folder)


def _number(path: Path, key: str, value: Any) -> float:
    whole = key == "repeat"
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        raise SpecError(f"{path}: {key} is {printable(repr(value))}; allowed: a {'whole ' if whole else ''}number")
    return value


def _without_additions(text: str) -> str:
    """The spec in the text of a sweep file. The additions become empty lines, so that line numbers in
    messages stay true."""
    import tomlkit  # loaded here: it starts slowly

    document = tomlkit.parse(text)
    for place, (key, _) in enumerate(document.body):
        if key is not None and key.key in SWEEP_KEYS:
            lines = document.as_string().count("\n")
            document.body[place] = (None, tomlkit.ws(""))
            removed = lines - document.as_string().count("\n")
            document.body[place] = (None, tomlkit.ws("\n" * removed))
    return document.as_string()
