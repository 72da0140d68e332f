"""The compiled engine. Everything structured crosses as JSON text; calls release the GIL."""

from collections.abc import Callable
from typing import Any

class SpecError(ValueError):
    """A spec, option or argument that cannot be used; the text is one line."""

class TraceError(ValueError):
    """A trace that cannot be read; the text is one line with file and line."""

class SimulationError(RuntimeError):
    """A run that ended in an error, such as a command the chip refused."""

def version() -> str: ...
def resolve(request: str) -> str: ...
def run(
    request: str,
    progress: Callable[[int, float | None, float], bool] | None = None,
) -> str: ...
def presets() -> list[str]: ...
def preset_toml(name: str) -> str: ...
def workloads() -> str: ...
def schema() -> str: ...
def explain(key: str) -> str: ...
def trace_check(path: str, format: str | None = None) -> str: ...
def trace_info(path: str, format: str | None = None) -> str: ...
def file_digest(path: str) -> str: ...
def plan_m_merge(
    d: bytes,
    u: bytes,
    disturb: bytes,
    max_splits: int,
    page_copy_us: float,
    block_erase_us: float,
    t_us: list[float] | None,
    disturb_tolerance: int,
    m_merge_count: int,
    wear_limit_w: int,
    disturb_aware: bool = True,
) -> dict[str, Any]: ...
