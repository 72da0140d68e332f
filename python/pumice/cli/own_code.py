"""Commands that run code of the user's own, in a process that another one watches.

Such code is in the process of the command: it can end it (`exit(0)`), crash it, and write to standard output. So the
command goes on in a child, where what it writes to descriptor 1 goes to standard error, and its parent waits. A child
that ends without having said that the command is done has been ended by the code that it ran.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
from collections.abc import Sequence

#: Options that name code, and commands whose argument does.
_OPTIONS, _COMMANDS = ("--plugin", "--policy"), ("plugins", "conform")

#: Asks Linux to send a signal to a process when its parent dies.
_PR_SET_PDEATHSIG = 1

#: What is passed on to the child if somebody sends it to the parent alone.
_PASSED_ON = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")

#: `si_code` of a signal that a process sent. The terminal's go to parent and child alike.
_OF_A_PROCESS = 0

#: Where the child says that the command is done; None in a process that nobody watches.
_done: int | None = None


def files_of(arguments: Sequence[str]) -> list[str]:
    """The files with code of the user's own that a command line names."""
    named = list(arguments[1:2]) if arguments[:1] and arguments[0] in _COMMANDS else []
    for place, argument in enumerate(arguments):
        option, equals, value = argument.partition("=")
        if option in _OPTIONS:
            named += [value] if equals else list(arguments[place + 1 : place + 2])
    return named


def watch(files: Sequence[str], status: int) -> None:
    """Returns in a child of this process, which goes on with the command, if the command runs code from `files`. This
    process waits for it, and ends with `status` and a line if the child does not come to its end."""
    global _done
    if not files or not hasattr(signal, "sigwaitinfo"):
        return
    listen, done = os.pipe()
    known = {getattr(signal, name) for name in _PASSED_ON}
    heard = {number for number in known if signal.getsignal(number) is not signal.SIG_IGN} | {signal.SIGCHLD}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, heard)
    parent, child = os.getpid(), os.fork()
    if child:
        os.close(done)
        code = _wait(child, heard)
        if code >= 0 and os.read(listen, 1):
            os._exit(code)
        _complain(code, files)
        os._exit(status)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    os.close(listen)
    _done = done
    _die_with(parent)
    _keep_stdout()


def tell_done() -> None:
    """Says that the command has come to its end."""
    if _done is not None:
        os.write(_done, b".")


def _die_with(parent: int) -> None:
    """Ends this process when its parent is killed: nobody waits for it any more."""
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _keep_stdout() -> None:
    """Keeps standard output for the command: whatever else writes to descriptor 1 writes to standard error."""
    with contextlib.suppress(OSError):
        own = os.dup(1)
        os.dup2(2, 1)
        was, out = sys.stdout, io.FileIO(own, "wb")
        kept = io.TextIOWrapper(io.BufferedWriter(out), was.encoding, was.errors, line_buffering=out.isatty())
        sys.stdout = sys.__stdout__ = kept  # type: ignore[misc]


def _wait(child: int, heard: set[signal.Signals]) -> int:
    """Waits for the child, and passes on what it does not hear itself. Returns its status; below 0: a signal."""
    while not (ended := os.waitpid(child, os.WNOHANG))[0]:
        told = signal.sigtimedwait(heard, 1)
        if told is not None and told.si_signo != signal.SIGCHLD and told.si_code == _OF_A_PROCESS:
            os.kill(child, told.si_signo)
    return os.waitstatus_to_exitcode(ended[1])


def _complain(code: int, files: Sequence[str]) -> None:
    """Says how a child ended that has not come to its end."""
    from pumice.errors import how_ended

    line = f"the process {how_ended(code)} before the command was done; it ran code of your own: {', '.join(files)}"
    with contextlib.suppress(OSError):
        os.write(2, f"pumice: {line}\n".encode("utf-8", "backslashreplace"))
