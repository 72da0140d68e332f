"""Options that several commands share."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer
from typer.models import TyperPath

from pumice.cli import completions
from pumice.cli.terminal import note
from pumice.errors import SpecError
from pumice.outputs import STORE
from pumice.runs.batch import Settings
from pumice.runs.grid import RUNS_MAX
from pumice.runs.run import with_options
from pumice.runs.spec import Spec, check_preset, read_text
from pumice.text import printable

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
RepeatOption = Annotated[
    int,
    typer.Option(
        "--repeat", metavar="N", min=1, max=RUNS_MAX, help="Number of runs, with the seeds seed … seed + N - 1."
    ),
]


MetricsOption = Annotated[
    str | None,
    typer.Option(
        "--metrics",
        metavar="A,B",
        help="Result fields in tables and figures, such as 'waf,read p99'.",
    ),
]


class Directory(TyperPath):
    """The name of a directory. An empty one would mean the directory in which the command was called."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: str | os.PathLike[str], param: Any, ctx: Any) -> Any:
        """The path.

        Raises:
            typer.BadParameter: the name is empty.
        """
        if not os.fspath(value):
            self.fail("is empty; name a directory", param, ctx)
        return super().convert(value, param, ctx)


class Input(TyperPath):
    """The name of a file to read; `-` is standard input. Whoever reads it says what is wrong with it."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, readable=False)

    def convert(self, value: str | os.PathLike[str], param: Any, ctx: Any) -> Any:
        """The path."""
        return super().convert("/dev/stdin" if os.fspath(value) == "-" else value, param, ctx)


OutOption = Annotated[
    Path | None, typer.Option("--out", metavar="DIR", help="Directory to write results to.", click_type=Directory())
]
FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="F",
        help="Trace format; recognised by content if absent.",
        autocompletion=completions.trace_formats,
    ),
]
ColumnsOption = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="LIST",
        help="Columns of a delimited trace, by number or name: time=0:s,op=1,offset=2:sectors,size=3.",
    ),
]
FitOption = Annotated[
    bool, typer.Option("--fit-device", help="Take the smallest device of the preset's kind on which the trace fits.")
]
SpecArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="[SPEC.toml]", help="Spec file, - for standard input.", show_default=False, click_type=Input()
    ),
]
WorkersOption = Annotated[
    int | None, typer.Option("--workers", metavar="N", min=1, help="Worker processes; one a CPU if absent.")
]
ThreadsOption = Annotated[
    str | None,
    typer.Option(
        "--threads",
        metavar="N|auto",
        help="Threads for one device, with the same result; refused where not exact. auto: one a CPU, or one.",
    ),
]
DaskOption = Annotated[
    str | None,
    typer.Option("--dask", metavar="ADDRESS", help="Dask scheduler whose workers simulate, such as tcp://host:8786."),
]
SnapshotsOption = Annotated[
    Path | None,
    typer.Option(
        "--snapshots",
        metavar="DIR",
        help="Folder of aged devices, shared by runs that need the same one.",
        click_type=Directory(),
    ),
]
ResumeOption = Annotated[bool, typer.Option("--resume", help="Reuse finished runs found in the output directory.")]
PolicyOption = Annotated[
    Path | None,
    typer.Option("--policy", metavar="FILE", help="Shared object with a policy of your own (see pumice_policy.h)."),
]
PluginOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--plugin",
        metavar="FILE",
        help="Shared object with a translation layer of your own, for ftl.kind=plugin:NAME; repeatable.",
    ),
]


def check_resume(out: Path | None, *, resume: bool) -> None:
    """Refuses to take up runs from nowhere.

    Raises:
        SpecError: `--resume` is given without `--out`.
    """
    if resume and out is None:
        raise SpecError("--resume takes up the runs of an output directory; --out DIR names it")


#: The key that makes a device small by blocks of a plane.
CAPACITY_KEY = "geometry.capacity_gib"

#: The preset that runs where none is named, and its capacity then.
DRIVE, DRIVE_CAPACITY = "client-tlc-240g", "16g"

#: Options that set a key: the field of the classes below, the option's name and the key.
_OPTION_KEYS = (
    ("preset", "--preset", "preset"),
    ("scale", "--scale", "scale"),
    ("capacity", "--capacity", CAPACITY_KEY),
    ("seed", "--seed", "seed"),
    ("workload", "--workload", "workload.kind"),
    ("trace", "--trace", "workload.kind"),
    ("trace", "--trace", "workload.path"),
    ("trace_format", "--format", "workload.format"),
    ("columns", "--columns", "workload.columns"),
)

#: Options that `with_options` lays over a spec; a class below has some of them as fields.
_LAID_OVER = ("workload", "trace", "trace_format", "columns", "scale", "seed")


def for_drive(options: SpecOptions, *, fit: bool = False) -> SpecOptions:
    """`options` with the drive that runs where nobody names a device, neither a preset nor a share of the defaults.
    It is made small, so that it answers in about a second, unless a size is given or comes from a trace (`fit`), or
    what runs on it has a size of its own: a trace or a twin."""
    given = options.keys_given()
    if "preset" in given or "scale" in given:
        return options
    has_size = fit or CAPACITY_KEY in given or options.trace is not None
    has_size = has_size or (options.workload or "").startswith("twin:")
    capacity = options.capacity if has_size else DRIVE_CAPACITY
    size = f" --capacity {capacity}" if capacity is not None else ""
    note(f"no SPEC.toml and no --preset: this runs --preset {DRIVE}{size}; `pumice presets` lists others")
    return replace(options, preset=DRIVE, capacity=capacity)


@dataclass(frozen=True)
class PlainOptions:
    """Options for a device alone."""

    preset: Annotated[
        str | None,
        typer.Option(
            "--preset",
            metavar="NAME",
            help="Preset to start from (see `pumice presets`).",
            autocompletion=completions.presets,
        ),
    ] = None
    sets: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Override a key of the spec; repeatable.",
            autocompletion=completions.settings,
        ),
    ] = None
    scale: Annotated[
        float | None,
        typer.Option("--scale", metavar="X", help="Share of the study to run: planes, requests and bytes times X."),
    ] = None
    capacity: Annotated[
        str | None,
        typer.Option(
            "--capacity",
            metavar="X",
            help="User capacity of a device made small, such as 64g: fewer blocks a plane, the same dies and channels.",
        ),
    ] = None
    seed: Annotated[int | None, typer.Option("--seed", metavar="N", help="Seed of every random stream.")] = None

    def build(self, path: Path | None = None) -> Spec:
        """The spec of a file, or of nothing but options.

        Raises:
            SpecError: an option that cannot be used, or a file that cannot be read.
        """
        laid_over = {name: getattr(self, name) for name in _LAID_OVER if hasattr(self, name)}
        return with_options(self._layers(path), dashes="--", **laid_over)

    def _layers(self, path: Path | None) -> Spec:
        if self.preset is not None:
            check_preset(self.preset, "--preset")
        spec = Spec.from_file(path) if path is not None else Spec()
        # Settings of the command line override the job's, which override the preset's and the file's.
        if self.preset is not None:
            spec = spec.with_sets([("preset", self.preset)])
        self.keys_given()
        spec = self._with_job(spec).with_sets([parse_set(text) for text in self.sets or []], "--set")
        return spec if self.capacity is None else spec.with_sets([(CAPACITY_KEY, self.capacity)], "--capacity")

    def keys_given(self) -> dict[str, str]:
        """The keys that options set, `--set` among them, each with the option's name.

        Raises:
            SpecError: a key is set twice.
        """
        given = {key: name for field, name, key in _OPTION_KEYS if getattr(self, field, None) is not None}
        for key, value in (parse_set(text) for text in self.sets or []):
            if key in given:
                setting = f"--set {printable(key)}={printable(value)}"
                raise SpecError(f"{setting}: {given[key]} sets this key as well; allowed: one of them")
            given[key] = "another --set"
        return given

    def _with_job(self, spec: Spec) -> Spec:
        """`spec` with an fio job, where one can be given."""
        return spec


@dataclass(frozen=True)
class DeviceOptions(PlainOptions):
    """Options for a device and a workload made for it."""

    workload: Annotated[
        str | None,
        typer.Option(
            "--workload",
            metavar="W",
            help="Workload by name (see `pumice workloads`).",
            autocompletion=completions.workloads,
        ),
    ] = None
    fio_job: Annotated[
        str | None,
        typer.Option(
            "--fio-job", metavar="JOB", help='Workload in fio\'s words, "rw=randrw bs=16k iodepth=32", or a job file.'
        ),
    ] = None

    def _with_job(self, spec: Spec) -> Spec:
        if self.fio_job is None:
            return spec
        if self.workload is not None:
            raise SpecError("a run has an fio job or a workload or trace, not both")
        if not self.fio_job.strip():
            raise SpecError('--fio-job is empty; expected settings such as "rw=randrw bs=16k", or a job file')
        if " " in self.fio_job and "=" not in self.fio_job and not Path(self.fio_job).exists():
            raise SpecError(f'--fio-job {printable(self.fio_job)}: no "=" in it; expected such as "rw=randrw bs=16k"')
        if "=" in self.fio_job:
            return spec.with_fio_job(self.fio_job, "--fio-job")
        return spec.with_fio_job(read_text(Path(self.fio_job)), self.fio_job)


@dataclass(frozen=True)
class SpecOptions(DeviceOptions):
    """Options for one spec: a workload, or a trace in its place."""

    trace: Annotated[
        Path | None,
        typer.Option(
            "--trace",
            metavar="FILE",
            help="Trace to replay instead of a workload, - for standard input.",
            click_type=Input(),
        ),
    ] = None
    trace_format: FormatOption = None
    policy: PolicyOption = None
    plugin: PluginOption = None
    columns: ColumnsOption = None

    def build(self, path: Path | None = None) -> Spec:
        """As `PlainOptions.build`; a workload, an fio job and a trace exclude each other."""
        if self.fio_job is not None and self.trace is not None:
            raise SpecError("a run has an fio job or a workload or trace, not both")
        spec = super().build(path).with_plugins(*self.plugin or [])
        return spec if self.policy is None else spec.with_policy(self.policy)


@dataclass(frozen=True)
class PlaceOptions:
    """Options for where several runs are simulated."""

    workers: WorkersOption = None
    dask: DaskOption = None
    resume: ResumeOption = False
    snapshots: SnapshotsOption = None

    def settings(self, title: str, out: Path | None, *, all_or_none: bool = True) -> Settings:
        """Settings of a batch of runs that are kept in an output directory, if there is one."""
        return Settings(
            title,
            self.workers,
            out / STORE if out is not None else None,
            self.resume,
            dask=self.dask,
            all_or_none=all_or_none,
            announce=note,
            snapshots=self.snapshots,
        )


def takes_options(command: Callable[..., None]) -> Callable[..., None]:
    """`command` with each parameter that is a dataclass of options replaced by its fields, so that an option
    of several commands is written once."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name in groups:
            parameters += _spread(groups[name])
        else:
            parameters.append(parameter.replace(annotation=hints[name]))
    parameters.sort(key=lambda parameter: parameter.kind)

    @functools.wraps(command)
    def spread(**values: Any) -> None:
        made = {
            name: kind(**{field.name: values.pop(field.name) for field in fields(kind)})
            for name, kind in groups.items()
        }
        command(**values, **made)

    # What typer reads; `wraps` alone would show it the command's own parameters.
    spread.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    spread.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return spread


