"""The seam between a batch of runs and what simulates them.

A batch hands its `Pending` runs to worker processes of this machine (`processes`) or to a Dask
cluster (`cluster`). Both simulate a run by `attempt`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Literal

from pumice.errors import SpecError, TraceError, one_line

#: How a run ended: with a result document, with a spec or trace that cannot be used, with another error, or because
#: the time was over that a sample is given.
Ending = Literal["done", "usage", "failed", "sampled"]

#: The engine's progress callback: requests done, share done (None if unknown), simulated seconds.
#: It returns False to stop the run.
EngineProgress = Callable[[int, float | None, float], bool]

#: Seconds between two calls of `Pending.look`.
POLL_S = 0.2


@dataclass(frozen=True)
class Course:
    """How far a run has come: the share that is done, and the seconds in which its device was aged."""

    share: float = 0.0
    ageing_s: float = 0.0


@dataclass(frozen=True)
class Pending:
    """The runs of a batch that are still to be simulated, and the functions to call as they go on.

    Attributes:
        waiting: key and request of every run that has not begun, in order. A run is taken out when
            it begins.
        engine: name of the module that simulates.
        finish: called once for each run that ended, with its key, how it ended, and the text of its
            document or of its error; of a sample, the seconds that the whole run would take without ageing. At last
            the seconds in which the device was aged.
        look: called every `POLL_S` seconds with how far the runs under way have come, by key. It raises
            `Interrupted` after Ctrl-C; the runs under way are then dropped.
        limit_s: seconds that a run may take before it is stopped and counts as a sample; None for no limit.
    """

    waiting: deque[tuple[str, str]]
    engine: str
    finish: Callable[[str, Ending, str, float], None]
    look: Callable[[Mapping[str, Course]], None]
    limit_s: float | None = None


def attempt(engine: ModuleType, request: str, progress: EngineProgress) -> tuple[Ending, str]:
    """Simulates one request.

    Returns:
        How the run ended, and its document or its error in one line.

    Raises:
        EOFError, BrokenPipeError: `progress` found its reader gone.
        KeyboardInterrupt: `progress` returned False.
    """
    try:
        return "done", engine.run(request, progress)
    except (SpecError, TraceError) as error:
        return "usage", one_line(error)
    except (EOFError, BrokenPipeError):
        raise
    except Exception as error:  # one failed run must not end the batch
        return "failed", one_line(error)
