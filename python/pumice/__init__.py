"""pumice: a simulator of 3D NAND SSDs built around the erase operation.

    import pumice

    spec = pumice.preset("pen-1tb").with_(ftl={"merge": "m-merge"})
    result = pumice.run(spec, workload="twin:prn_1", scale=0.0625)
    result.latency("write")["mean"]  # µs

Names are loaded when they are first used: the command starts at once, and a worker process loads
no more than it needs.
"""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers take this for true; importing the name from `typing` would cost time
if TYPE_CHECKING:
    from typing import Any

    from pumice import policy
    from pumice.chip import Chip, ChipChoices, ChipError, ChipState, OperationFailed, PowerLost, Refused, Uncorrectable
    from pumice.crash_lab import CrashReport, crash, record_session
    from pumice.device import Completions, Device, DeviceRefusal
    from pumice.errors import Interrupted, SimulationError, SpecError, TraceError
    from pumice.planning.m_merge import Plan, plan_m_merge
    from pumice.plugins import Plugin, plugin
    from pumice.results.command_log import read_command_log, verify_log
    from pumice.results.result import Result
    from pumice.runs.compare import Comparison, compare
    from pumice.runs.life import life
    from pumice.runs.run import run
    from pumice.runs.spec import Spec, preset, presets, workloads
    from pumice.runs.sweep import sweep
    from pumice.served_device import ServedDevice, serve
    from pumice.torture_lab import Firmware, Tortured, TortureReport, torture
    from pumice.traces.read_write import read_trace, write_trace

    __version__: str

__all__ = [
    "Chip", "ChipChoices", "ChipError", "ChipState", "Comparison", "Completions", "CrashReport", "Device",
    "DeviceRefusal", "Firmware", "Interrupted", "OperationFailed", "Plan", "Plugin", "PowerLost", "Refused",
    "Result", "ServedDevice", "SimulationError", "Spec", "SpecError", "TortureReport", "Tortured", "TraceError",
    "Uncorrectable", "compare", "crash", "life", "plan_m_merge", "plugin", "policy", "preset", "presets",
    "read_command_log", "read_trace", "record_session", "run", "serve", "sweep", "torture", "verify_log",
    "workloads", "write_trace",
]  # fmt: skip

_MODULES = {
    "pumice.chip": (
        "Chip", "ChipChoices", "ChipError", "ChipState", "OperationFailed", "PowerLost", "Refused", "Uncorrectable",
    ),
    "pumice.crash_lab": ("CrashReport", "crash", "record_session"),
    "pumice.device": ("Completions", "Device", "DeviceRefusal"),
    "pumice.errors": ("Interrupted", "SimulationError", "SpecError", "TraceError"),
    "pumice.results.command_log": ("read_command_log", "verify_log"),
    "pumice.planning.m_merge": ("Plan", "plan_m_merge"),
    "pumice.plugins": ("Plugin", "plugin"),
    "pumice.results.result": ("Result",),
    "pumice.runs.compare": ("Comparison", "compare"),
    "pumice.runs.life": ("life",),
    "pumice.runs.run": ("run",),
    "pumice.runs.spec": ("Spec", "preset", "presets", "workloads"),
    "pumice.runs.sweep": ("sweep",),
    "pumice.served_device": ("ServedDevice", "serve"),
    "pumice.torture_lab": ("Firmware", "Tortured", "TortureReport", "torture"),
    "pumice.traces.read_write": ("read_trace", "write_trace"),
}  # fmt: skip
_HOME = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    from importlib import import_module  # loaded here: the command has nothing to load by name

    if name == "__version__":
        return import_module("pumice._engine").version()
    if name == "policy":
        return import_module("pumice.policy")
    if name not in _HOME:
        raise AttributeError(f"module 'pumice' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
