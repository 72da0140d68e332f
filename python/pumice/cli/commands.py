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
        name: how it is called.
        text: what it does, in one line. The docstring of its function begins with the same line.
        within: its module in `pumice.cli`, where that is not called after it.
        is_group: whether the module has an application of subcommands, `app`, in place of the command's function.
        package: another package that declares the command, as the entry point of its name in the group
            `pumice.commands`; empty for a command of this one.
    """

    name: str
    text: str
    within: str = ""
    is_group: bool = False
    package: str = ""

    @property
    def module(self) -> str | None:
        """Name of its module in `pumice.cli`; None if another package declares it."""
        return None if self.package else self.within or f"{self.name}_command"

    @property
    def target(self) -> str:
        """Name in the module of its function, or of the application of its subcommands."""
        return "app" if self.is_group else f"{self.name.replace('-', '_')}_command"


#: The commands in the order in which they are listed.
_LISTED = (
    Entry("run", "Run one simulation and show its result."),
    Entry("compare", "Run variants and show them side by side, with ratios to the first."),
    Entry("sweep", "Run every combination of a sweep file; one Parquet row a run."),
    Entry("life", "Write a device until its end, under each erase scheme, and show how long it lives."),
    Entry("plan", "Plan one merge and show what is copied, erased and restored."),
    Entry("reproduce", "Reproduce a paper's figures and compare them with what it printed.", package="pumice-papers"),
    Entry("report", "Write a self-contained HTML report."),
    Entry("plot", "Draw stored runs: any key or field over any other, as a figure or a table."),
    Entry(
        "view", "Show the runs of a folder in a browser: compare them, and follow slow requests to what delayed them."
    ),
    Entry("serve", "Serve the simulated device to real programs, over NBD."),
    Entry(
        "ctl",
        "Ask a served device for its status or result, or give it an order: to lose its power, to go back, to end.",
    ),
    Entry("crash", "Cut the power at many instants of a session; status 1 if a host would miss what it was promised."),
    Entry(
        "torture",
        "Cut the power at every operation of firmware, with every leftover; status 1 if it then fails or loses"
        " something.",
    ),
    Entry("verify", "Replay a command log against the chip's rules; status 1 if one is broken."),
    Entry("plugins", "Show what a shared object holds: its name and its keys.", "plugin_commands"),
    Entry(
        "conform",
        "Test a translation layer of your own; status 1 with the shortest requests that break it.",
        "plugin_commands",
    ),
    Entry("bench", "Measure for a minute how fast this machine simulates, beside reference figures."),
    Entry("presets", "List the presets, or print one as TOML.", "list_commands"),
    Entry("workloads", "List the workloads and the facts each is made to meet.", "list_commands"),
    Entry("schema", "Print the JSON Schema of a spec.", "list_commands"),
    Entry("explain", "Say what a key of the spec means: unit, default, allowed values, source.", "list_commands"),
    Entry("from-mqsim", "Convert MQSim's configuration and workload files (XML) into a spec.", "convert_command"),
    Entry("completion", "Print the completion script of a shell."),
    Entry("snapshot", "Keep aged devices in files, and run on them.", is_group=True),
    Entry("trace", "Inspect and write trace files.", is_group=True),
)

#: The commands by name.
COMMANDS = {entry.name: entry for entry in _LISTED}


def load(name: str) -> Any:
    """The command `name`, loaded.

    Raises:
        SpecError: another package declares the command, and is not installed.
    """
    entry = COMMANDS[name]
    if entry.module is None:
        target = _of_another_package(name, entry.package)
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
