"""What a study still has to simulate, as those who simulate it see it: in processes of this machine
(`local`) or on a cluster (`cluster`)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

#: What becomes of a request: a result document's text, or an error's and its kind.
Kind = Literal["done", "usage", "failed"]

#: Seconds between two looks at what is under way.
POLL_S = 0.2


@dataclass(frozen=True)
class Work:
    """Requests to simulate, and whom to tell.

    Attributes:
        waiting: key and request of every run that nobody has begun, in order; whoever begins one
            takes it out.
        engine: name of the module that simulates.
        finish: takes key, kind and text of a run that ended; called once for each.
        look: takes the shares done (0 … 1) of the runs under way; to be called every `POLL_S`. It
            raises `Interrupted` after Ctrl-C, and what is under way is then to be dropped.
    """

    waiting: deque[tuple[str, str]]
    engine: str
    finish: Callable[[str, Kind, str], None]
    look: Callable[[Sequence[float]], None]
