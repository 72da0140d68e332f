"""A simulation of a batch, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pumice.runs.spec import Spec


@dataclass(frozen=True)
class Job:
    """One simulation of a batch.

    Attributes:
        label: name of the run in messages.
        spec: what to simulate.
        varied: value of each varied key, for tables.
        seed: seed of the run, if it is repeated over seeds.
        expected_s: seconds that the run is expected to take on one core; None if unknown.
    """

    label: str
    spec: Spec
    varied: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    expected_s: float | None = None


@dataclass(frozen=True)
class Outcome:
    """How a job ended: with a result document, or with an error.

    Attributes:
        error_kind: "usage" if spec or trace cannot be used, "failed" if the run ended in an error.
        reused: whether the document came from the store.
        key: what the document is stored under; None if the run could not be started.
    """

    job: Job
    document: dict[str, Any] | None = None
    error: str | None = None
    error_kind: Literal["usage", "failed"] | None = None
    reused: bool = False
    key: str | None = None
