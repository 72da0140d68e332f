"""`pumice life`: a device written until its end."""

from __future__ import annotations

import json
import time
from typing import Annotated, Any

import typer

from pumice.cli import options as opt
from pumice.cli.tables import Column, Sheet
from pumice.cli.terminal import emit_json, note, show
from pumice.runs.life import life
from pumice.runs.progress import CountProgress

#: Variance over mean of the erases of a page from which on a device does not wear evenly.
_UNEVEN = 3.0

_HEADS = (
    "scheme",
    "block's\nP/E cycles",
    "device's\nP/E cycles",
    "drive\nwrites",
    "TB\nwritten",
    "WAF",
    "blocks\nretired",
)


@opt.takes_options
def life_command(
    spec: opt.SpecArgument = None,
    *,
    schemes: Annotated[
        str | None,
        typer.Option("--schemes", metavar="A,B", help="Erase schemes to compare; the spec's alone if absent."),
    ] = None,
    options: opt.SpecOptions,
    whole: Annotated[
        bool, typer.Option("--whole", help="Simulate every write instead of jumping over thousands of cycles.")
    ] = False,
    steps: Annotated[
        int, typer.Option("--steps", metavar="N", min=1, max=10_000, help="Jumps in which the spare is used up.")
    ] = 8,
    window: Annotated[
        float, typer.Option("--window", metavar="X", min=0.01, max=100, help="P/E cycles simulated between jumps.")
    ] = 0.5,
    as_json: opt.JsonOption = False,
) -> None:
    """Write a device until its end, under each erase scheme, and show how long it lives."""
    built = options.build(spec)
    names = [name.strip() for name in schemes.split(",")] if schemes else [None]
    lives: dict[str, dict[str, Any]] = {}
    rows: list[list[str]] = []
    for name in names:
        began = time.process_time()
        with CountProgress("% of the spare used up") as bar:

            def progress(share: float, bar: CountProgress = bar) -> bool:
                bar.update(int(100 * share), 100)
                return True

            found = life(built, name, whole=whole, window_cycles=window, steps=steps, progress=progress)
        scheme = name or str(built.resolve()["config"]["erase"]["scheme"])
        lives[scheme] = found
        rows.append(_row(scheme, found))
        _tell(scheme, found, time.process_time() - began)
    if as_json:
        emit_json(json.dumps(lives))
        return
    columns = [Column(head, "text" if place == 0 else "number") for place, head in enumerate(_HEADS)]
    show(Sheet(columns, rows))


def _row(scheme: str, found: dict[str, Any]) -> list[str]:
    end, block = found["end"], found["block_pec"]
    return [
        scheme,
        "never" if block is None else f"{block:,.0f}",
        f"{end['pec']:,.0f}",
        f"{end['host_bytes'] / found['capacity_bytes']:,.0f}",
        f"{end['host_bytes'] / 1e12:,.2f}",
        f"{found['write_amplification']:.2f}",
        f"{end['retired_blocks']:,} of {found['blocks'][0]:,}",
    ]


def _tell(scheme: str, found: dict[str, Any], seconds: float) -> None:
    """Says how the life was found, and what should not be trusted."""
    share = found["simulated_bytes"] / max(found["end"]["host_bytes"], 1.0)
    note(f"{scheme}: {share:.2%} of the writes simulated in {len(found['course'])} windows, {seconds:.1f} s of CPU")
    if share < 1 and found["wear_spread"] > _UNEVEN:
        note(
            f"warning: {scheme}: blocks wear unevenly (variance of erases {found['wear_spread']:.1f} times their mean),"
            " and jumps wear all alike; ftl.wear_leveling or --whole"
        )
