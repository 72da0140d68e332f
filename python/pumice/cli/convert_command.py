"""`pumice from-mqsim`: configuration and workload files of MQSim as a spec."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pumice import files
from pumice.cli.terminal import emit, note
from pumice.other_simulators import mqsim
from pumice.outputs import refuse_other_file


def from_mqsim_command(
    configuration: Annotated[Path, typer.Argument(metavar="SSDCONFIG.xml", help="MQSim's configuration.")],
    workload: Annotated[
        Path | None, typer.Argument(metavar="[WORKLOAD.xml]", help="MQSim's workload.", show_default=False)
    ] = None,
    *,
    scenario: Annotated[int, typer.Option("--scenario", help="Scenario of the workload file.")] = 1,
    flow: Annotated[int | None, typer.Option("--flow", help="One flow of the scenario; all of them if absent.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Spec file; standard output if absent.")
    ] = None,
) -> None:
    """Convert MQSim's configuration and workload files (XML) into a spec."""
    if out is not None:
        refuse_other_file(out, None)
    found = mqsim.convert(configuration, workload, scenario=scenario, flow=flow)
    for line in found.notes:
        note(line)
    if out is None:
        emit(found.text())
        return
    with files.output_file(out):
        files.write_text(out, found.text())
    emit(f"spec written to {out}")
