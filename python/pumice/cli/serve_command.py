"""`pumice serve`: the simulated device for real programs."""

from __future__ import annotations

import json
import os
import signal
import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from pumice.cli import options as opt
from pumice.cli.run_command import tell_result
from pumice.cli.terminal import note
from pumice.errors import SpecError, Terminated, reason
from pumice.outputs import RESULT, SESSION_KIND, one_set, output_directory, refuse_other_file
from pumice.results.result import Result
from pumice.served_device import serve

#: Seconds between two looks at whether the simulation still goes on.
_LOOK_S = 0.2


class Clock(StrEnum):
    """What time a served device goes by."""

    VIRTUAL = "virtual"
    REAL = "real"


@opt.takes_options
def serve_command(
    spec: opt.SpecArgument = None,
    *,
    options: opt.PlainOptions,
    listen: Annotated[
        str,
        typer.Option("--listen", metavar="ADDRESS", help="unix:PATH or tcp:127.0.0.1:PORT (0: a free one)."),
    ],
    control: Annotated[
        str | None, typer.Option("--control", metavar="unix:PATH", help="Address for `pumice ctl`.")
    ] = None,
    store: Annotated[
        Path | None, typer.Option("--store", metavar="FILE", help="File that keeps the device; memory if absent.")
    ] = None,
    record: Annotated[
        Path | None, typer.Option("--record", metavar="TRACE", help="Trace to write, which replays to the same result.")
    ] = None,
    session: Annotated[
        Path | None,
        typer.Option(
            "--session", metavar="FILE", help="Recording to write for `pumice crash`: requests with their data."
        ),
    ] = None,
    clock: Annotated[
        Clock, typer.Option("--clock", help="virtual: answer at once; real: hold each reply until its simulated end.")
    ] = Clock.VIRTUAL,
    ready_fd: Annotated[
        int | None,
        typer.Option(
            "--ready-fd", metavar="N", min=1, help="File descriptor for the address, written when clients can connect."
        ),
    ] = None,
    out: opt.OutOption = None,
    as_json: opt.JsonOption = False,
) -> None:
    """Serve the simulated device to real programs, over NBD.

    Ctrl-C or SIGTERM ends it: what clients have asked for is answered, and the result is shown.
    """
    for path, kind in ((record, None), (session, SESSION_KIND)):
        if path is not None:
            refuse_other_file(path, kind)
    with output_directory(out):
        chosen = options.build(spec)
        device = serve(
            chosen, listen=listen, control=control, store=store, record=record, session=session, clock=clock.value
        )
        try:
            if (recovered := device.status()["recovered"]) is not None:
                note(f"warning: {recovered}")
            note(f"{device.capacity_bytes:,} bytes at {device.uri}; Ctrl-C ends it and shows the result")
            _tell_ready(ready_fd, device.uri)
            while not device.is_over:
                time.sleep(_LOOK_S)
        except (KeyboardInterrupt, Terminated):
            pass
        finally:
            # No further signal may interrupt the putting away, whichever it is.
            for name in ("SIGINT", "SIGTERM", "SIGHUP"):
                signal.signal(getattr(signal, name), signal.SIG_IGN)
            result = device.stop()
        _tell(result, out, as_json=as_json)
        _tell_lateness(device.lateness)


def _tell_ready(descriptor: int | None, uri: str) -> None:
    """Writes the address to a file descriptor and closes it."""
    if descriptor is None:
        return
    try:
        with os.fdopen(descriptor, "w") as ready:
            ready.write(f"{uri}\n")
    except OSError as error:
        raise SpecError(f"--ready-fd {descriptor}: {reason(error)}") from None


def _tell(result: Result, out: Path | None, *, as_json: bool) -> None:
    document = result.to_dict()
    text = json.dumps(document)
    if out is not None:
        with one_set(out, RESULT) as staged:
            (staged / RESULT).write_text(f"{text}\n", encoding="utf-8")
    tell_result(document, text, out, as_json=as_json)


def _tell_lateness(lateness: dict[str, Any] | None) -> None:
    """Says how late replies were, and warns if it matters."""
    if lateness is None or lateness["replies"] == 0:
        return
    late = [f"{name} {lateness[f'{name}_us']:.0f} us" for name in ("mean", "p50", "p99", "max")]
    note(f"lateness of {lateness['replies']:,} replies: {', '.join(late)}")
    if lateness["warning"] is not None:
        note(f"warning: {lateness['warning']}")
