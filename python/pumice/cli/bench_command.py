"""`pumice bench`: how fast this machine simulates."""

from __future__ import annotations

from pumice.cli import options as opt
from pumice.cli.tables import Column, Sheet
from pumice.cli.terminal import emit, emit_json, show
from pumice.errors import Interrupted
from pumice.runs import speed
from pumice.runs.progress import RunProgress
from pumice.text import printable


def bench_command(*, as_json: opt.JsonOption = False) -> None:
    """Measure for a minute how fast this machine simulates, beside reference figures."""
    found: list[speed.Measured] = []
    try:
        with RunProgress("measuring") as bar:
            found.extend(speed.measure(speed.cases(), bar.update))
    except KeyboardInterrupt:
        raise Interrupted("interrupted; the figures are lost") from None
    if as_json:
        emit_json(speed.as_json(found))
        return
    names = ["", "counted", "M/s here", "M/s reference", "ratio", "CPU s"]
    columns = [Column(name, "text" if place < 2 else "number") for place, name in enumerate(names)]
    rows = [
        [one.name, one.counts, f"{one.rate:.1f}", f"{one.reference:.1f}", f"{one.ratio:.2f}", f"{one.cpu_s:.1f}"]
        for one in found
    ]
    machine = speed.machine()
    show(Sheet(columns, rows, 2), f"pumice {machine['version']} on {printable(machine['processor'])}")
    peaks = [one.peak_rss_mib for one in found if one.peak_rss_mib is not None]
    emit(
        "\nM/s: million flash commands or requests a second of processor time, one core; reference:"
        " docs/validation/speed.md" + (f"; peak memory {max(peaks):,.0f} MiB" if peaks else "")
    )
