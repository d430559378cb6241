"""Beyond the paper: speedups of other mini-batch samplings, and of accelerated Quartz."""

from collections.abc import Iterator
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from experiments.base import Experiment, Row, Task, distinct, markdown, where
from experiments.measure import importance_batch, measured, problem_of, speedups
from experiments.style import draw_speedups, legend, panels
from quartz import Problem, samplings
from quartz.samplings import Recipe

GAP, MOST_PASSES = 1e-8, 2500
DATA = ("w8a", "debian_desc", "cov1")
KINDS = ("nice", "nice, spectral ESO", "bucket", "independent", "accelerated nice")


class Beyond(Experiment):
    """Smoothed hinge, lam gamma n = max ||A_i||^2; speedups over serial uniform Quartz."""

    name = "beyond"
    title = "Other mini-batch samplings and accelerated Quartz"

    def tasks(self, quick: bool) -> Iterator[Task]:
        taus = (1, 8, 64) if quick else (1, 4, 16, 64, 256)
        for data in DATA:
            for kind in KINDS:
                for tau in taus:
                    for seed in range(1 if quick else 3):
                        key = {"data": data, "kind": kind, "tau": tau, "seed": seed}
                        yield Task(key, partial(_point, data, kind, tau, seed, quick))

    def draw(self, rows: list[Row]) -> Figure:
        names = distinct(rows, "data")
        figure, axes = panels(1, len(names))
        for axis, data in zip(axes[0], names, strict=True):
            points = _points(rows, data)
            for k, kind in enumerate(KINDS):
                draw_speedups(axis, where(points, kind=kind), k, kind)
            axis.set_title(data)
        axes[0][0].set_ylabel("iterations of serial uniform / iterations")
        legend(axes[0][0], title="solid theory, dashed practice", title_fontsize=8)
        return figure

    def summary(self, rows: list[Row]) -> str:
        table = []
        for data in distinct(rows, "data"):
            for p in _points(rows, data):
                entry = {"data": data, "sampling": p["kind"], "tau": p["tau"]}
                entry |= {"theory": p["theory"], "practice": p["practice"]}
                table.append(entry | {"practice / theory": p["practice"] / p["theory"]})
        lines = []
        for kind in KINDS:
            ratios = [
                p["practice / theory"] for p in table if p["sampling"] == kind and p["tau"] > 1
            ]
            if not ratios:
                continue
            lines.append(
                f"- {kind}: practice / theory has the median {np.median(ratios):.2f}, lowest "
                f"{min(ratios):.2f}, highest {max(ratios):.2f}."
            )
        lines.append(
            "\nThe theory of acceleration is of the outer loop with the bound's constants, its "
            "practice is Accelerated(Nice(tau)), a heuristic. Probabilities of the independent "
            "sampling that would be above 1 are cut, so that its sets may be a little smaller than "
            "tau."
        )
        return "\n".join(lines) + f"\n\n{markdown(table)}"


def _points(rows: list[Row], data: str) -> list[Row]:
    return speedups(where(rows, data=data), kind="nice", tau=1)


def _point(data: str, kind: str, tau: int, seed: int, quick: bool) -> Row:
    problem = problem_of(data, 1.0, 2000 if quick else 50_000)
    sampling = _sampling(kind, tau, problem)
    most = 1000 if quick else MOST_PASSES
    return measured(problem, sampling, seed, most, GAP, accelerated=kind == "accelerated nice")


def _sampling(kind: str, tau: int, problem: Problem) -> Recipe:
    if kind == "bucket":
        return samplings.Bucket(tau)
    if kind == "independent":
        return importance_batch(problem, tau)
    return samplings.Nice(tau, spectral=kind == "nice, spectral ESO")
