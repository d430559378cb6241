"""How pictures look: lines that differ without colour, grids, one size for a panel."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.base import Row

_SHADES = ("#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a8a8a", "#e69f00")
_DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def line(k: int, marked: bool = True) -> dict[str, Any]:
    """Return the look of the k-th line of a panel."""
    k %= len(_SHADES)
    look = {"color": _SHADES[k], "linestyle": _DASHES[k]}
    return look | {"marker": _MARKERS[k], "markersize": 4.5} if marked else look


def panels(rows: int, columns: int, **shared: Any) -> tuple[Figure, np.ndarray[Any, Any]]:
    """Return a figure and its axes, as an array of rows and columns."""
    figure = Figure(figsize=(4.0 * columns, 3.4 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **shared)
    for axis in axes.flat:
        axis.grid(True, which="major", alpha=0.3)
    return figure, axes


def draw_speedups(axis: Axes, points: list[Row], k: int, label: str) -> None:
    """Theory solid and hollow, practice dashed and filled with the band of its seeds; over tau."""
    look = line(k) | {"linestyle": "--"}
    tau = [point["tau"] for point in points]
    theory = look | {"linestyle": "-", "linewidth": 0.9, "markerfacecolor": "none"}
    axis.loglog(tau, [point["theory"] for point in points], **theory)
    axis.loglog(tau, [point["practice"] for point in points], label=label, **look)
    least, most = ([point[end] for point in points] for end in ("least", "most"))
    axis.fill_between(tau, least, most, color=look["color"], alpha=0.2)
    axis.set_xlabel("tau")


def legend(axis: Axes, **options: Any) -> None:
    """Add a small legend."""
    axis.legend(fontsize=8, **options)
