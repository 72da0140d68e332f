"""How commands and groups of them behave on this command line."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from pumice.errors import Interrupted, SpecError


def new_app(**settings: Any) -> typer.Typer:
    """An application in the style of this command line: help is plain text, errors are handled by `cli.run`."""
    plain: dict[str, Any] = {"add_completion": False, "pretty_exceptions_enable": False, "rich_markup_mode": None}
    plain["context_settings"] = {"help_option_names": ["--help", "-h"]}
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
