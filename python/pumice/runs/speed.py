"""How fast this machine simulates, beside the machine of docs/validation/speed.md.

The rates are of processor time, so that other programs of the machine change them little.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from pumice import _engine, made
from pumice.runs.spec import Spec, preset


@dataclass(frozen=True)
class SpeedCase:
    """A run whose speed is measured.

    Attributes:
        name: what runs, as docs/validation/speed.md calls it.
        spec: the run.
        counts: "flash commands" or "requests": what its speed is counted in.
        reference: million of these a second on the machine of docs/validation/speed.md.
    """

    name: str
    spec: Spec
    counts: str
    reference: float


@dataclass(frozen=True)
class Measured:
    """What a case took.

    Attributes:
        name: that of the case.
        counts: that of the case.
        rate: million counts a second of processor time.
        reference: that of the case.
        cpu_s: processor time.
        peak_rss_mib: largest memory that the process has had so far; None where the system does not tell.
    """

    name: str
    counts: str
    rate: float
    reference: float
    cpu_s: float
    peak_rss_mib: float | None

    @property
    def ratio(self) -> float:
        """How many times as fast as the reference."""
        return self.rate / self.reference


def cases() -> list[SpeedCase]:
    """The runs, about a minute in all."""
    untimed = {"timed": False}
    pen, m_merge, page = preset("pen-1tb"), preset("pen-1tb-m-merge"), preset("bench-64g")
    fresh = page.with_(initial={"age_writes": 0.0})
    writes = fresh.with_(workload={"requests": 12_000_000})
    return [
        SpeedCase("pen-1tb, prn_1, full merges, timed", pen, "flash commands", 31.2),
        SpeedCase("pen-1tb, prn_1, M-Merge, timed", m_merge, "flash commands", 10.0),
        SpeedCase("pen-1tb, prn_1, full merges, untimed", pen.with_(run=untimed), "flash commands", 69.7),
        SpeedCase("pen-1tb, prn_1, M-Merge, untimed", m_merge.with_(run=untimed), "flash commands", 22.4),
        SpeedCase("bench-64g, writes in collection, timed", writes, "flash commands", 26.9),
        SpeedCase("bench-64g, untimed", writes.with_(run=untimed), "flash commands", 61.4),
        SpeedCase(
            "bench-64g, random reads, timed",
            fresh.with_(initial={"fill": 1.0}, workload={"read_fraction": 1.0, "requests": 5_000_000}),
            "requests",
            6.4,
        ),
    ]


def measure(chosen: list[SpeedCase], progress: Callable[..., bool]) -> Iterator[Measured]:
    """Runs the cases one after the other in this process, on one core.

    Raises:
        KeyboardInterrupt: Ctrl-C.
    """
    for case in chosen:
        begun = time.process_time()
        document = json.loads(_engine.run(case.spec.request(), progress))
        cpu_s = time.process_time() - begun
        facts = document["run"]
        counted = facts["flash_commands" if case.counts == "flash commands" else "requests"]
        yield Measured(case.name, case.counts, counted / cpu_s / 1e6, case.reference, cpu_s, facts["peak_rss_mib"])


def machine() -> dict[str, Any]:
    """What the figures are of: engine, processor and system."""
    facts = made.facts()
    return {name: facts[name] for name in ("version", "commit", "processor", "system")}


def as_json(found: list[Measured]) -> str:
    """Machine and figures as JSON."""
    return json.dumps({"machine": machine(), "runs": [{**asdict(one), "ratio": one.ratio} for one in found]})
