"""The command `pumice`: its exit status and its one-line errors.

0 done, 1 a run or a write ended in an error, 2 bad usage, spec or trace, 3 code of the user's own ended the process,
130 interrupted; 143 and 129 if SIGTERM or SIGHUP ended it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Sequence

from pumice.cli import own_code

DONE, FAILED, USAGE, ENDED, INTERRUPTED = 0, 1, 2, 3, 130

#: Said after a Ctrl-C where nobody knows more of what is kept: files come into view when they are complete.
_INTERRUPTED = "interrupted; unfinished files are not kept"

#: What a signal's number is added to for the status of a command that it ended.
_SIGNALLED = 128


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point: runs the command line and exits."""
    for name in ("stdout", "stderr"):  # None if the shell closed it
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
    try:
        status = _status(sys.argv[1:] if arguments is None else arguments)
    finally:
        own_code.tell_done()
    if status > _SIGNALLED:
        # A Ctrl-C that struck inside `exec`, as in the import of a dataclass, makes CPython die of
        # the signal at its end although the interrupt was handled: status -2 in place of 130.
        # Whoever reads stdout may have stopped, so nothing more is written there.
        os._exit(status)
    sys.exit(status)


def _status(arguments: Sequence[str]) -> int:
    """Runs the command line and returns its exit status, whatever ends it."""
    try:
        if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:  # of `__main__`
            signal.signal(signal.SIGINT, signal.default_int_handler)
        own_code.watch(own_code.files_of(arguments), ENDED)
        _prepare()
        status = run(arguments)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # nothing is left to interrupt but the end of the interpreter
        return status
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second one must not interrupt the line
        return _complain(_INTERRUPTED, INTERRUPTED)
    except BaseException as error:
        number = getattr(error, "signal_number", None)  # of a `Terminated`, whose module may not be loaded yet
        if number is None:
            raise
        return _complain(f"stopped by {error}; unfinished files are not kept", _SIGNALLED + number)


def _prepare() -> None:
    """Readies the process: for any encoding of its output, and for signals that ask it to end."""
    from pumice.cli.signals import end_tidily
    from pumice.text import show_everything

    show_everything(sys.stdout)
    show_everything(sys.stderr)
    end_tidily()


def run(arguments: Sequence[str]) -> int:
    """Runs the command line and returns its exit status; an error is one line on stderr."""
    # Imported here, so that Ctrl-C during these slow imports gives one line as well.
    import typer

    from pumice.cli.app import app, usage_text
    from pumice.cli.groups import Stopped
    from pumice.cli.terminal import RunsFailed
    from pumice.errors import (
        ReaderGone,
        SimulationError,
        SpecError,
        TraceError,
        one_line,
    )
    from pumice.made import command_line

    if os.environ.get("_PUMICE_COMPLETE"):  # a shell asks what may come next
        from typer.completion import completion_init  # type: ignore[attr-defined]

        completion_init()
    try:
        with command_line(arguments):
            status = typer.main.get_command(app)(list(arguments), prog_name="pumice", standalone_mode=False)
    except typer.TyperException as error:
        return _complain(usage_text(error, arguments), USAGE)
    except (SpecError, TraceError) as error:
        # Each wrong setting has a line.
        return _complain("\n".join(filter(None, str(error).splitlines())) or one_line(error), USAGE)
    except (SimulationError, RunsFailed) as error:
        return _complain(one_line(error), FAILED)
    except Stopped as error:
        return _complain(one_line(error), _SIGNALLED + error.signal_number)
    except typer.Abort as error:
        return _complain(one_line(error), INTERRUPTED)
    except ReaderGone:
        _discard_stdout()
        return DONE
    except OSError as error:
        _discard_stdout()
        place = f"{error.filename}: " if error.filename else ""
        return _complain(place + (error.strerror or one_line(error)), FAILED)
    except MemoryError as error:
        return _complain(f"out of memory: {one_line(error)}", FAILED)
    except BaseException as error:
        # A panic of the engine is no `Exception`.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        if os.environ.get("PUMICE_TRACEBACK"):
            raise
        hint = "PUMICE_TRACEBACK=1 shows where"
        return _complain(f"internal error: {type(error).__name__}: {one_line(error)} ({hint})", FAILED)
    if status == INTERRUPTED:  # typer turns a bare Ctrl-C into this status
        return _complain(_INTERRUPTED, INTERRUPTED)
    return status if isinstance(status, int) else DONE


def _complain(text: str, status: int) -> int:
    from pumice.text import message

    try:
        sys.stderr.write("".join(f"pumice: {message(line)}\n" for line in text.split("\n")))
        sys.stderr.flush()
    except OSError:
        pass  # stderr is closed
    return status


def _discard_stdout() -> None:
    # What is still buffered would raise again when the interpreter ends.
    with contextlib.suppress(OSError):  # of a test, which has no descriptor
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
