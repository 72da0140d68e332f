"""What the figures of SFWS over runs share: quantities, and sub-block first over layer first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pumice.results.document import number
from pumice_papers.figures import Drawing
from pumice_papers.quantities import WRITE_LATENCY, Document, Quantity, quantity
from pumice_papers.ratios import Ratios, ratios

#: Values of `geometry.write_sequence`.
LAYER_FIRST, SUB_BLOCK_FIRST = "lfws", "sfws"

OP, MODE, ORDER = "ftl.over_provisioning", "ftl.gc_mode", "geometry.write_sequence"

copied_pages = quantity("gc.copied_pages")
response = quantity(WRITE_LATENCY)


def erases(document: Document) -> float | None:
    """Erase operations, of blocks and of sub-blocks."""
    found = [number(document, f"flash.erases.{unit}") for unit in ("block", "sub_block")]
    return None if document is None else sum(count for count in found if count is not None)


def copies_per_collection(document: Document) -> float | None:
    """Pages copied for each erase."""
    copied, collections = copied_pages(document), erases(document)
    return copied / collections if copied is not None and collections else None


def values(
    drawing: Drawing, of: Quantity, study: str, varied: Mapping[str, Any] | None = None
) -> dict[str, float | None]:
    """A quantity of every workload of a study, in the runs with these varied values."""
    return {name: of(document) for name, document in drawing.runs.find(study, varied or {}).items()}


def sfws_to_lfws(drawing: Drawing, of: Quantity, study: str = "", varied: Mapping[str, Any] | None = None) -> Ratios:
    """A quantity of every workload, sub-block first over layer first; `study` begins the names of the
    two studies."""
    over, under = (values(drawing, of, f"{study}{order}", varied) for order in (SUB_BLOCK_FIRST, LAYER_FIRST))
    return ratios(over, under)
