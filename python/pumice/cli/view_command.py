"""`pumice view`: the runs of a folder in a browser."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Annotated

import typer

from pumice.cli.terminal import note
from pumice.errors import SpecError, Terminated


def view_command(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder with outputs of run, compare and sweep.")],
    *,
    listen: Annotated[
        str, typer.Option("--listen", metavar="ADDRESS", help="tcp:127.0.0.1:PORT (0: a free one); this machine only.")
    ] = "tcp:127.0.0.1:0",
) -> None:
    """Show the runs of a folder in a browser: compare them, and follow slow requests to what delayed them.

    Nothing is written and nothing leaves this machine. Ctrl-C ends it.
    """
    if not folder.is_dir():
        raise SpecError(f"{folder}: is not a folder")
    from pumice.workbench.pages import Workbench  # loaded here: help comes at once
    from pumice.workbench.server import WorkbenchServer

    with WorkbenchServer(listen, Workbench(folder.resolve())) as server:
        note(f"the runs of {folder} at {server.url}; Ctrl-C ends it")
        try:
            server.serve_forever()
        except (KeyboardInterrupt, Terminated):
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second one must not interrupt the end
            note("ended")
