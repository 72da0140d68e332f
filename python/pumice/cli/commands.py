"""Every command: its name, where its function is, and its line of help.

A command's module is loaded when the command is used, so that the others do not wait for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand

from pumice.cli.groups import FullGroup, Stopped, new_app
from pumice.errors import Interrupted, SpecError


@dataclass(frozen=True)
class Entry:
    """A command that is not loaded yet.

    Attributes:
        module: name of its module in `pumice.cli`; None if another package declares the command, as the entry point of
            its name in the group `pumice.commands`.
        target: name in the module of the command's function, or of the application of its subcommands; or the other
            package's name.
        text: what it does, in one line. The docstring of its function begins with the same line.
    """

    module: str | None
    target: str
    text: str


#: The commands in the order in which they are listed.
COMMANDS: dict[str, Entry] = {
    "run": Entry("run_command", "run_command", "Run one simulation and show its result."),
    "compare": Entry(
        "compare_command", "compare_command", "Run variants and show them side by side, with ratios to the first."
    ),
    "sweep": Entry("sweep_command", "sweep_command", "Run every combination of a sweep file; one Parquet row a run."),
    "life": Entry(
        "life_command",
        "life_command",
        "Write a device until its end, under each erase scheme, and show how long it lives.",
    ),
    "plan": Entry("plan_command", "plan_command", "Plan one merge and show what is copied, erased and restored."),
    "reproduce": Entry(
        None,
        "pumice-papers",
        "Reproduce a paper's figures and compare them with what it printed.",
    ),
    "report": Entry("report_command", "report_command", "Write a self-contained HTML report."),
    "plot": Entry(
        "plot_command",
        "plot_command",
        "Draw stored runs: any key or field over any other, as a figure or a table.",
    ),
    "view": Entry(
        "view_command",
        "view_command",
        "Show the runs of a folder in a browser: compare them, and follow slow requests to what delayed them.",
    ),
    "serve": Entry("serve_command", "serve_command", "Serve the simulated device to real programs, over NBD."),
    "ctl": Entry(
        "ctl_command",
        "ctl_command",
        "Ask a served device for its status or result, or give it an order: to lose its power, to go back, to end.",
    ),
    "crash": Entry(
        "crash_command",
        "crash_command",
        "Cut the power at many instants of a session; status 1 if a host would miss what it was promised.",
    ),
    "torture": Entry(
        "torture_command",
        "torture_command",
        "Cut the power at every operation of firmware, with every leftover; status 1 if it then fails or loses"
        " something.",
    ),
    "verify": Entry(
        "verify_command",
        "verify_command",
        "Replay a command log against the chip's rules; status 1 if one is broken.",
    ),
    "plugins": Entry("plugin_commands", "plugins_command", "Show what a shared object holds: its name and its keys."),
    "conform": Entry(
        "plugin_commands",
        "conform_command",
        "Test a translation layer of your own; status 1 with the shortest requests that break it.",
    ),
    "bench": Entry(
        "bench_command",
        "bench_command",
        "Measure for a minute how fast this machine simulates, beside reference figures.",
    ),
    "presets": Entry("list_commands", "presets_command", "List the presets, or print one as TOML."),
    "workloads": Entry("list_commands", "workloads_command", "List the workloads and the facts each is made to meet."),
    "schema": Entry("list_commands", "schema_command", "Print the JSON Schema of a spec."),
    "explain": Entry(
        "list_commands",
        "explain_command",
        "Say what a key of the spec means: unit, default, allowed values, source.",
    ),
    "from-mqsim": Entry(
        "convert_command", "from_mqsim_command", "Convert MQSim's configuration and workload files (XML) into a spec."
    ),
    "completion": Entry("completion_command", "completion_command", "Print the completion script of a shell."),
    "snapshot": Entry("snapshot_command", "app", "Keep aged devices in files, and run on them."),
    "trace": Entry("trace_command", "app", "Inspect and write trace files."),
}


def load(name: str) -> Any:
    """The command `name`, loaded.

    Raises:
        SpecError: another package declares the command, and is not installed.
    """
    entry = COMMANDS[name]
    if entry.module is None:
        target = _of_another_package(name, entry.target)
    else:
        target = getattr(import_module(f"pumice.cli.{entry.module}"), entry.target)
    if not isinstance(target, typer.Typer):
        app = new_app()
        app.command(name)(target)
        target = app
    command = typer.main.get_command(target)
    command.name = name
    return command


def _of_another_package(name: str, package: str) -> Any:
    found = _declared_elsewhere(name)
    if not found:
        raise SpecError(f"pumice {name} needs the package {package}, which is not installed: pip install {package}")
    return next(iter(found)).load()


def _declared_elsewhere(name: str) -> Any:
    from importlib.metadata import entry_points  # loaded here: one command needs it

    return entry_points(group="pumice.commands", name=name)


class LazyGroup(FullGroup):
    """The group of all commands. It lists them without loading any, and loads the one that is used."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for name, entry in COMMANDS.items():
            self.add_command(TyperCommand(name=name, help=entry.text))

    def invoke(self, ctx: Any) -> Any:
        """As the group of typer, which would forget what an `Interrupted` says, as it does of every Ctrl-C."""
        try:
            return super().invoke(ctx)
        except Interrupted as error:
            raise Stopped(error) from None

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command that `args` begins with, loaded, and the rest of them."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, load(name) if name in COMMANDS else command, rest
