"""Every command: its name, where its function is, and its line of help.

A command's module is loaded when the command is used, so that the others do not wait for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from pumice.errors import Interrupted, SpecError


@dataclass(frozen=True)
class Entry:
    """A command that is not loaded yet.

    Attributes:
        module: name of its module in `pumice.cli`.
        target: name in the module of the command's function, or of the application of its subcommands.
        text: what it does, in one line. The docstring of its function begins with the same line.
    """

    module: str
    target: str
    text: str


#: The commands in the order in which they are listed.
COMMANDS: dict[str, Entry] = {
    "run": Entry("run_command", "run_command", "Run one simulation and show its result."),
    "compare": Entry(
        "compare_command", "compare_command", "Run variants and show them side by side, with ratios to the first."
    ),
    "sweep": Entry("sweep_command", "sweep_command", "Run every combination of a sweep file; one Parquet row a run."),
    "plan": Entry("plan_command", "plan_command", "Plan one merge and show what is copied, erased and restored."),
    "reproduce": Entry(
        "reproduce_command",
        "reproduce_command",
        "Reproduce a paper's figures and compare them with what it printed.",
    ),
    "report": Entry("report_command", "report_command", "Write a self-contained HTML report."),
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
    "verify": Entry(
        "verify_command",
        "verify_command",
        "Replay a command log into the chip's rules; status 1 if one is broken.",
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
    "completion": Entry("manual_commands", "completion_command", "Print the completion script of a shell."),
    "man": Entry(
        "manual_commands", "man_command", "Print a man page (`pumice man run | man -l -`), or write all of them."
    ),
    "snapshot": Entry("snapshot_command", "app", "Keep aged devices in files, and run on them."),
    "trace": Entry("trace_command", "app", "Look into trace files and write them."),
}


def load(name: str) -> Any:
    """The command `name`, loaded."""
    entry = COMMANDS[name]
    target = getattr(import_module(f"pumice.cli.{entry.module}"), entry.target)
    if not isinstance(target, typer.Typer):
        app = new_app()
        app.command(name)(target)
        target = app
    command = typer.main.get_command(target)
    command.name = name
    return command


def new_app(**settings: Any) -> typer.Typer:
    """An application in the style of this command line: help is plain text, errors are handled by `cli.run`."""
    plain: dict[str, Any] = {"add_completion": False, "pretty_exceptions_enable": False, "rich_markup_mode": None}
    return _App(**{"cls": FullGroup, **plain, **settings})


class _App(typer.Typer):
    """An application whose commands take each option once."""

    def command(self, name: str | None = None, **settings: Any) -> Any:
        """As typer's, for a command of `OnceCommand`."""
        return super().command(name, **{"cls": OnceCommand, **settings})


class OnceCommand(TyperCommand):
    """A command that refuses an option that is given twice, where typer would take the last one without a word."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As typer's.

        Raises:
            SpecError: an option that can be given once is given more often.
        """
        if not ctx.resilient_parsing:  # a shell asks what may come next
            _, _, order = self.make_parser(ctx).parse_args(args=list(args))
            for param in order:
                if isinstance(param, TyperOption) and not (param.multiple or param.is_flag) and order.count(param) > 1:
                    raise SpecError(f"{param.opts[0]} is given {order.count(param)} times; allowed: once")
        return super().parse_args(ctx, args)


class FullGroup(TyperGroup):
    """A group whose help shows the whole line of each command, wrapped where it must be."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes the list of commands."""
        rows = [(name, command.help or "") for name, command in self.commands.items() if not command.hidden]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


class Stopped(Exception):
    """An `Interrupted` on its way through typer."""

    def __init__(self, interrupted: Interrupted) -> None:
        super().__init__(str(interrupted))
        self.signal_number = interrupted.signal_number


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
