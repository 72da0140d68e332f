"""The block of the SFWS paper: its shape, and what the engine says of it without a run."""

from __future__ import annotations

from typing import Any

#: The paper's example is an SLC block, its chip an MLC one.
LAYERS, SUB_BLOCKS, SLC, MLC = 32, 16, 1, 2

#: Write sequences: name in the figures → value of `geometry.write_sequence`.
SEQUENCES = {"LFWS": "lfws", "SFWS": "sfws"}


def shape(sequence: str, bits: int) -> dict[str, Any]:
    """The block written in a sequence, with some bits a cell, as the engine takes it."""
    return {"layers": LAYERS, "sub_blocks": SUB_BLOCKS, "bits_per_cell": bits, "write_sequence": sequence}
