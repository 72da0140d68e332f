"""AERO (ASPLOS'24): figures that need blocks and their wear, but no device.

Figures 4, 7, 8, 9, 10, 13, the lifetimes of 16 and 17 (`16a`, `17a`), and Table 1. Those that need a
device under load are in `read_tails` and `sensitivity`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pumice import _engine
from pumice.analysis import plots
from pumice.papers.ratios import write_csv
from pumice.papers.scoreboard import Finding

PULSE_MS = 0.5
PULSES_PER_LOOP = 7
PECS = tuple(range(0, 5001, 500))
SCHEMES = ("ispe", "i-ispe", "dpes", "aero-cons", "aero")
#: Blocks of section 5 are cycled with full pulses in every loop (5.1), whatever erases them in the end.
FULL_PULSES = {"mode": "mechanism", "cycled": "ispe"}
RANGES = ("γ", "δ", "2δ", "3δ", "4δ", "5δ", "6δ", "7δ")


def ask(what: str, **options: Any) -> Any:
    """Asks the erase models; options as in the engine's `EraseQuery`.

    Raises:
        SpecError: an option or its value is not allowed.
    """
    return json.loads(_engine.erase_model(json.dumps({"what": what, **options})))


@dataclass(frozen=True)
class Context:
    """Where a figure is drawn, and from how many blocks."""

    directory: Path
    blocks: int

    def needs(self, pecs: tuple[int, ...], **options: Any) -> list[dict[str, Any]]:
        """Blocks by the pulses that they need, at each PEC."""
        return self.erased("aero-cons", pecs, **FULL_PULSES, **options)

    def fail_bits(self) -> dict[str, Any]:
        """Fail bits that such blocks show, over all PEC."""
        found = ask("fail-bits", pec=list(PECS), blocks=self.blocks, scheme="aero-cons", **FULL_PULSES)
        return dict(found)

    def erased(self, scheme: str, pecs: tuple[int, ...], **options: Any) -> list[dict[str, Any]]:
        """Blocks by the pulses and loops that a scheme applies, at each PEC."""
        found = ask("distribution", scheme=scheme, pec=list(pecs), blocks=self.blocks, **options)
        return list(found)


def figure_4(context: Context) -> dict[str, Finding]:
    """Distribution of the least erase time over blocks, by PEC."""
    pecs = tuple(range(0, 5001, 1000))
    needs = dict(zip(pecs, context.needs(pecs), strict=True))
    x = [PULSE_MS * pulses for pulses in range(36)]
    curves = {f"{pec / 1000:g}K": _cumulative(found["by_pulses"]) for pec, found in needs.items()}
    rows = [[time, *(curve[place] for curve in curves.values())] for place, time in enumerate(x)]
    write_csv(context.directory / "fig4.csv", ["erase-pulse time, ms", *curves], rows)
    frame = plots.Frame("Figure 4: blocks erased within a pulse time (ms), by P/E cycles", "share of blocks")
    plots.lines(frame, _curves(x, curves), context.directory / "fig4")
    fast = [curves[name][5] for name in ("0K", "1K")]
    one_loop = [found["by_loops"][1] / context.blocks for found in context.erased("ispe", (1000, 2000))]
    return {"fig4_fast_blocks": Finding(fast), "fig4_one_loop": Finding(one_loop), "erase_means": _erase_means(context)}


def _erase_means(context: Context) -> Finding:
    """Largest relative deviation of mean pulse times from the measured ones."""
    table: dict[str, float] = {}
    for scheme in SCHEMES:
        table[scheme] = _largest_deviation(context, scheme, "table")
    mechanism = [_largest_deviation(context, scheme, "mechanism") for scheme in ("ispe", "aero-cons")]
    worst = max(table, key=lambda scheme: table[scheme])
    fitted = _largest_deviation(context, "aero", "mechanism")
    note = f"table mode worst under {worst}; aero by Table 1 in mechanism mode deviates by up to {fitted:.2f}"
    return Finding([table[worst], *mechanism], note=note)


def _largest_deviation(context: Context, scheme: str, mode: str) -> float:
    measured = ask("measured", scheme=scheme)
    found = context.erased(scheme, tuple(row["pec"] for row in measured), mode=mode)
    pairs = zip(found, measured, strict=True)
    return float(max(abs(one["mean_pulse_ms"] / row["mean_pulse_ms"] - 1) for one, row in pairs))


def figure_7(context: Context) -> dict[str, Finding]:
    """Most fail bits against pulse time in the last loop, by the pulse time that the loop needs."""
    found = context.fail_bits()
    most: dict[tuple[int, int], int] = {}
    for count in found["counts"]:
        if count["last_loop"] > 1 and count["applied"] > 0:
            place = (count["needs"], count["applied"])
            most[place] = max(most.get(place, 0), count["max_bits"])
    applied = list(range(1, PULSES_PER_LOOP + 1))
    curves = {
        f"needs {PULSE_MS * needs:g} ms": [float(most.get((needs, pulses), 0)) for pulses in applied]
        for needs in applied[1:]
    }
    rows = [[PULSE_MS * pulses, *(curve[place] for curve in curves.values())] for place, pulses in enumerate(applied)]
    write_csv(context.directory / "fig7.csv", ["pulse time in the last loop, ms", *curves], rows)
    title = "Figure 7: most fail bits after a pulse time (ms) in the last loop"
    frame = plots.Frame(title, "fail bits", reference=(float(found["gamma"]), "γ"))
    plots.lines(frame, _curves([PULSE_MS * pulses for pulses in applied], curves), context.directory / "fig7")
    return {}


def _curves(x: Sequence[float], curves: Mapping[str, Sequence[float]]) -> list[plots.Curve]:
    return [plots.Curve(name, x, values, "plain") for name, values in curves.items()]


def figure_8(context: Context) -> dict[str, Finding]:
    """Share of blocks in a range of fail bits that need the range's most frequent pulse, by loop."""
    found = context.fail_bits()
    blocks: dict[tuple[int, int], dict[int, int]] = {}
    for count in found["counts"]:
        if count["applied"] == 0 and count["range"] is not None:
            needs = blocks.setdefault((count["last_loop"], count["range"]), {})
            needs[count["needs"]] = needs.get(count["needs"], 0) + count["blocks"]
    majority = {place: max(needs.values()) / sum(needs.values()) for place, needs in blocks.items()}
    loops = [2, 3, 4, 5]
    used = [place for place in range(len(RANGES)) if any((loop, place) in majority for loop in loops)]
    series = {f"N = {loop}": [majority.get((loop, place)) for place in used] for loop in loops}
    rows: list[list[Any]] = []
    for (loop, place), needs in sorted(blocks.items()):
        total = sum(needs.values())
        rows += [[loop, RANGES[place], PULSE_MS * pulses, n / total, total] for pulses, n in sorted(needs.items())]
    columns = ["loop", "fail bits up to", "pulse needed, ms", "share", "blocks in range"]
    write_csv(context.directory / "fig8.csv", columns, rows)
    frame = plots.Frame("Figure 8: blocks that need their fail-bit range's pulse", "share of the range's blocks")
    plots.grouped_bars(frame, plots.Bars([f"≤ {RANGES[place]}" for place in used], series), context.directory / "fig8")
    least = min(share for (loop, _), share in majority.items() if loop == 4)
    return {"fig8_felp": Finding([least], note="an input of the model: the paper's least share, taken for every range")}


