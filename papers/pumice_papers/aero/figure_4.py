"""Figure 4 of AERO: the least erase time over blocks, and how well the models meet what was measured."""

from __future__ import annotations

from pumice.analysis import plots
from pumice.analysis.plots import Frame
from pumice_papers.aero.erase_models import PULSE_MS, SCHEMES, ask, block_count, curves_of, erased, needed
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.scoreboard import Finding


@figure(
    frame=Frame("Figure 4: blocks erased within a pulse time (ms), by P/E cycles", "share of blocks"),
    rows=(
        "fig4_fast_blocks",
        "fig4_one_loop",
        "erase_means",
    ),
)
def figure_4(drawing: Drawing) -> Findings:
    """Distribution of the least erase time over blocks, by PEC."""
    pecs = tuple(range(0, 5001, 1000))
    needs = dict(zip(pecs, needed(drawing, pecs), strict=True))
    x = [PULSE_MS * pulses for pulses in range(36)]
    curves = {f"{pec / 1000:g}K": _cumulative(found["by_pulses"]) for pec, found in needs.items()}
    rows = [[time, *(curve[place] for curve in curves.values())] for place, time in enumerate(x)]
    drawing.write_csv(["erase-pulse time, ms", *curves], rows)
    plots.lines(drawing.frame, curves_of(x, curves), drawing.file())
    fast = [curves[name][5] for name in ("0K", "1K")]
    one_loop = [found["by_loops"][1] / block_count(drawing) for found in erased(drawing, "ispe", (1000, 2000))]
    return {"fig4_fast_blocks": Finding(fast), "fig4_one_loop": Finding(one_loop), "erase_means": _erase_means(drawing)}


def _erase_means(drawing: Drawing) -> Finding:
    """Largest relative deviation of mean pulse times from the measured ones."""
    table: dict[str, float] = {}
    for scheme in SCHEMES:
        table[scheme] = _largest_deviation(drawing, scheme, "table")
    mechanism = [_largest_deviation(drawing, scheme, "mechanism") for scheme in ("ispe", "aero-cons")]
    worst = max(table, key=lambda scheme: table[scheme])
    fitted = _largest_deviation(drawing, "aero", "mechanism")
    note = f"table mode worst under {worst}; aero by Table 1 in mechanism mode deviates by up to {fitted:.2f}"
    return Finding([table[worst], *mechanism], note=note)


def _largest_deviation(drawing: Drawing, scheme: str, mode: str) -> float:
    measured = ask("measured", scheme=scheme)
    found = erased(drawing, scheme, tuple(row["pec"] for row in measured), mode=mode)
    pairs = zip(found, measured, strict=True)
    return float(max(abs(one["mean_pulse_ms"] / row["mean_pulse_ms"] - 1) for one, row in pairs))


def _cumulative(counts: list[int]) -> list[float]:
    total = sum(counts)
    below = 0
    shares = []
    for count in counts:
        below += count
        shares.append(below / total)
    return shares
