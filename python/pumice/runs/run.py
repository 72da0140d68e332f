"""One simulation in this process."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pumice import files
from pumice.errors import Interrupted, SpecError, in_python_words
from pumice.results.result import Result
from pumice.runs import fit
from pumice.runs.output_files import run_to_text
from pumice.runs.pace import ageing_reports
from pumice.runs.progress import RunProgress, in_notebook
from pumice.runs.snapshots import NOTHING_AGED, SnapshotPlaces
from pumice.runs.spec import Spec, check_spec
from pumice.runs.values import toml_text
from pumice.text import printable
from pumice.traces import columnar

if TYPE_CHECKING:
    from pumice.plugins import Plugin
    from pumice.policy import Policy

#: Called about every 65,536 requests with requests done, share done (0 … 1, None if unknown) and
#: simulated seconds. Returning False stops the run; None goes on.
ProgressCallback = Callable[[int, float | None, float], bool | None]


def with_options(
    spec: Spec,
    *,
    workload: str | None = None,
    trace: str | os.PathLike[str] | None = None,
    trace_format: str | None = None,
    columns: str | None = None,
    scale: float | None = None,
    seed: int | None = None,
    dashes: str = "",
) -> Spec:
    """`spec` with a workload, trace, scale and seed laid over it. Messages about their values begin with the name of
    the option after `dashes`, if there are any.

    Raises:
        SpecError: `spec` is none, both a workload and a trace are given, or a format or columns without a trace.
    """
    spec = check_spec(spec)
    if workload is not None and trace is not None:
        raise SpecError("a run has a workload or a trace, not both")
    is_trace = trace is not None or (workload is None and _replays(spec))
    for option, value in (("format", trace_format), ("columns", columns)):
        if value is not None and not is_trace:
            raise SpecError(f"{dashes}{option} says how a trace is read, and there is none; {dashes}trace names one")
    given: list[tuple[str, str, Any]] = [("workload", "workload.kind", workload)]
    if trace is not None:
        given += [("trace", "workload.kind", "trace"), ("trace", "workload.path", _path_text(trace))]
    given += [("format", "workload.format", trace_format), ("columns", "workload.columns", columns)]
    given += [("seed", "seed", seed), ("scale", "scale", scale)]
    for option, key, value in given:
        if value is not None:
            spec = spec.with_sets([(key, toml_text(key, value))], f"{dashes}{option}" if dashes else "")
    return spec


def _replays(spec: Spec) -> bool:
    """Whether a spec's workload is a recorded trace. One that cannot be resolved is refused when it is run."""
    try:
        return bool(spec.resolve()["config"]["workload"]["kind"] == "trace")
    except SpecError:
        return True


def _path_text(path: Any) -> str:
    """A path as a value of a spec.

    Raises:
        SpecError: it is not a path, or no text.
    """
    try:
        text = os.fsdecode(path)
        text.encode()
    except TypeError:
        raise SpecError(
            f"trace: {type(path).__name__} is not a path; allowed: text or pathlib.Path; run(requests=…) takes a table"
        ) from None
    except UnicodeEncodeError:
        raise SpecError(
            f"trace: the name '{printable(text)}' is not UTF-8, and a spec holds text; rename the file or link to it"
        ) from None
    return text


