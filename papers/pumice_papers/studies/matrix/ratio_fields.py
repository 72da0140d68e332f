"""The matrix's picture and listing: PEN, SFWS and AERO alone and together, on twins and recorded traces."""

from __future__ import annotations

import functools
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pumice.analysis import plots
from pumice.analysis.plots import Frame
from pumice.results.document import WITHOUT_EFFECT, number
from pumice.runs.jobs import Outcome
from pumice_papers.aero.erase_models import ask
from pumice_papers.aero.tails import read_tail
from pumice_papers.experiment import Experiment
from pumice_papers.figures import Drawing, PlannedStudy, figure
from pumice_papers.listing import Listing, Row
from pumice_papers.quantities import (
    AEP,
    READ_LATENCY,
    WAF,
    WRITE_LATENCY,
    Document,
    Quantity,
    erases_per_block,
    quantity,
)
from pumice_papers.studies.matrix.cells import Cell, Device, Erase, Place, Plan, read_plan

#: Name of the matrix among experiments, and of its one figure.
MATRIX = "matrix"


def response(document: Document) -> float | None:
    """Mean response time of all reads and writes, µs."""
    total, count = 0.0, 0.0
    for kind in ("read", "write"):
        requests, mean = (number(document, f"host.{kind}.{name}") for name in ("requests", "latency_us.mean"))
        total, count = total + (requests or 0.0) * (mean or 0.0), count + (requests or 0.0)
    return total / count if count else None


def endurance(used: Quantity) -> Quantity:
    """How often the host can write the user capacity until the ECC's requirement is met, if wear is even and
    `used` gives the wear of the run.

    `fixed` has no wear of its own: an erase of a fixed time applies the whole pulse, so its cycles are those of
    ISPE.
    """

    def found(document: Document) -> float | None:
        end = number(document, "wear.pec_at_requirement") or _whole_pulse_cycles()
        written, user = number(document, "host.write.bytes"), number(document, "device.user_bytes")
        wear = used(document)
        return end * written / (user * wear) if end and written and user and wear else None

    return found


@functools.cache
def _whole_pulse_cycles() -> float | None:
    """Cycles to the requirement under ISPE."""
    return number(ask("lifetime", scheme="ispe"), "pec_at_requirement")


#: What is compared: name → quantity, and whether more of it is better.
QUANTITIES: dict[str, tuple[Quantity, bool]] = {
    "write amplification": (quantity(WAF), False),
    "mean response, µs": (response, False),
    "p99.99 read, µs": (read_tail("p99_99"), False),
    "lifetime, capacities": (endurance(quantity(AEP)), True),
    "lifetime at worst, capacities": (endurance(erases_per_block), True),
}

#: More columns of the CSV.
BESIDES: dict[str, Quantity] = {
    "mean write, µs": quantity(WRITE_LATENCY),
    "mean read, µs": quantity(READ_LATENCY),
    "reads": quantity("host.read.requests"),
    "bytes written": quantity("host.write.bytes"),
    "AEP": quantity(AEP),
    "erases a block": erases_per_block,
    "mean erase, µs": quantity("wear.mean_erase_latency_us"),
}


@dataclass(frozen=True)
class Matrix:
    """A plan and the outcomes of its runs, by the place of their cells."""

    plan: Plan
    outcomes: Mapping[int, Outcome]

    def value(self, place: int, of: Quantity) -> float | None:
        """A quantity of the cell at a place of the plan."""
        outcome = self.outcomes.get(place)
        return None if outcome is None or outcome.document is None else of(outcome.document)

    def ratios(self, of: Quantity, device: Device, erase: Erase, *, recorded: bool | None = None) -> list[float]:
        """A quantity over the baseline's, for each workload: recorded traces, twins, or both (None)."""
        found: list[float] = []
        for load in self.plan.loads:
            if recorded is None or load.recorded == recorded:
                own, base = (
                    self._at(of, load.name, row, column)
                    for row, column in ((device, erase), (self.plan.devices[0], self.plan.erases[0]))
                )
                if own is not None and base:
                    found.append(own / base)
        return found

    def _at(self, of: Quantity, load: str, device: Device, erase: Erase) -> float | None:
        places = (
            place
            for place, cell in enumerate(self.plan.cells)
            if cell.load.name == load and cell.device == device and cell.erase == erase
        )
        return self.value(next(places), of)


def plan_matrix(experiment: Experiment, traces: Path | None, directory: Path) -> Plan:
    """Plans the cells, and writes the repeated traces below the output directory; raises as `read_plan`."""
    return read_plan(experiment, Place(traces, directory / "traces"))


