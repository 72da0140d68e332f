"""Other mechanisms for the zoned drive: how dies serve reads that wait, what a program takes, and what a reset does."""

from __future__ import annotations

from collections.abc import Sequence

from pumice.analysis import plots
from pumice.analysis.plots import Curve, Frame
from pumice_papers.figures import Drawing, Findings, figure
from pumice_papers.scoreboard import Finding, trend
from pumice_papers.studies.drives.held_against import Held, Setting
from pumice_papers.studies.drives.zn540 import ALONE, KINDS, P99, P99_9, RATE, settings, simulated

CHANNELS, PLANES, HOW = "geometry.channels", "geometry.planes_per_die", "timing.plane_reads"
ERASES, MEASURED = "ftl.zns.reset_erases", "workload.flow.0.kind"
PAGES, RUN = "program.pages_per_command", "ftl.zns.run_pages"

#: The mechanism of the preset.
OWN = (16, 2, "batch")

#: Least and largest share of the drive's figure that is taken for the drive's.
AS_THE_DRIVE = (0.75, 1.25)


@figure(
    frame=Frame("ZN540: how dies serve reads that wait", "p99 of reads, µs", x_label="thousand reads a second"),
    studies=("zn540-rival-reads", "zn540-rival-writes", "zn540-rival-resets"),
    rows=("zn540_rival_reads", "zn540_rival_writes", "zn540_rival_resets"),
    needs_all=True,
)
def figure_zn540_rivals(drawing: Drawing) -> Findings:
    """Rate and p99 over depth for each mechanism of reads; and rates and tails beside resets."""
    drive = {int(one.at[0]): one for one in settings(drawing.experiment) if one.run == "reads" and one.at[0] > 1}
    points = drawing.runs.points("zn540-rival-reads", [CHANNELS, PLANES, HOW])
    found = {tuple(point.values()): reads(drawing, point, drive) for point in points}
    curves = [curve("drive", [one.mean(RATE) for one in drive.values()], [one.mean(P99) for one in drive.values()])]
    for rival, held in found.items():
        rates, tails = ([one.simulated for one in held if one.column == column] for column in (RATE, P99))
        curves.append(curve(in_words(rival), rates, tails, "line"))
    plots.lines(drawing.frame, curves, drawing.file())
    rows = [[in_words(rival), one.setting.at[0], one.column, one.setting.mean(one.column), one.simulated, one.error]
            for rival, held in found.items() for one in held]  # fmt: skip
    drawing.write_csv(["mechanism", "depth", "figure", "drive", "simulated", "error"], rows)
    return {
        "zn540_rival_reads": refuted(found),
        "zn540_rival_writes": writes(drawing),
        "zn540_rival_resets": resets(drawing),
    }


def curve(name: str, rates: Sequence[float], tails: Sequence[float], kind: str = "points") -> Curve:
    """A curve of tails over thousand reads a second."""
    return Curve(name, [rate / 1e3 for rate in rates], tails, "points" if kind == "points" else "line")


def in_words(rival: tuple[object, ...]) -> str:
    """A mechanism in words."""
    channels, planes, how = rival
    return f"{channels} dies of {planes}, {how}"


def reads(drawing: Drawing, point: dict[str, object], drive: dict[int, Setting]) -> list[Held]:
    """Rates and tails of a mechanism over depth."""
    held = []
    for depth, setting in drive.items():
        document = drawing.runs.one("zn540-rival-reads", {**point, ALONE: depth})
        for column in (RATE, P99):
            value = simulated(document, KINDS["reads"], column)
            held.append(Held("", column, setting, KINDS["reads"].bands[column], value, counted=True))
    return held


def refuted(found: dict[tuple[object, ...], list[Held]]) -> Finding:
    """Values outside their bands, of the preset's mechanism and of each other one."""
    outside = {rival: sum(not one.is_inside for one in held) for rival, held in found.items()}
    note = "; ".join(f"{in_words(rival)}: {count}" for rival, count in outside.items())
    own = outside.get(OWN, 0)
    others = [count for rival, count in outside.items() if rival != OWN]
    return trend([float(own), float(min(others, default=0))], lambda values: values[0] < values[1], note)


def writes(drawing: Drawing) -> Finding:
    """Tails of four and of nine writers over the drive's, by what a program takes; and in words their rates."""
    drive = {int(one.at[0]): one for one in settings(drawing.experiment) if one.run == "writes"}
    values, words = [], []
    for point in drawing.runs.points("zn540-rival-writes", [PAGES, RUN]):
        tails, rates = [], []
        for depth in drawing.runs.values("zn540-rival-writes", ALONE):
            document = drawing.runs.one("zn540-rival-writes", {**point, ALONE: depth})
            tails.append(simulated(document, KINDS["writes"], P99_9) / drive[depth].mean(P99_9))
            rates.append(simulated(document, KINDS["writes"], RATE) / drive[depth].mean(RATE))
        values += tails
        ratios = ", ".join(f"p99.9 {tail:.2f} at rate {rate:.2f}" for tail, rate in zip(tails, rates, strict=True))
        words.append(f"{point[PAGES]} pages in runs of {point[RUN]}: {ratios}")

    def only_word_lines(values: list[float]) -> bool:
        fits = [AS_THE_DRIVE[0] <= value <= AS_THE_DRIVE[1] for value in values]
        return all(fits[4:6]) and not any(fits[:4]) and not any(fits[6:])

    return trend(values, only_word_lines, "; ".join(words))


def resets(drawing: Drawing) -> Finding:
    """Rates of four writers and of a reader beside 30 resets a second, simulated over the drive's."""
    drive = {(one.run, int(one.at[0]), round(one.at[1])): one for one in settings(drawing.experiment)}
    writers, reader = drive["writes-resets", 4, 30], drive["reads-resets", 1, 30]
    values, words = [], []
    for how in ("together", "in-turn", "alone"):
        beside = drawing.runs.one("zn540-rival-resets", {ERASES: how, MEASURED: "zone-write"})
        rate = simulated(beside, KINDS["writes-resets"], RATE) / writers.mean(RATE)
        read = drawing.runs.one("zn540-rival-resets", {ERASES: how, MEASURED: "uniform"})
        read_rate = simulated(read, KINDS["reads-resets"], RATE) / reader.mean(RATE)
        values += [rate, read_rate]
        words.append(f"{how}: writers {rate:.2f}, reader {read_rate:.2f}")

    def only_the_last(values: list[float]) -> bool:
        fits = [AS_THE_DRIVE[0] <= value <= AS_THE_DRIVE[1] for value in values]
        return all(fits[4:]) and not all(fits[:2]) and not all(fits[2:4])

    return trend(values, only_the_last, "; ".join(words))
