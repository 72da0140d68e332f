"""Figure 13 of AERO taken further: the life of a device under a workload, beside the life of a block. No row."""

from __future__ import annotations

import pumice
from pumice.analysis import plots
from pumice.analysis.plots import Frame
from pumice_papers.aero.erase_models import SCHEMES
from pumice_papers.figures import Drawing, Findings, figure

#: One chip with blocks of an eighth of their pages, in quick mode; in full mode the device is the paper's.
_QUICK = {"channels": 1, "chips_per_channel": 1, "pages_per_block": 264}

_HEADS = ("scheme", "block_pec", "device_pec", "drive_writes", "WAF", "retired_share")


@figure(
    frame=Frame(
        "Figure 13, for a device: write amplification over its life",
        "bytes programmed / bytes written",
        x_label="drive writes",
    ),
)
def figure_life(drawing: Drawing) -> Findings:
    """The device of Table 2, written at random until its end under each scheme."""
    small = {} if drawing.full_scale else {"geometry": _QUICK}
    spec = pumice.preset("aero-1tb").with_(
        **small,
        erase={"initial_pec": 0},
        workload={"kind": "uniform", "request_bytes": 16384, "read_fraction": 0.0, "footprint": 1.0},
        run={"timed": False},
    )
    rows, curves = [], []
    for scheme in SCHEMES:
        found = pumice.life(spec, scheme)
        end, capacity = found["end"], found["capacity_bytes"]
        shares = [point["host_bytes"] / capacity for point in found["course"]]
        retired = end["retired_blocks"] / found["blocks"][0]
        rows.append([scheme, found["block_pec"], end["pec"], shares[-1], found["write_amplification"], retired])
        curves.append(plots.Curve(scheme, shares, [point["write_amplification"] for point in found["course"]], "plain"))
    drawing.write_csv(_HEADS, rows)
    plots.lines(drawing.frame, curves, drawing.file())
    return {}
