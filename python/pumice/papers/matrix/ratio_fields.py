"""The matrix's table and picture: PEN, SFWS and AERO alone and together, on twins and recorded traces."""

from __future__ import annotations

import functools
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pumice.analysis import plots
from pumice.papers.aero.single_blocks import ask
from pumice.papers.experiment import choose_figures
from pumice.papers.listing import Row, Table
from pumice.papers.matrix.cells import Cell, Device, Erase, Place, Plan, read_plan
from pumice.papers.ratios import write_csv
from pumice.papers.reproduction import Named, Reproduction, Request, judge, run_studies
from pumice.results.document import WITHOUT_EFFECT, number
from pumice.runs.batch import Outcome

#: Name of the matrix among experiments, and of its one figure.
MATRIX = "matrix"

#: Reads that a p99.99 needs behind it.
TAIL_READS = 100_000

#: A number of a run's document, or None.
Quantity = Callable[[dict[str, Any]], float | None]


def response(document: dict[str, Any]) -> float | None:
    """Mean response time of all reads and writes, µs."""
    total, count = 0.0, 0.0
    for kind in ("read", "write"):
        requests, mean = (number(document, f"host.{kind}.{name}") for name in ("requests", "latency_us.mean"))
        total, count = total + (requests or 0.0) * (mean or 0.0), count + (requests or 0.0)
    return total / count if count else None


def read_tail(document: dict[str, Any]) -> float | None:
    """p99.99 of reads, µs; None with fewer than 10^5 of them."""
    enough = (number(document, "host.read.requests") or 0.0) >= TAIL_READS
    return number(document, "host.read.latency_us.p99_99") if enough else None


def cycles(document: dict[str, Any]) -> float | None:
    """Erase operations a block, whatever each of them erased."""
    found = [number(document, f"flash.erases.{unit}") for unit in ("block", "partial", "sub_block")]
    blocks = number(document, "device.blocks")
    return sum(count for count in found if count is not None) / blocks if blocks else None


def endurance(used: Quantity) -> Quantity:
    """How often the host can write the user capacity until the ECC's requirement is met, if wear is even and
    `used` says what of it the run took.

    `fixed` has no wear of its own: an erase of a fixed time applies the whole pulse, so its cycles are those of
    ISPE.
    """

    def found(document: dict[str, Any]) -> float | None:
        end = number(document, "wear.pec_at_requirement") or number(
            ask("lifetime", scheme="ispe"), "pec_at_requirement"
        )
        written, user = number(document, "host.write.bytes"), number(document, "device.user_bytes")
        wear = used(document)
        return end * written / (user * wear) if end and written and user and wear else None

    return found


@functools.cache
def _whole_pulse_cycles() -> float | None:
    """Cycles to the requirement under ISPE."""
    return number(ask("lifetime", scheme="ispe"), "pec_at_requirement")


def _field(path: str) -> Quantity:
    return lambda document: number(document, path)


#: What is compared: name → quantity, and whether more of it is better.
QUANTITIES: dict[str, tuple[Quantity, bool]] = {
    "write amplification": (_field("write_amplification"), False),
    "mean response, µs": (response, False),
    "p99.99 read, µs": (read_tail, False),
    "lifetime, capacities": (endurance(_field("wear.aep")), True),
    "lifetime at worst, capacities": (endurance(cycles), True),
}

#: More columns of the CSV.
BESIDES: dict[str, Quantity] = {
    "mean write, µs": _field("host.write.latency_us.mean"),
    "mean read, µs": _field("host.read.latency_us.mean"),
    "reads": _field("host.read.requests"),
    "bytes written": _field("host.write.bytes"),
    "AEP": _field("wear.aep"),
    "erases a block": cycles,
    "mean erase, µs": _field("wear.mean_erase_latency_us"),
}


@dataclass(frozen=True)
class Matrix:
    """A plan and what became of its runs."""

    plan: Plan
    outcomes: Mapping[int, Outcome]

    def value(self, place: int, quantity: Quantity) -> float | None:
        """A quantity of the cell at a place of the plan."""
        outcome = self.outcomes.get(place)
        return None if outcome is None or outcome.document is None else quantity(outcome.document)

    def ratios(self, quantity: Quantity, device: Device, erase: Erase, *, recorded: bool | None = None) -> list[float]:
        """A quantity over the baseline's, a workload each; of recorded traces, of twins, or of both (None)."""
        found: list[float] = []
        for load in self.plan.loads:
            if recorded is None or load.recorded == recorded:
                own, base = (
                    self._at(quantity, load.name, row, column)
                    for row, column in ((device, erase), (self.plan.devices[0], self.plan.erases[0]))
                )
                if own is not None and base:
                    found.append(own / base)
        return found

    def _at(self, quantity: Quantity, load: str, device: Device, erase: Erase) -> float | None:
        places = (
            place
            for place, cell in enumerate(self.plan.cells)
            if cell.load.name == load and cell.device == device and cell.erase == erase
        )
        return self.value(next(places), quantity)


