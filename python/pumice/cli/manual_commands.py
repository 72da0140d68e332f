"""`pumice completion`, `pumice man`: completion scripts and man pages, made from the commands themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pumice import files
from pumice.cli import completions
from pumice.cli import options as opt
from pumice.cli.terminal import emit
from pumice.errors import SpecError, nearest
from pumice.outputs import PAGE_KIND, refuse_other_file
from pumice.text import count, printable


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


def man_command(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[COMMAND]",
            help="Command; the page of pumice itself if absent.",
            autocompletion=completions.pages,
        ),
    ] = None,
    out: opt.OutOption = None,
) -> None:
    """Print a man page (`pumice man run | man -l -`), or write all of them."""
    from pumice.cli.manual import pages

    made = pages(context.find_root().command)
    if out is not None:
        if name is not None:
            raise SpecError("--out writes all pages; it takes no COMMAND")
        _write(made, out)
        return
    wanted = f"pumice-{name}" if name is not None else "pumice"
    if wanted not in made:
        known = [page.removeprefix("pumice-") for page in made if page != "pumice"]
        raise SpecError(
            f"no such command '{printable(name or '')}'{nearest(name or '', known)}; allowed: {', '.join(known)}"
        )
    emit(made[wanted])


def _write(made: dict[str, str], out: Path) -> None:
    with files.output_directory(out):
        for page in made:
            refuse_other_file(out / f"{page}.1", PAGE_KIND)
        for page, text in made.items():
            files.write_text(out / f"{page}.1", text)
    emit(f"{count(len(made), 'man page')} written to {out}")
