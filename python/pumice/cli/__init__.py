"""The command `pumice`: its exit status and its one-line errors.

0 done, 1 a run or a write ended in an error, 2 bad usage, spec or trace, 130 interrupted.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence

DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point: runs the command line and exits."""
    for name in ("stdout", "stderr"):  # None if the shell closed it
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
    try:
        status = run(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        status = _complain("interrupted; what was already written is kept", INTERRUPTED)
    if status == INTERRUPTED:
        # A Ctrl-C that struck inside `exec`, as in the import of a dataclass, makes CPython die of
        # the signal at its end although the interrupt was handled: status -2 in place of 130.
        with contextlib.suppress(OSError):
            sys.stdout.flush()
        os._exit(status)
    sys.exit(status)


def run(arguments: Sequence[str]) -> int:
    """Runs the command line and returns its exit status; an error is one line on stderr."""
    # Imported here, so that Ctrl-C during these slow imports gives one line as well.
    import typer

    from pumice.cli.app import app, usage_text
    from pumice.cli.terminal import ReaderGone, RunsFailed
    from pumice.errors import Interrupted, SimulationError, SpecError, TraceError, one_line

    try:
        status = typer.main.get_command(app)(list(arguments), prog_name="pumice", standalone_mode=False)
    except typer.TyperException as error:
        return _complain(usage_text(error, arguments), USAGE)
    except (SpecError, TraceError) as error:
        return _complain(one_line(error), USAGE)
    except (SimulationError, RunsFailed) as error:
        return _complain(one_line(error), FAILED)
    except (Interrupted, typer.Abort) as error:
        return _complain(one_line(error), INTERRUPTED)
    except ReaderGone:
        _discard_stdout()
        return DONE
    except OSError as error:
        _discard_stdout()
        place = f"{error.filename}: " if error.filename else ""
        return _complain(place + (error.strerror or one_line(error)), FAILED)
    except Exception as error:
        if os.environ.get("PUMICE_TRACEBACK"):
            raise
        hint = "PUMICE_TRACEBACK=1 shows where"
        return _complain(f"internal error: {type(error).__name__}: {one_line(error)} ({hint})", FAILED)
    if status == INTERRUPTED:  # typer turns a bare Ctrl-C into this status
        return _complain("interrupted; what was already written is kept", INTERRUPTED)
    return status if isinstance(status, int) else DONE


def _complain(text: str, status: int) -> int:
    try:
        sys.stderr.write(f"pumice: {text}\n")
        sys.stderr.flush()
    except OSError:
        pass  # stderr is closed
    return status


def _discard_stdout() -> None:
    # What is still buffered would raise again when the interpreter ends.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
