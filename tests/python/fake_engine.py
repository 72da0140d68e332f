"""An engine that simulates nothing, for tests of the runner. Its spec is the request's `sets`.

`value` is put into the document, `log` names a file that gets a line for every run, and `do` makes
the run fail, die, take its time, come on slowly or go on until it is told to stop.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable

from pumice._engine import SimulationError, SpecError

RUN_S = 30.0


def version() -> str:
    """Its version."""
    return "fake"


def resolve(request: str) -> str:
    """The sets as a configuration; `do = refuse` is refused."""
    sets = dict(json.loads(request)["sets"])
    if _text(sets, "do") == "refuse":
        raise SpecError("do = refuse is refused")
    digest = hashlib.sha256(json.dumps(sorted(sets.items())).encode()).hexdigest()
    return json.dumps({"config": {}, "config_sha256": digest, "scale": 1.0})


def run(request: str, progress: Callable[[int, float | None, float], bool] | None) -> str:
    """Does as it is told."""
    sets = dict(json.loads(request)["sets"])
    if "log" in sets:
        with open(_text(sets, "log"), "a", encoding="utf-8") as log:
            log.write(f"{_text(sets, 'value')}\n")
    match _text(sets, "do"):
        case "fail":
            raise SimulationError("the chip refused")
        case "break":
            raise RuntimeError("two\nlines")
        case "die":
            os._exit(3)
        case "wait":
            time.sleep(RUN_S)
        case "obey":
            _wait_for_the_end(_text(sets, "log"), progress)
        case "slow":
            _go_on(progress)
        case "pause":
            time.sleep(0.05 * (5 - int(sets["value"])))
    if progress is not None:
        progress(1, 0.5, 0.0)
    return json.dumps({"format": "pumice.result/1", "value": int(sets["value"])})


def _wait_for_the_end(log: str, progress: Callable[[int, float | None, float], bool] | None) -> None:
    deadline = time.monotonic() + RUN_S
    while time.monotonic() < deadline:
        time.sleep(0.05)
        if progress is not None and not progress(1, None, 0.0):
            with open(log, "a", encoding="utf-8") as file:
                file.write("stopped\n")
            raise KeyboardInterrupt


def _go_on(progress: Callable[[int, float | None, float], bool] | None) -> None:
    """Comes a twentieth further in each second."""
    begun = time.monotonic()
    while (share := (time.monotonic() - begun) / 20) < 1:
        time.sleep(0.05)
        if progress is not None and not progress(1, share, 0.0):
            raise KeyboardInterrupt


def _text(sets: dict[str, str], key: str) -> str:
    return str(sets.get(key, "")).strip('"')