def figure_9(context: Context) -> dict[str, Finding]:
    """What shallow erase of a length gains, over blocks at 0.1K and 0.5K PEC."""
    rows: list[list[Any]] = []
    values: dict[int, list[float]] = {}
    for shallow in (1, 2, 3, 4):
        found = context.needs((100, 500), shallow_pulses=shallow)
        pulses = [sum(counts) for counts in zip(*(one["by_pulses"] for one in found), strict=True)]
        single = pulses[: PULSES_PER_LOOP + 1]
        share = sum(pulses[:PULSES_PER_LOOP]) / sum(pulses)
        mean = sum(place * count for place, count in enumerate(single)) / sum(single) / PULSES_PER_LOOP
        values[shallow] = [share, mean]
        rows.append([PULSE_MS * shallow, share, mean])
    write_csv(
        context.directory / "fig9.csv",
        ["shallow erase, ms", "blocks below the default pulse", "mean single-loop erase / default"],
        rows,
    )
    series = {
        "blocks below 3.5 ms": [values[shallow][0] for shallow in values],
        "mean erase / 3.5 ms": [values[shallow][1] for shallow in values],
    }
    frame = plots.Frame("Figure 9: shallow erase of a given length, at 0.1K and 0.5K PEC", "share")
    groups = [f"{PULSE_MS * shallow:g} ms" for shallow in values]
    plots.grouped_bars(frame, plots.Bars(groups, series), context.directory / "fig9")
    return {"fig9_shallow": Finding(values[2], note="pulse time of blocks with one loop; both PECs together")}


def figure_10(context: Context) -> dict[str, Finding]:
    """Most bit errors after complete erasure by loops, and which fail bits may stay."""
    life = {point["pec"]: point["m_rber"] for point in ask("lifetime", scheme="ispe", pec=list(PECS))["points"]}
    most: dict[int, float] = {}
    for pec, found in zip(PECS, context.erased("ispe", PECS), strict=True):
        for loops, blocks in enumerate(found["by_loops"]):
            if blocks:
                most[loops] = life[pec]
    tables = ask("table-1")
    rows = [
        [requirement, loop + 1, RANGES[place], complete - tables[requirement][loop][place]]
        for requirement in ("63", "50", "40")
        for loop, row in enumerate(tables["complete"])
        for place, complete in enumerate(row)
    ]
    write_csv(
        context.directory / "fig10b.csv", ["requirement", "loop", "fail bits up to", "pulse time saved, ms"], rows
    )
    write_csv(context.directory / "fig10a.csv", ["loops", "M_RBER, bits per KiB"], [[n, most[n]] for n in sorted(most)])
    frame = plots.Frame(
        "Figure 10a: most bit errors after complete erasure", "bits per KiB", (63.0, "requirement"), digits=1
    )
    bars = plots.Bars([f"N = {loops}" for loops in sorted(most)], {"ispe": [most[loops] for loops in sorted(most)]})
    plots.grouped_bars(frame, bars, context.directory / "fig10a")
    return {}


