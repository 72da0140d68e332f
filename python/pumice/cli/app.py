"""All commands as one application."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated

import typer

from pumice.cli.commands import LazyGroup
from pumice.cli.groups import new_app
from pumice.cli.terminal import emit
from pumice.errors import nearest

app = new_app(name="pumice", cls=LazyGroup, help="Simulates 3D NAND SSDs built around the erase operation.")


#: What other tools call a command, and what people type who look for one, behind what they mean.
_OTHER_NAMES = {
    "run SPEC.toml": "simulate sim start exec",
    "run --trace FILE": "replay",
    "bench": "benchmark speed",
    "run --fio-job JOB": "fio",
    "compare": "diff",
    "sweep SWEEP.toml": "grid batch",
    "serve": "nbd mount",
    "report": "html",
    "trace check FILE": "check",
    "trace info FILE": "info",
    "trace convert FILE OUT": "convert",
    "trace generate OUT": "generate",
    "--help": "help manual man",
    "--version": "version",
    "explain --search WORD": "search",
    "explain --all": "keys config options",
    "presets": "list devices",
    "workloads": "traces",
}


@app.callback(invoke_without_command=True)
def pumice(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Simulates 3D NAND SSDs built around the erase operation."""
    if version:
        import pumice as package

        emit(package.__version__)
    elif context.invoked_subcommand is None:
        emit(context.get_help())


def usage_text(error: typer.TyperException, arguments: Sequence[str]) -> str:
    """A usage error in one line: what was found, what is allowed, and the nearest known name."""
    text = " ".join(error.format_message().split())
    context = getattr(error, "ctx", None)
    option = getattr(error, "option_name", None)
    if option and "requires an argument" in text:
        text = f"{option}: its value is missing"
    if context is None:
        return text
    explain = f" (`{context.command_path} --help` explains)"
    if "No such command" in text and hasattr(context.command, "commands"):
        word = text.partition("'")[2].partition("'")[0]
        known = list(context.command.commands)
        meant = next((command for command, names in _OTHER_NAMES.items() if word.lower() in names.split()), None)
        hint = f"; meant is perhaps `pumice {meant}`" if meant and context.parent is None else nearest(word, known)
        return f"no such command {word!r}{hint}; allowed: {', '.join(known)}{explain}"
    if option and "No such option" in text:
        known = [name for param in context.command.params for name in param.opts if name.startswith("--")]
        return f"no such option {option}{nearest(option, known)}; allowed: {', '.join(known)}{explain}"
    found = _given(arguments, getattr(getattr(error, "param", None), "opts", []))
    if found is not None and isinstance(error, typer.BadParameter):
        return f"{found[0]} {found[1]!r}: {_of_number(error.message)}{explain}"
    return f"{text}{explain}"


def _of_number(message: str) -> str:
    """Why typer refused the value of an option, in the words of this command line where it is about a number."""
    if re.search(r"is not a valid float( range)?\.$", message):
        return "is not a number; allowed: digits such as 0.5"
    if re.search(r"is not a valid int(eger)?( range)?\.$", message):
        return "is not a whole number; allowed: digits"
    if limits := re.search(r"is not in the range (\d+)<=x<=(\d+)\.$", message):
        return f"is not allowed; allowed: from {limits[1]} to {int(limits[2]):,}"
    if least := re.search(r"is not in the range x>=(\d+)\.$", message):
        return f"is not allowed; allowed: {least[1]} and more"
    return message[:1].lower() + message[1:]


def _given(arguments: Sequence[str], names: Sequence[str]) -> tuple[str, str] | None:
    """The option among `names` that was given, and its value."""
    for place, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if name in names and (equals or place + 1 < len(arguments)):
            return name, value if equals else arguments[place + 1]
    return None
