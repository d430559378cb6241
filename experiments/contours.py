"""Figure [figcc:thspeeduptau]: contours of the speedup T(1,1) / T(c,tau), nodes against tau."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.base import Experiment, Row, Task
from experiments.style import legend, panels
from quartz import theory
from quartz.arrays import Mask

N, LAM = 10**6, 1e-3
OMEGAS = (10**2, 10**4, 10**6)


class Contours(Experiment):
    """n = 10^6, gamma = 1, lam = 1/sqrt(n), three omega."""

    name = "contours"
    title = "Theoretical speedup of the (c, tau)-distributed sampling"

    def tasks(self, quick: bool) -> Iterator[Task]:
        for omega in OMEGAS:
            yield Task({"omega": omega}, partial(_grid, omega))

    def draw(self, rows: list[Row]) -> Figure:
        figure, axes = panels(1, len(rows), sharey=True)
        for axis, row in zip(axes[0], rows, strict=True):
            draw_contours(axis, row["nodes"], row["tau"], row["speedup"], N)
            axis.set(title=f"omega = {row['omega']:,}", xlabel="tau")
        axes[0][0].set_ylabel("c, the nodes")
        return figure

    def summary(self, rows: list[Row]) -> str:
        lines = []
        for row in rows:
            spread = spread_along_products(row["nodes"], row["tau"], row["speedup"])
            lines.append(
                f"- omega = {row['omega']:,}: along c tau = const the speedup varies by at most a "
                f"factor of {spread['all']:.3f}, with tau >= 2 {spread['tau >= 2']:.3f}."
            )
        return "\n".join(lines)


def draw_contours(
    axis: Axes, nodes: list[int], tau: list[int], speedup: list[float], n: int
) -> None:
    """Contour lines in the log-log plane, and the line c tau = sqrt(n)."""
    rows, columns = sorted(set(nodes)), sorted(set(tau))
    values = np.full((len(rows), len(columns)), np.nan)
    for c, t, s in zip(nodes, tau, speedup, strict=True):
        values[rows.index(c), columns.index(t)] = np.log2(s)
    axis.set(xscale="log", yscale="log")  # before the labels find their places
    top = np.nanmax(values)
    levels = np.arange(1, top, 1 if top < 12 else 2)
    lines = axis.contour(columns, rows, values, levels=levels, colors="black", linewidths=0.9)
    axis.clabel(lines, fmt=lambda level: f"{2**level:,.0f}", fontsize=7, inline_spacing=1)
    ends = np.array([max(1, np.sqrt(n) / max(rows)), min(max(columns), np.sqrt(n))])
    look: dict[str, Any] = {"color": "#d55e00", "linestyle": "--", "linewidth": 2}
    axis.plot(ends, np.sqrt(n) / ends, label="c tau = sqrt(n)", **look)
    legend(axis, loc="upper right")


def spread_along_products(
    nodes: list[int], tau: list[int], speedup: list[float]
) -> dict[str, float]:
    """Largest ratio of speedups with equal c tau; the sampling with tau = 1 is the odd one."""
    c, t, s = np.array(nodes), np.array(tau), np.array(speedup)

    def largest(kept: Mask) -> float:
        products = (c * t)[kept]
        groups = [s[kept][products == product] for product in np.unique(products)]
        return float(max(group.max() / group.min() for group in groups))

    return {"all": largest(s > 0), "tau >= 2": largest(t >= 2)}


def _grid(omega: int) -> Row:
    powers = [2**k for k in range(11)]
    grid = [(c, t) for c in powers for t in powers if c * t <= N]
    speedups = [theory.distributed_speedup(N, c, t, LAM, 1.0, omega) for c, t in grid]
    return {"nodes": [c for c, _ in grid], "tau": [t for _, t in grid], "speedup": speedups}
