"""Figure [fig:thspeeduptau]: the theoretical speedup factor [a-spth] against tau."""

from collections.abc import Iterator
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from experiments.base import Experiment, Row, Task, distinct, markdown, where
from experiments.style import legend, line, panels
from quartz import theory

N = 10**6
OMEGAS = (10**2, 10**4, 10**6)
LAMS = (1e-3, 1e-4, 1e-6)


class Speedup(Experiment):
    """n = 10^6, gamma = 1, three omega and three lam."""

    name = "speedup"
    title = "Theoretical speedup of the tau-nice sampling"

    def tasks(self, quick: bool) -> Iterator[Task]:
        for omega in OMEGAS:
            for lam in LAMS:
                yield Task({"omega": omega, "lam": lam}, partial(_curve, omega, lam))

    def draw(self, rows: list[Row]) -> Figure:
        figure, axes = panels(1, len(OMEGAS), sharey=True)
        for axis, omega in zip(axes[0], distinct(rows, "omega"), strict=True):
            for k, row in enumerate(where(rows, omega=omega)):
                look = line(k, marked=False)
                axis.loglog(row["tau"], row["speedup"], label=f"lam = {row['lam']:g}", **look)
            axis.axvline(np.sqrt(N), color="gray", linewidth=0.8)
            axis.set(title=f"omega = {omega:,}", xlabel="tau")
        axes[0][0].set_ylabel("T(1) / T(tau)")
        axes[0][0].text(0.9 * np.sqrt(N), 1.2, "tau = sqrt(n)", rotation=90, ha="right", fontsize=8)
        legend(axes[0][0])
        return figure

    def summary(self, rows: list[Row]) -> str:
        shown = []
        for row in rows:
            at = dict(zip(row["tau"], row["speedup"], strict=True))
            entry = {"omega": row["omega"], "lam": f"{row['lam']:g}"}
            shown.append(entry | {f"tau = {tau:,}": at[tau] for tau in (100, 1000, 10_000)})
        floor = min(at / tau for row in where(rows, lam=1e-3) for tau, at in _points(row, 1002))
        return (
            f"{markdown(shown)}\n\nWith lam = 1/sqrt(n), up to tau = 2 + lam gamma n = 1,002, the "
            f"speedup is at least {floor:.3f} tau; [a-Twn] says tau / 2."
        )


def _curve(omega: int, lam: float) -> Row:
    taus = np.unique(np.geomspace(1, 10_000, 81).round().astype(int))
    speedups = theory.nice_speedup(N, taus, lam, 1.0, omega)
    return {"tau": taus.tolist(), "speedup": np.asarray(speedups).tolist()}


def _points(row: Row, last: int) -> list[tuple[int, float]]:
    return [(t, s) for t, s in zip(row["tau"], row["speedup"], strict=True) if t <= last]