def _spread(kind: Any) -> list[inspect.Parameter]:
    """The fields of a class of options as parameters of a command; those without a default are arguments."""
    hints = get_type_hints(kind, include_extras=True)
    found: list[inspect.Parameter] = []
    for field in fields(kind):
        needed = field.default is MISSING
        shape = inspect.Parameter.POSITIONAL_OR_KEYWORD if needed else inspect.Parameter.KEYWORD_ONLY
        default = inspect.Parameter.empty if needed else field.default
        found.append(inspect.Parameter(field.name, shape, default=default, annotation=hints[field.name]))
    return found


def parse_set(text: str) -> tuple[str, str]:
    """`key=value` as a pair.

    Raises:
        SpecError: no `=`, or nothing on one side of it.
    """
    key, equals, value = text.partition("=")
    if not equals or not key.strip() or not value.strip():
        raise SpecError(f"--set '{printable(text)}': expected key=value such as ftl.merge=m-merge")
    return key.strip(), value.strip()


#: Most threads of one run.
THREADS_MAX = 64


def parsed_threads(given: str | None) -> dict[str, int] | None:
    """The threads that --threads asks for, as the engine takes them."""
    if given is None:
        return None
    if given == "auto":
        return {"up_to": min(os.cpu_count() or 1, THREADS_MAX)}
    if not given.isdecimal() or not 1 <= int(given) <= THREADS_MAX:
        raise SpecError(f"--threads {printable(given)} is not allowed; allowed: 1 to {THREADS_MAX}, or auto")
    return {"number": int(given)}
