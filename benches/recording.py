"""Draws a terminal with commands and what they print: `python benches/recording.py docs/figures/terminal.svg`.

The commands are run when the picture is drawn, so it shows what the program of this checkout prints.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from pumice import files

COMMANDS = (
    "pumice run --preset tiny --set ftl.gc_polcy=fifo",
    "pumice compare --preset tiny --vary ftl.merge=block-erase,m-merge"
    " --metrics host.write.latency_us.mean,host.write.latency_us.p99,write_amplification,wear.aep",
    "pumice explain ftl.u_index",
)
COLUMNS = 92


def printed(command: str, folder: Path) -> str:
    """What a command prints on a terminal without colours, its errors included."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "COLUMNS": str(COLUMNS), "NO_COLOR": "1"}
    done = subprocess.run(
        command.split(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder, env=environment
    )
    return done.stdout


def picture() -> str:
    """The picture as SVG, the same each time, without fonts from elsewhere."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), color_system="truecolor", force_terminal=True)
    with tempfile.TemporaryDirectory() as folder:
        for command in COMMANDS:
            console.print(Text.assemble(("$ ", "bold green"), (command, "bold")))
            console.print(Text(printed(command, Path(folder))))
    svg = console.export_svg(title="pumice", theme=MONOKAI, unique_id="pumice")
    return re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)


if __name__ == "__main__":
    files.write_text(Path(sys.argv[1]), picture())