def reproduce_matrix(request: Request) -> Reproduction:
    """Runs the matrix; writes its picture (PNG, SVG), every cell as CSV, and its table.

    Nobody published these numbers, so the scoreboard has no rows.

    Raises:
        SpecError: another figure is asked for, or the folder of traces cannot be read.
        Interrupted: Ctrl-C; finished runs are kept.
        OSError: a file cannot be written.
    """
    choose_figures(request.figures, [MATRIX])
    plan = read_plan(request.mode, Place(request.traces, request.directory / "traces"))
    named: Named = run_studies(request, MATRIX, [(MATRIX, cell.job) for cell in plan.cells if cell.job is not None])
    outcomes = [outcome for _, outcome in named]
    places = [place for place, cell in enumerate(plan.cells) if cell.job is not None]
    matrix = Matrix(plan, dict(zip(places, outcomes, strict=True)))
    write_cells(matrix, request.drawings)
    draw(matrix, request.drawings)
    made = table(matrix)
    made.write(request.directory)
    return Reproduction(judge(request, MATRIX, [], {}), outcomes, made)


def write_cells(matrix: Matrix, directory: Path) -> None:
    """Writes `matrix.csv`: every workload on every device, run or not."""
    quantities = {**{name: quantity for name, (quantity, _) in QUANTITIES.items()}, **BESIDES}
    columns = ["workload", "what it is", "erased", "order", "scheme", "suspension", *quantities, "status", "note"]
    rows = [
        [
            *(cell.load.name, cell.load.note, cell.device.unit, cell.device.order),
            *(cell.erase.scheme, cell.erase.suspension),
            *(matrix.value(place, quantity) for quantity in quantities.values()),
            *_status(cell, matrix.outcomes.get(place)),
        ]
        for place, cell in enumerate(matrix.plan.cells)
    ]
    write_csv(directory / f"{MATRIX}.csv", columns, rows)


def _status(cell: Cell, outcome: Outcome | None) -> tuple[str, str]:
    if outcome is None:
        return "not-run", cell.why_not
    if outcome.document is None:
        return "failed", outcome.error or ""
    # The matrix sets one base under designs that know different keys; what a design does not read is no news.
    said = [warning for warning in outcome.document.get("warnings") or [] if WITHOUT_EFFECT not in warning]
    return "done", "; ".join(said)


def table(matrix: Matrix) -> Table:
    """A line a device and erase: each quantity over the baseline's, geometric means over twins and over traces."""
    columns = ["erased", "order", "scheme", "suspension"]
    for name in QUANTITIES:
        short = name.partition(",")[0]
        columns += [f"{short}: twins", "traces"]
    rows: list[Row] = []
    for device in matrix.plan.devices:
        for erase in matrix.plan.erases:
            means = [
                _mean(matrix.ratios(quantity, device, erase, recorded=recorded))
                for quantity, _ in QUANTITIES.values()
                for recorded in (False, True)
            ]
            rows.append([device.unit, device.order, erase.scheme, erase.suspension, *means])
    base = f"{matrix.plan.devices[0]}, {matrix.plan.erases[0]}"
    return Table(f"Matrix: ratios to {base}", columns, rows, left=4, notes=_notes(matrix.plan))


def _mean(found: Sequence[float]) -> float | None:
    return statistics.geometric_mean(found) if found else None


def _notes(plan: Plan) -> list[str]:
    """What the workloads are, and why cells are empty, each reason once."""
    loads = [f"{load.name}: {load.note}" for load in plan.loads if load.why_not is None]
    refused = dict.fromkeys((str(cell.device), cell.why_not) for cell in plan.cells if cell.why_not)
    absent = dict.fromkeys(f"{load.name}: not-run, {load.why_not}" for load in plan.loads if load.why_not)
    reasons = {load.why_not for load in plan.loads}
    return [*loads, *absent, *(f"{device}: not-run, {why}" for device, why in refused if why not in reasons)]


def draw(matrix: Matrix, directory: Path) -> None:
    """Draws every quantity as a field of ratios, geometric means over all workloads with their range."""
    plan = matrix.plan
    made = [
        plots.Field(
            name.partition(",")[0],
            [[_spread(matrix.ratios(quantity, device, erase)) for erase in plan.erases] for device in plan.devices],
            more_is_better=better,
        )
        for name, (quantity, better) in QUANTITIES.items()
    ]
    columns = [f"{erase.scheme}\n{'' if erase.suspension == 'off' else 'suspended'}" for erase in plan.erases]
    title = f"What is erased, in which order, how: ratios to {plan.devices[0]}, {plan.erases[0]}"
    text = ["Mean over workloads and its range; blue is better.", *_notes(plan)]
    plots.fields(plots.Grid(title, [str(device) for device in plan.devices], columns, text), made, directory / MATRIX)


def _spread(found: Sequence[float]) -> tuple[float, float, float] | None:
    mean = _mean(found)
    return None if mean is None else (mean, min(found), max(found))
