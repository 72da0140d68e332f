"""`pumice plan`: one M-Merge plan, in words and as a drawing."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pumice.cli import completions
from pumice.cli import options as opt
from pumice.cli.terminal import emit, emit_json
from pumice.errors import SpecError
from pumice.text import printable

# The planner's modules are loaded by the functions that need them: they use numpy, which would make
# every other command start later.
if TYPE_CHECKING:
    from pumice.planning.m_merge import Plan

_STATE = "run-length `144v72i360v` (valid, invalid, free) or .npy"


@dataclass(frozen=True)
class PlannerOptions:
    """Options of the planner; see `pumice.plan_m_merge`."""

    max_splits: Annotated[int, typer.Option(help="How often a block can be halved, L.")] = 6
    page_copy_us: Annotated[float, typer.Option(help="Time of a page copy, µs.")] = 970.0
    block_erase_us: Annotated[float, typer.Option(help="Time of a block erase, µs.")] = 10_000.0
    t_us: Annotated[
        str | None, typer.Option(metavar="LIST", help="Erase time of a PB by level, µs, level 0 first.")
    ] = None
    disturb_tolerance: Annotated[int, typer.Option(help="Disturbs that a leaf survives.")] = 1
    disturb_aware: Annotated[bool, typer.Option(help="Protect leaves from too many disturbs.")] = True
    m_merge_count: Annotated[int, typer.Option(help="M-Merges since the last full merge.")] = 0
    wear_limit_w: Annotated[int, typer.Option(help="M-Merges after which a full merge is due, W.")] = 16


@opt.takes_options
def plan_command(
    *,
    d: Annotated[str | None, typer.Option("--d", metavar="STATE", help=f"D-block: {_STATE}.")] = None,
    u: Annotated[str | None, typer.Option("--u", metavar="STATE", help=f"U-block: {_STATE}.")] = None,
    disturb: Annotated[
        str | None,
        typer.Option(
            "--disturb", metavar="LIST", help="Disturb counter of each leaf of D: 0,1,0,… or .npy; all 0 if absent."
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--example",
            metavar="NAME",
            help="A worked example instead: fig6, fig10 or fig11.",
            autocompletion=completions.examples,
        ),
    ] = None,
    options: PlannerOptions,
    as_json: opt.JsonOption = False,
) -> None:
    """Plan one merge and show what is copied, erased and restored."""
    if name is not None:
        if d is not None or u is not None or disturb is not None:
            raise SpecError("--example brings its own blocks; it takes no --d, --u or --disturb")
        _show_example(name, as_json=as_json)
        return
    if d is None or u is None:
        raise SpecError("plan needs --d STATE and --u STATE, or --example fig6|fig10|fig11")
    _show_plan((d, u), disturb, options, as_json=as_json)


def _show_plan(blocks: tuple[str, str], disturb: str | None, options: PlannerOptions, *, as_json: bool) -> None:
    from pumice.planning.block_state import parse_state
    from pumice.planning.m_merge import plan_m_merge
    from pumice.planning.plan_text import Situation, describe

    d, u = blocks
    situation = Situation(parse_state(d, "--d"), parse_state(u, "--u"), options.max_splits)
    counters = None if disturb is None else _counters(disturb)
    times = None if options.t_us is None else _numbers(options.t_us, "--t-us", float)
    plan = plan_m_merge(situation.d, situation.u, counters, **{**asdict(options), "t_us": times})
    if as_json:
        emit_json(json.dumps(_plain(plan)))
    else:
        emit(describe(situation, plan))


def _show_example(name: str, *, as_json: bool) -> None:
    from pumice.planning.plan_text import describe
    from pumice.planning.worked_examples import example

    shown = example(name)
    plans = shown.plans()
    if as_json:
        emit_json(json.dumps([_plain(plan) for plan in plans]))
        return
    emit(f"{shown.name}: {shown.about}\n")
    for round_, plan in enumerate(plans, 1):
        if shown.times > 1:
            emit(f"{'' if round_ == 1 else chr(10)}--- M-Merge {round_} of {shown.times} ---")
        emit(describe(shown.situation, plan))
    if shown.times > 1:
        emit(f"\npages copied back: {', '.join(str(plan['copy_back']) for plan in plans)}")


def _plain(plan: Plan) -> dict[str, Any]:
    """A plan as JSON can hold it."""
    return {**plan, "disturb_after": plan["disturb_after"].tolist()}


def _counters(text: str) -> Any:
    import numpy as np

    from pumice.arrays import read_array

    if text.endswith(".npy"):
        return read_array(Path(text), "--disturb")
    return np.array(_numbers(text, "--disturb", int), np.int64)


def _numbers(text: str, name: str, kind: type[int] | type[float]) -> list[Any]:
    numbers: list[Any] = []
    for part in text.split(","):
        try:
            numbers.append(kind(part))
        except ValueError:
            what = "a whole number" if kind is int else "a number"
            raise SpecError(
                f"{name}: '{printable(part.strip())}' is not {what}; expected {what} for each, with commas between"
            ) from None
    return numbers