@figure(
    frame=Frame("What is erased, in which order, how", ""),
    studies=(PlannedStudy(MATRIX, plan_matrix),),
)
def figure_matrix(drawing: Drawing) -> Listing:
    """Every quantity as a field of ratios, every cell as CSV, and the ratios as a listing. Nobody published these
    numbers, so there is no row of the scoreboard."""
    plan: Plan = drawing.plans[MATRIX]
    places = [place for place, cell in enumerate(plan.cells) if cell.job is not None]
    matrix = Matrix(plan, dict(zip(places, drawing.runs.outcomes(MATRIX), strict=True)))
    write_cells(drawing, matrix)
    draw_fields(drawing, matrix)
    return listing(matrix)


def write_cells(drawing: Drawing, matrix: Matrix) -> None:
    """Writes `matrix.csv`: every workload on every device, run or not."""
    quantities = {**{name: of for name, (of, _) in QUANTITIES.items()}, **BESIDES}
    columns = ["workload", "what it is", "erased", "order", "scheme", "suspension", *quantities, "status", "note"]
    rows = [
        [
            *(cell.load.name, cell.load.note, cell.device.unit, cell.device.order),
            *(cell.erase.scheme, cell.erase.suspension),
            *(matrix.value(place, of) for of in quantities.values()),
            *_status(cell, matrix.outcomes.get(place)),
        ]
        for place, cell in enumerate(matrix.plan.cells)
    ]
    drawing.write_csv(columns, rows)


def _status(cell: Cell, outcome: Outcome | None) -> tuple[str, str]:
    if outcome is None:
        return "not-run", cell.why_not
    if outcome.document is None:
        return "failed", outcome.error or ""
    # The matrix lays one base under designs that read different keys, so these warnings are expected.
    said = [warning for warning in outcome.document.get("warnings") or [] if WITHOUT_EFFECT not in warning]
    return "done", "; ".join(said)


def listing(matrix: Matrix) -> Listing:
    """A line a device and erase: each quantity over the baseline's, geometric means over twins and over traces."""
    columns = ["erased", "order", "scheme", "suspension"]
    for name in QUANTITIES:
        short = name.partition(",")[0]
        columns += [f"{short}: twins", "traces"]
    rows: list[Row] = []
    for device in matrix.plan.devices:
        for erase in matrix.plan.erases:
            means = [
                _mean(matrix.ratios(of, device, erase, recorded=recorded))
                for of, _ in QUANTITIES.values()
                for recorded in (False, True)
            ]
            rows.append([device.unit, device.order, erase.scheme, erase.suspension, *means])
    base = f"{matrix.plan.devices[0]}, {matrix.plan.erases[0]}"
    return Listing(f"Matrix: ratios to {base}", columns, rows, left=4, notes=_notes(matrix.plan))


def _mean(found: Sequence[float]) -> float | None:
    return statistics.geometric_mean(found) if found else None


def _notes(plan: Plan) -> list[str]:
    """What the workloads are, and why cells are empty, each reason once."""
    loads = [f"{load.name}: {load.note}" for load in plan.loads if load.why_not is None]
    refused = dict.fromkeys((str(cell.device), cell.why_not) for cell in plan.cells if cell.why_not)
    absent = dict.fromkeys(f"{load.name}: not-run, {load.why_not}" for load in plan.loads if load.why_not)
    reasons = {load.why_not for load in plan.loads}
    return [*loads, *absent, *(f"{device}: not-run, {why}" for device, why in refused if why not in reasons)]


def draw_fields(drawing: Drawing, matrix: Matrix) -> None:
    """Draws every quantity as a field of ratios, geometric means over all workloads with their range."""
    plan = matrix.plan
    made = [
        plots.Field(
            name.partition(",")[0],
            [[_spread(matrix.ratios(of, device, erase)) for erase in plan.erases] for device in plan.devices],
            more_is_better=better,
        )
        for name, (of, better) in QUANTITIES.items()
    ]
    columns = [f"{erase.scheme}\n{'' if erase.suspension == 'off' else 'suspended'}" for erase in plan.erases]
    title = f"{drawing.frame.title}: ratios to {plan.devices[0]}, {plan.erases[0]}"
    text = ["Mean over workloads and its range; blue is better.", *_notes(plan)]
    plots.fields(plots.Grid(title, [str(device) for device in plan.devices], columns, text), made, drawing.file())


def _spread(found: Sequence[float]) -> tuple[float, float, float] | None:
    mean = _mean(found)
    return None if mean is None else (mean, min(found), max(found))
