"""Figure [fig:ex1IU]: importance sampling, and primal steps of theta, 10 theta and 100 theta."""

from collections.abc import Iterator
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from experiments import datasets
from experiments.base import Experiment, Row, Task, distinct, markdown, where
from experiments.data_table import PAPER
from experiments.measure import gap_curve
from experiments.style import legend, line, panels
from quartz import Problem, losses, methods, samplings
from quartz.arrays import Array

LAMS = {"cov1": 1e-6, "w8a": 1e-5, "ijcnn1": 1e-5}
PASSES = {"cov1": 150, "w8a": 900, "ijcnn1": 150}
FACTORS = (1, 10, 100)
ROUNDING = 1e-12  # relative gaps below it are not compared
TARGET = 1e-5  # relative gap at which passes are compared
SERIAL: dict[str, samplings.Recipe] = {
    "U": samplings.Uniform(),
    "IP": samplings.Importance(),
}
RIVALS = {"Prox-SDCA": methods.ProxSDCA(), "Iprox-SDCA": methods.IproxSDCA()}


class Importance(Experiment):
    """Squared hinge, gamma = 1, L2: Quartz-U, Quartz-IP, Prox-SDCA and Iprox-SDCA."""

    name = "importance"
    title = "Uniform and importance sampling, Quartz and SDCA"

    def tasks(self, quick: bool) -> Iterator[Task]:
        rows = 5000 if quick else None
        for data in LAMS:
            passes = PASSES[data] // (3 if quick else 1)
            for seed in range(1 if quick else 3):
                for name, sampling in SERIAL.items():
                    for factor in FACTORS:
                        key = {"data": data, "method": f"Quartz-{name}", "factor": factor}
                        quartz = methods.Quartz(
                            sampling, primal="own", primal_step_factor=float(factor)
                        )
                        run = partial(_curve, data, passes, rows, seed, quartz)
                        yield Task(key | {"seed": seed}, run)
                for name, method in RIVALS.items():
                    key = {"data": data, "method": name, "factor": 0, "seed": seed}
                    yield Task(key, partial(_curve, data, passes, rows, seed, method))

    def draw(self, rows: list[Row]) -> Figure:
        names = distinct(rows, "data")
        figure, axes = panels(len(FACTORS), len(names), sharex="col", sharey=True)
        for axis_row, factor in zip(axes, FACTORS, strict=True):
            for axis, data in zip(axis_row, names, strict=True):
                for k, name in enumerate(("Quartz-U", "Quartz-IP", *RIVALS)):
                    runs = where(rows, data=data, method=name)
                    runs = [run for run in runs if run["factor"] in (0, factor)]
                    axis.semilogy(*mean_curve(runs), label=name, **line(k, marked=False))
                step = "theta" if factor == 1 else f"{factor} theta"
                axis.set_title(f"{data}, lam = {LAMS[data]:g}, primal step {step}", fontsize=10)
                axis.set_ylim(1e-13, 3)
        for axis in axes[-1]:
            axis.set_xlabel("passes")
        for axis in axes[:, 0]:
            axis.set_ylabel("relative gap")
        legend(axes[0][0])
        return figure

    def summary(self, rows: list[Row]) -> str:
        needed, ratios = [], []
        for data in distinct(rows, "data"):
            runs = {name: where(rows, data=data, method=name, factor=0) for name in RIVALS}
            passes: Row = {name: passes_to(found, TARGET) for name, found in runs.items()}
            ratio: Row = {}
            for name, rival in zip(SERIAL, RIVALS, strict=True):
                for factor in FACTORS:
                    label = f"Quartz-{name}" + (f", {factor} theta" if factor > 1 else "")
                    found = where(rows, data=data, method=f"Quartz-{name}", factor=factor)
                    passes[label] = passes_to(found, TARGET)
                    ratio[label] = mean_ratio(found, runs[rival])
            shown = {label: "-" if np.isnan(p) else round(p) for label, p in passes.items()}
            needed.append({"data": data} | shown)
            ratios.append({"data": data} | ratio)
        return (
            f"Passes to a relative gap of {TARGET:g}, mean over seeds:\n\n{markdown(needed)}\n\n"
            "Gap over that of SDCA with the same sampling, geometric mean over the second half of "
            f"the passes (up to gaps of {ROUNDING:g}):\n\n{markdown(ratios)}"
        )


def mean_curve(runs: list[Row]) -> tuple[list[float], Array]:
    """Passes, and the geometric mean of the gaps."""
    length = min(len(run["gap"]) for run in runs)
    logs = np.mean([np.log(run["gap"][:length]) for run in runs], axis=0)
    return runs[0]["passes"][:length], np.exp(logs)


def mean_ratio(runs: list[Row], others: list[Row]) -> float:
    """Geometric mean of the ratio of two gaps over the second half of the passes."""
    mine, theirs = mean_curve(runs)[1], mean_curve(others)[1]
    length = min(mine.size, theirs.size)
    length = int(np.argmin(np.append(np.minimum(mine[:length], theirs[:length]), 0.0) > ROUNDING))
    half = slice(length // 2, length)
    return float(np.exp(np.mean(np.log(mine[half] / theirs[half]))))


def passes_to(runs: list[Row], target: float) -> float:
    """Mean over runs of the first pass at which the gap is at most the target; NaN if missed."""
    found = [
        next((p for p, gap in zip(r["passes"], r["gap"], strict=True) if gap <= target), np.nan)
        for r in runs
    ]
    return float(np.mean(found))


def problem_of_paper(data: str, most_rows: int | None) -> Problem:
    """Return the problem of the figure; on fewer rows it has the same lam n."""
    X, y = datasets.load(data, most_rows)
    _, n, _, _ = PAPER[data]
    lam = LAMS[data] * n / X.shape[0]
    return Problem(X, y, losses.SquaredHinge(gamma=1.0), lam)


def _curve(data: str, passes: int, most_rows: int | None, seed: int, method: methods.Method) -> Row:
    return gap_curve(problem_of_paper(data, most_rows), passes, method, seed=seed)
