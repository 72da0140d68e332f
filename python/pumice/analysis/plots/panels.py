"""Figures of several axes, and pictures of a device."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pumice.analysis.plots.style import blank_figure, house_style, save

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Columns of the image of a wear map.
WEAR_COLUMNS_MAX = 1000


def panels(draw: Callable[[Any], None], path: Path) -> list[Path]:
    """Two rows of three axes, drawn by `draw` (an array of axes). Writes `path`.png and `path`.svg."""
    with house_style():
        figure = blank_figure(10.5, 6.2)
        draw(figure.subplots(2, 3))
        return save(figure, path)


def wear_image(figure: Figure, erases: np.ndarray[Any, Any]) -> Axes:
    """Draws a wear map into an empty figure: blocks from left to right, leaves from top to bottom, erases as colour.

    Args:
        figure: a figure in the house style.
        erases: counts, a row for each block. More blocks than the image has columns are averaged.

    Returns:
        The map's axes.
    """
    import numpy as np

    group = -(-len(erases) // WEAR_COLUMNS_MAX)
    edges = np.arange(0, len(erases), group)
    sizes = np.diff([*edges, len(erases)])
    means = np.add.reduceat(erases.astype(float), edges) / sizes[:, None]
    axes = figure.add_subplot()
    axes.set_ylabel("leaf")
    axes.grid(visible=False)
    extent = (-0.5, len(erases) - 0.5, erases.shape[1] - 0.5, -0.5)
    image = axes.imshow(means.T, aspect="auto", interpolation="nearest", cmap="viridis", extent=extent)
    axes.set_xlabel("block" if group == 1 else f"block (means of {group})")
    figure.colorbar(image, label="erases")
    return axes
