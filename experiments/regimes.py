"""Table [tab-comtau987987]: who needs the fewest iterations in five regimes of lam."""

from collections.abc import Iterator
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from experiments import datasets
from experiments.base import Experiment, Row, Task, distinct, markdown, where
from experiments.measure import iterations_to
from experiments.style import legend, line, panels
from quartz import Problem, losses, methods, theory
from quartz.samplings import Nice

GAP = 1e-6
REGIMES = ("1/sqrt(n)", "1/tau", "1", "tau", "sqrt(n)")  # gamma lam n


class Regimes(Experiment):
    """Smoothed hinge on unit rows, every column shared by omega = 1, sqrt(n) or n examples."""

    name = "regimes"
    title = "SDCA, ASDCA, SPDC, Quartz and accelerated Quartz in five regimes"

    def tasks(self, quick: bool) -> Iterator[Task]:
        root, tau = (16, 4) if quick else (32, 8)
        for omega in (1, root, root**2):
            for regime in REGIMES:
                for method in _methods(tau):
                    for seed in range(1 if quick else 5):
                        key = {"n": root**2, "tau": tau, "omega": omega, "regime": regime}
                        run = partial(_point, root**2, tau, omega, regime, method, seed)
                        yield Task(key | {"method": method, "seed": seed}, run)

    def draw(self, rows: list[Row]) -> Figure:
        omegas = distinct(rows, "omega")
        figure, axes = panels(1, len(omegas), sharey=True)
        for axis, omega in zip(axes[0], omegas, strict=True):
            for k, method in enumerate(distinct(rows, "method")):
                found = [
                    _mean(where(rows, omega=omega, regime=regime, method=method))
                    for regime in REGIMES
                ]
                look = line(k)
                axis.semilogy(REGIMES, [f["iterations"] for f in found], label=method, **look)
                bounds = [f["term"] * -np.log(GAP) for f in found]
                axis.semilogy(REGIMES, bounds, color=look["color"], linewidth=0.6, alpha=0.7)
            axis.set(title=f"omega = {omega}", xlabel="lam gamma n")
        axes[0][0].set_ylabel(f"iterations to a gap of {GAP:g}")
        legend(axes[0][-1], title="thin: term of the bound x log", title_fontsize=8)
        return figure

    def summary(self, rows: list[Row]) -> str:
        table = []
        agree = 0
        for omega in distinct(rows, "omega"):
            for regime in REGIMES:
                cell = {
                    method: _mean(where(rows, omega=omega, regime=regime, method=method))
                    for method in distinct(rows, "method")
                }
                counts = {method: found["iterations"] for method, found in cell.items()}
                terms = {method: found["term"] for method, found in cell.items()}
                winner, promised = min(counts, key=counts.get), min(terms, key=terms.get)  # type: ignore[arg-type]
                good = [m for m in terms if terms[m] <= 1.5 * terms[promised]]
                agree += winner in good
                entry = {"omega": omega, "lam gamma n": regime}
                entry |= counts
                table.append(entry | {"wins": winner, "by the bounds": ", ".join(good)})
        return (
            f"Iterations to a gap of {GAP:g}, n = {rows[0]['n']:,}, tau = {rows[0]['tau']}, means "
            f"over seeds; the last column has the methods with a bound within 1.5 of the best.\n\n"
            f"{markdown(table)}\n\nThe winner is among them in {agree} of {len(table)} cells. "
            "Accelerated Quartz is Accelerated(Nice(tau)), a heuristic; its bound is of the outer "
            "loop with the bound's constants."
        )


def _methods(tau: int) -> dict[str, methods.Method]:
    return {
        "SDCA": methods.ProxSDCA(),
        "ASDCA": methods.ASDCA(tau),
        "SPDC": methods.SPDC(tau),
        "Quartz": methods.Quartz(Nice(tau), primal="own"),
        "accelerated Quartz": methods.Accelerated(Nice(tau)),
    }


def _point(n: int, tau: int, omega: int, regime: str, method: str, seed: int) -> Row:
    X, y = datasets.shared_by(omega, n)
    root = np.sqrt(n)
    strength = {"1/sqrt(n)": 1 / root, "1/tau": 1 / tau, "1": 1.0, "tau": tau, "sqrt(n)": root}
    problem = Problem(X, y, losses.SmoothedHinge(), lam=strength[regime] / n)
    term = theory.leading_terms(n, tau, problem.lam, 1.0, omega)[method]
    found = iterations_to(problem, GAP, 50_000, _methods(tau)[method], seed=seed)
    return {"term": term, "iterations": found}


def _mean(rows: list[Row]) -> Row:
    counts = [np.inf if row["iterations"] is None else row["iterations"] for row in rows]
    count = float(np.mean(counts))
    return {"iterations": count, "term": rows[0]["term"]}