def figure_13(context: Context) -> dict[str, Finding]:
    """Bit errors against PEC, and the PEC at which the requirement is met, by scheme."""
    pecs = list(range(0, 8001, 250))
    lives = {scheme: ask("lifetime", scheme=scheme, pec=pecs) for scheme in SCHEMES}
    curves = {scheme: [point["m_rber"] for point in life["points"]] for scheme, life in lives.items()}
    rows = [[pec, *(curve[place] for curve in curves.values())] for place, pec in enumerate(pecs)]
    write_csv(context.directory / "fig13.csv", ["PEC", *curves], rows)
    title = "Figure 13: most bit errors after a year, against P/E cycles"
    frame = plots.Frame(title, "bits per KiB", reference=(63.0, "requirement"))
    plots.lines(frame, _curves([float(pec) for pec in pecs], curves), context.directory / "fig13")
    order = ("ispe", "aero-cons", "aero", "i-ispe", "dpes")
    ends = [lives[scheme]["pec_at_requirement"] for scheme in order]
    (aero,) = context.erased("aero", (2500,))
    within = sum(aero["by_pulses"][: 2 * PULSES_PER_LOOP + 1]) / context.blocks
    note = "calibrated: ispe, aero-cons, dpes (own factor); predicted: aero, i-ispe"
    return {
        "fig13_lifetime": Finding(ends, note=note),
        "two_loops_2500": Finding([within], note="measured distribution"),
    }


def figure_16a(context: Context) -> dict[str, Finding]:
    """Lifetime against the misprediction rate."""
    rates = (0.0, 0.01, 0.05, 0.1, 0.2)
    base = ask("lifetime", scheme="ispe")["pec_at_requirement"]
    gains = {
        scheme: [
            ask("lifetime", scheme=scheme, misprediction_rate=rate, seed=1)["pec_at_requirement"] / base - 1
            for rate in rates
        ]
        for scheme in ("aero", "aero-cons")
    }
    rows = [[rate, *(gain[place] for gain in gains.values())] for place, rate in enumerate(rates)]
    write_csv(context.directory / "fig16a.csv", ["misprediction rate", *gains], rows)
    frame = plots.Frame("Figure 16a: lifetime gained over ispe, by misprediction rate", "PEC gained, share")
    plots.grouped_bars(frame, plots.Bars([f"{rate:.0%}" for rate in rates], gains), context.directory / "fig16a")
    return {"fig16_misprediction": Finding([gains["aero"][-1], gains["aero-cons"][-1]])}


def figure_17a(context: Context) -> dict[str, Finding]:
    """Lifetime at three requirements."""
    requirements = (40, 50, 63)
    ends = {
        scheme: [ask("lifetime", scheme=scheme, requirement=bits)["pec_at_requirement"] for bits in requirements]
        for scheme in ("ispe", "aero-cons", "aero")
    }
    rows = [[bits, *(end[place] for end in ends.values())] for place, bits in enumerate(requirements)]
    write_csv(context.directory / "fig17a.csv", ["requirement, bits per KiB", *ends], rows)
    frame = plots.Frame("Figure 17a: P/E cycles until the requirement is met", "PEC", digits=0)
    plots.grouped_bars(frame, plots.Bars([f"{bits} bits" for bits in requirements], ends), context.directory / "fig17a")
    note = "aero measured at three PECs only for this requirement; its saving between them is interpolated"
    return {"fig17_requirement": Finding([ends["aero"][0] / ends["aero-cons"][0]], note=note)}


def table_1(context: Context) -> dict[str, Finding]:
    """Pulses of the next loop by fail bits, as built: complete / with the margin of requirement 63."""
    tables = ask("table-1")
    rows = [
        [loop + 1, *(f"{complete:g}/{tables['63'][loop][place]:g}" for place, complete in enumerate(row))]
        for loop, row in enumerate(tables["complete"])
    ]
    write_csv(context.directory / "table1.csv", ["loop", *(f"≤ {name}" for name in RANGES)], rows)
    return {}


#: Figure → function of the context.
FIGURES: dict[str, Callable[[Context], dict[str, Finding]]] = {
    "4": figure_4,
    "7": figure_7,
    "8": figure_8,
    "9": figure_9,
    "10": figure_10,
    "13": figure_13,
    "16a": figure_16a,
    "17a": figure_17a,
    "table1": table_1,
}


def _cumulative(counts: list[int]) -> list[float]:
    total = sum(counts)
    below = 0
    shares = []
    for count in counts:
        below += count
        shares.append(below / total)
    return shares
