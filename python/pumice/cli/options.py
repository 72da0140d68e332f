"""Options that several commands share."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from pumice import _engine
from pumice.errors import SpecError, nearest
from pumice.simulate import with_options
from pumice.spec import Spec, read_text

PresetOption = Annotated[
    str | None, typer.Option("--preset", metavar="NAME", help="Preset to start from (see `pumice presets`).")
]
WorkloadOption = Annotated[
    str | None, typer.Option("--workload", metavar="W", help="Workload by name (see `pumice workloads`).")
]
TraceOption = Annotated[
    Path | None, typer.Option("--trace", metavar="FILE", help="Trace to replay instead of a workload.")
]
FormatOption = Annotated[
    str | None, typer.Option("--format", metavar="F", help="Trace format; recognised by content if absent.")
]
FioJobOption = Annotated[
    str | None,
    typer.Option(
        "--fio-job", metavar="JOB", help='Workload in fio\'s words, "rw=randrw bs=16k iodepth=32", or a job file.'
    ),
]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override a key of the spec; repeatable.")
]
ScaleOption = Annotated[
    float | None,
    typer.Option("--scale", metavar="X", help="Share of the study to run: planes, requests and bytes times X."),
]
SeedOption = Annotated[int | None, typer.Option("--seed", metavar="N", help="Seed of every random stream.")]
RepeatOption = Annotated[
    int, typer.Option("--repeat", metavar="N", min=1, help="Runs with the seeds seed … seed + N - 1.")
]
OutOption = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Directory to write results to.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
WorkersOption = Annotated[
    int | None, typer.Option("--workers", metavar="N", min=1, help="Worker processes; one a CPU if absent.")
]
DaskOption = Annotated[
    str | None,
    typer.Option("--dask", metavar="ADDRESS", help="Dask scheduler whose workers simulate, such as tcp://host:8786."),
]
ResumeOption = Annotated[bool, typer.Option("--resume", help="Reuse finished runs found in the output directory.")]


@dataclass(frozen=True)
class SpecOptions:
    """What the command line says about one spec."""

    preset: str | None = None
    workload: str | None = None
    trace: Path | None = None
    trace_format: str | None = None
    sets: list[str] = field(default_factory=list)
    scale: float | None = None
    seed: int | None = None
    fio_job: str | None = None

    def build(self, path: Path | None) -> Spec:
        """The spec of a file, or of nothing but options.

        Raises:
            SpecError: an option that cannot be used, or a file that cannot be read.
        """
        if self.preset is not None and self.preset not in _engine.presets():
            known = _engine.presets()
            raise SpecError(
                f"--preset {self.preset}: unknown{nearest(self.preset, known)}; allowed: {', '.join(known)}"
            )
        spec = Spec.from_file(path) if path is not None else Spec()
        # Settings of the command line override the job's, which override the preset's and the file's.
        if self.preset is not None:
            spec = spec.with_sets([("preset", self.preset)])
        if self.fio_job is not None:
            if self.workload is not None or self.trace is not None:
                raise SpecError("a run has an fio job or a workload or trace, not both")
            spec = spec.with_fio_job(self.fio_job if "=" in self.fio_job else read_text(Path(self.fio_job)))
        return with_options(
            spec.with_sets([parse_set(text) for text in self.sets]),
            workload=self.workload,
            trace=self.trace,
            trace_format=self.trace_format,
            scale=self.scale,
            seed=self.seed,
        )


def parse_set(text: str) -> tuple[str, str]:
    """`key=value` as a pair.

    Raises:
        SpecError: no `=`, or nothing on one side of it.
    """
    key, equals, value = text.partition("=")
    if not equals or not key.strip() or not value.strip():
        raise SpecError(f"--set {text!r}: expected key=value such as ftl.merge=m-merge")
    return key.strip(), value.strip()
