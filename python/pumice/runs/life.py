"""Lives of devices: a workload written over and over until no block is left to write to."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from pumice import _engine
from pumice.runs.spec import Spec

#: Modes of collection that take their steps on idle dies.
_IN_STEPS = ("background", "preemptible")


def life(
    spec: Spec,
    scheme: str | None = None,
    *,
    whole: bool = False,
    window_cycles: float = 0.5,
    steps: int = 8,
    progress: Callable[[float], bool | None] | None = None,
) -> dict[str, Any]:
    """The life of a device under its workload, without a clock. Worn blocks are retired by their own errors unless the
    spec says otherwise (`erase.worn_blocks`). Without a clock dies are never idle, so a collection in steps
    (`ftl.gc_mode`) becomes a blocking one.

    Args:
        spec: a device whose translation layer retires blocks, and a workload that writes.
        scheme: erase scheme in place of the spec's.
        whole: simulate every write instead of jumping from one retirement of blocks to the next.
        window_cycles: P/E cycles simulated between two jumps.
        steps: jumps in which the spare blocks are used up.
        progress: told the share of the spare that is used up; False stops.

    Returns:
        What `pumice life --json` prints for a scheme: the device at its `end` and its `course` (`pec`, `host_bytes`,
        `write_amplification`, `retired_blocks`), `initial_pec`, `block_pec` (the P/E cycles of a block of mean stress,
        None if it never ends), `capacity_bytes`, `blocks` (all, and spare ones), `write_amplification` over the life,
        `simulated_bytes`, `wear_spread`.

    Raises:
        SpecError: a spec that cannot be used.
        SimulationError: a run that ended in an error.

    Example:
        >>> import pumice
        >>> keys = {"kind": "page", "over_provisioning": 0.3}
        >>> spec = pumice.preset("tiny").with_(ftl=keys, erase={"rber_requirement": 40.0})
        >>> ispe, aero = (pumice.life(spec, scheme)["end"] for scheme in ("ispe", "aero"))
        >>> ispe["host_bytes"] < aero["host_bytes"]
        True
    """
    if scheme is not None:
        spec = spec.with_(erase={"scheme": scheme})
    config = spec.resolve()["config"]
    if config["erase"]["worn_blocks"] == "used":
        spec = spec.with_(erase={"worn_blocks": "retired-by-errors"})
    if config["ftl"]["gc_mode"] in _IN_STEPS:
        spec = spec.with_(ftl={"gc_mode": "blocking"})
    query = {"whole": whole, "window_cycles": window_cycles, "steps": steps}
    found: dict[str, Any] = json.loads(_engine.life(spec.request(), json.dumps(query), progress))
    return found
