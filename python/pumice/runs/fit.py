"""Devices fitted to recorded traces."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from pumice import _engine
from pumice.errors import SpecError, TraceError
from pumice.runs.jobs import Job
from pumice.runs.spec import Spec
from pumice.runs.store import refuse_read_once
from pumice.text import count
from pumice.traces.columnar import Content

#: The option, as messages name it.
OPTION = "--fit-device"

#: Keys of the spec that decide how large a trace's addresses are.
_READING = ("path", "format", "columns", "volumes", "trims", "address")


def fit_device(spec: Spec, content: Content | None = None) -> tuple[Spec, str]:
    """`spec` with the smallest device of its kind on which its recorded trace fits: with as many dies, chips and
    channels halved as possible, or with more chips on a channel. `workload.address` stays as it is.

    Args:
        spec: has a recorded trace as its workload.
        content: requests in place of the trace's file.

    Returns:
        The spec, and a line that says which device it is.

    Raises:
        SpecError: another workload, or a trace larger than the largest device of this kind.
        TraceError: the trace cannot be read, or only once.
    """
    if content is None:
        _refuse_read_once(spec.resolve()["config"]["workload"])
    found: dict[str, Any] = json.loads(_engine.fit_device(spec.request(), content))
    return _with_device(spec, found), _line(found)


def fit_jobs(jobs: Sequence[Job], announce: Callable[[str], None]) -> list[Job]:
    """The jobs with one device for all that replay the same trace: the smallest on which it fits in every job.

    A job whose spec or trace cannot be used stays as it is; the batch reports it.
    """
    found: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for place, job in enumerate(jobs):
        try:
            workload = job.spec.resolve()["config"]["workload"]
            trace = json.dumps([workload.get(key) for key in _READING])
            _refuse_read_once(workload)
            device: dict[str, Any] = json.loads(_engine.fit_device(job.spec.request(), None))
        except (SpecError, TraceError):
            continue
        found.setdefault(trace, []).append((place, device))
    fitted = list(jobs)
    for devices in found.values():
        largest = max((device for _, device in devices), key=_dies)
        announce(_line(largest))
        for place, _ in devices:
            fitted[place] = replace(jobs[place], spec=_with_device(jobs[place].spec, largest))
    return fitted


def _refuse_read_once(workload: dict[str, Any]) -> None:
    """Refuses a trace that would be gone when the run begins, because the fit has read it.

    Raises:
        TraceError: it is a pipe, a terminal or an open file of the process.
    """
    if workload.get("kind") == "trace":
        with contextlib.suppress(OSError):  # the engine says why it cannot be read
            refuse_read_once(str(workload.get("path") or ""), f"{OPTION} reads it before the run and needs")


def _dies(found: dict[str, Any]) -> int:
    return int(found["channels"] * found["chips_per_channel"] * found["dies_per_chip"])


def _with_device(spec: Spec, found: dict[str, Any]) -> Spec:
    keys = ("channels", "chips_per_channel", "dies_per_chip")
    return spec.with_sets([(f"geometry.{key}", str(found[key])) for key in keys], OPTION)


def _line(found: dict[str, Any]) -> str:
    shape = " x ".join(
        count(found[key], noun)
        for key, noun in (("channels", "channel"), ("chips_per_channel", "chip"), ("dies_per_chip", "die"))
    )
    have, need = (found[key] / 2**30 for key in ("user_bytes", "needed_bytes"))
    return f"{OPTION}: {shape}, user capacity {have:,.2f} GiB; the trace needs {need:,.2f} GiB"
