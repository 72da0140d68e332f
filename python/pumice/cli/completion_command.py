"""`pumice completion`: completion scripts, made from the commands themselves."""

from __future__ import annotations

from typing import Annotated

import typer

from pumice.cli import completions
from pumice.cli.terminal import emit
from pumice.errors import SpecError, nearest
from pumice.text import printable


def completion_command(
    shell: Annotated[
        str, typer.Argument(metavar="bash|zsh|fish", help="The shell.", autocompletion=completions.shells)
    ],
) -> None:
    """Print the completion script of a shell."""
    if shell not in completions.SHELLS:
        allowed = ", ".join(completions.SHELLS)
        raise SpecError(
            f"shell '{printable(shell)}' is unknown{nearest(shell, completions.SHELLS)}; allowed: {allowed}"
        )
    emit(completions.script(shell))