@in_python_words
def run(
    spec: Spec,
    workload: str | None = None,
    trace: str | os.PathLike[str] | None = None,
    *,
    requests: Any = None,
    trace_format: str | None = None,
    columns: str | None = None,
    fit_device: bool = False,
    scale: float | None = None,
    seed: int | None = None,
    policy: Policy | str | os.PathLike[str] | None = None,
    plugins: Sequence[Plugin | str | os.PathLike[str]] = (),
    progress: ProgressCallback | bool | None = None,
    out: str | os.PathLike[str] | None = None,
    snapshots: str | os.PathLike[str] | None = None,
) -> Result:
    """Simulates `spec` and returns its result. Other Python threads run meanwhile.

    Args:
        spec: what to run; `preset()`, `Spec.from_file()`.
        workload: name of a workload (see `workloads()`) in place of the spec's.
        trace: path of a trace file in place of the spec's workload.
        requests: a table in place of a trace file: of pandas, polars or Arrow, a structured array of numpy, or a
            dictionary of columns such as `read_trace` gives. Rows are requests; they may be in any order of time.
        trace_format: format of the trace, if it should not be recognised by content; of a table, the format whose
            names of columns it has.
        columns: which column of a table or of delimited text is what, and in which unit:
            `"time=when:s,op=rw,offset=lba:sectors,size=len:bytes"`, by name or by number from 0. Without it names
            such as time_ns, op, offset_bytes, size_bytes and fua tell it; a column of timestamps needs no unit.
            Columns that tell nothing of a request are named in a warning.
        fit_device: takes the smallest device of the spec's kind on which the trace fits.
        scale: share of the study to run; planes, requests and bytes are multiplied by it.
        seed: seed of every random stream.
        policy: a policy of your own: what `pumice.policy` makes of functions, or the path of a shared object.
        plugins: translation layers of your own, shared objects by their paths; `ftl.kind = "plugin:NAME"` runs one.
        progress: see `ProgressCallback`. True shows a bar, in a notebook or on the terminal that stderr is; None
            shows it in a notebook only, False nowhere.
        out: directory for `result.json` and for the files that the spec's `[output]` asks for; they are
            there when the run has ended well, and only then.
        snapshots: folder in which aged devices are looked for and kept. A warning says if nothing ages the device.

    Raises:
        SpecError: the spec or an option cannot be used; files are asked for and there is no `out`.
        TraceError: the trace cannot be read, or a column of the table is missing or holds what is not allowed.
        SimulationError: the run ended in an error.
        Interrupted: `progress` returned False.
        KeyboardInterrupt: Ctrl-C.

    Example:
        >>> result = pumice.run(pumice.preset("tiny").with_(run={"max_requests": 1000}), seed=2)
        >>> result.latency("write")["p99"] > result.latency("write")["mean"]
        True
    """
    content = None
    if requests is not None:
        if workload is not None or trace is not None:
            raise SpecError("a run has requests, or a workload, or a trace, not several of them")
        content = columnar.content(requests, trace_format, columns)
        spec = with_options(spec, trace=columnar.TABLE_NAME, scale=scale, seed=seed)
    else:
        spec = with_options(
            spec, workload=workload, trace=trace, trace_format=trace_format, columns=columns, scale=scale, seed=seed
        )
    if fit_device:
        spec, _ = fit.fit_device(spec, content)
    if policy is not None:
        spec = spec.with_policy(policy)
    spec = spec.with_plugins(*plugins)
    stopped = False
    has_bar = progress is True or (progress is None and in_notebook())

    def tick(requests: int, share: float | None, simulated_s: float) -> bool:
        nonlocal stopped
        if has_bar:
            bar.update(requests, share, simulated_s)
        stopped = callable(progress) and progress(requests, share, simulated_s) is False
        return not stopped

    place, folder = files.named_directory(out, "out"), files.named_directory(snapshots, "snapshots")
    try:
        places = SnapshotPlaces(folder=folder) if folder is not None else None
        reports = ageing_reports(spec.resolve()) if has_bar else None
        with RunProgress("run", shown=has_bar, ageing_reports=reports) as bar:
            # A Python function is passed even without `progress`: it is where Ctrl-C is noticed.
            document = json.loads(run_to_text(spec, tick, place, content, places))
        if folder is not None and document["run"]["aged_device"] is None:
            warnings.warn(NOTHING_AGED, stacklevel=3)
        return Result(document)
    except KeyboardInterrupt:
        if stopped:
            raise Interrupted("the run was stopped; it leaves no result") from None
        raise
