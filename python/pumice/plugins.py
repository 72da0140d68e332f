"""Translation layers of your own in shared objects (docs/OWN-FTL.md).

import pumice

spec = pumice.preset("tiny").with_(ftl={"kind": "plugin:page-log"})
result = pumice.run(spec, plugins=["./libown_ftl.so"])
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

from pumice import _engine
from pumice.errors import SpecError
from pumice.runs.keys import Key

__all__ = ["Plugin", "check_plugin", "plugin"]


@dataclass(frozen=True)
class Plugin:
    """A translation layer in a shared object.

    Attributes:
        name: as `ftl.kind = "plugin:NAME"` has it.
        sha256: of the file.
        path: of the file.
        retires_blocks: whether it can do without a block whose erase failed.
        recovers: whether it recovers after a power cut.
        keys: its keys.
    """

    name: str
    sha256: str
    path: str
    retires_blocks: bool
    recovers: bool
    keys: tuple[Key, ...]


def plugin(path: str | os.PathLike[str]) -> Plugin:
    """The translation layer of a shared object.

    Raises:
        SpecError: it cannot be loaded, or holds no translation layer of this version.
    """
    where = os.path.abspath(os.fsdecode(path))
    found: dict[str, Any] = json.loads(_engine.plugin_of_library(where))
    keys = tuple(map(Key.of, found["keys"]))
    return Plugin(found["name"], found["sha256"], where, found["retires_blocks"], found["recovers"], keys)


def check_plugin(given: Any) -> Plugin:
    """`given`, if it is a plug-in, or that of the shared object at a path.

    Raises:
        SpecError: it is something else, or cannot be loaded.
    """
    if isinstance(given, Plugin):
        return given
    if isinstance(given, str | os.PathLike):
        return plugin(given)
    raise SpecError(f"plugins: {type(given).__name__} is not a list of paths; allowed: paths of shared objects")
