"""Figure [figlog:ctau]: contours of the speedup of the (c, tau)-distributed sampling."""

from collections.abc import Iterator
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from experiments.base import Experiment, Row, Task, markdown, where
from experiments.contours import draw_contours, spread_along_products
from experiments.measure import measured, problem_of, speedups
from experiments.style import panels
from quartz.samplings import Distributed as Sampling
from quartz.samplings import Uniform

DATA, RATIO, MOST_PASSES = "webspam-like", "sqrt(n)", 400
ESOS = ("sparsity", "spectral")  # the paper's v, and the tighter one


class Distributed(Experiment):
    """Smoothed hinge, gamma = 1, lam gamma n = sqrt(n), data of webspam's size and density."""

    name = "distributed"
    title = "Speedup over (c, tau), theoretical and practical"

    def tasks(self, quick: bool) -> Iterator[Task]:
        top, rows = (64, 4096) if quick else (1024, None)
        powers = [4**k for k in range(7) if 4**k <= top]
        for eso in ESOS:
            seeds = 1 if quick or eso == "spectral" else 2
            for c in powers:
                for tau in (t for t in powers if c * t <= top):
                    for seed in range(seeds):
                        key = {"eso": eso, "nodes": c, "tau": tau, "seed": seed}
                        yield Task(key, partial(_point, eso, c, tau, seed, rows))

    def draw(self, rows: list[Row]) -> Figure:
        figure, axes = panels(len(ESOS), 2, sharex=True, sharey=True)
        for axis_row, eso in zip(axes, ESOS, strict=True):
            points = _points(rows, eso)
            nodes, taus = ([p[name] for p in points] for name in ("nodes", "tau"))
            for axis, kind in zip(axis_row, ("theory", "practice"), strict=True):
                draw_contours(axis, nodes, taus, [p[kind] for p in points], rows[0]["n"])
                axis.set_title(f"{kind}, {eso} ESO", fontsize=10)
            axis_row[0].set_ylabel("c, the nodes")
        for axis in axes[-1]:
            axis.set_xlabel("tau")
        return figure

    def summary(self, rows: list[Row]) -> str:
        table, lines = [], []
        for eso in ESOS:
            points = _points(rows, eso)
            nodes, taus = ([p[name] for p in points] for name in ("nodes", "tau"))
            for p in points:
                shown = {"ESO": eso, "c": p["nodes"], "tau": p["tau"], "theory": p["theory"]}
                ratio = p["practice"] / p["theory"]
                table.append(shown | {"practice": p["practice"], "practice / theory": ratio})
            ratios = [p["practice"] / p["theory"] for p in points if p["nodes"] * p["tau"] > 1]
            spread = spread_along_products(nodes, taus, [p["practice"] for p in points])
            lines.append(
                f"- {eso} ESO: practice / theory has the median {np.median(ratios):.3f}, lowest "
                f"{min(ratios):.3f}, highest {max(ratios):.3f}; along c tau = const the speedup in "
                f"practice varies by at most a factor of {spread['all']:.3f} (tau >= 2: "
                f"{spread['tau >= 2']:.3f})."
            )
        return "\n".join(lines) + f"\n\n{markdown(table)}"


def _points(rows: list[Row], eso: str) -> list[Row]:
    return speedups(where(rows, eso=eso), nodes=1, tau=1)


def _point(eso: str, nodes: int, tau: int, seed: int, most_rows: int | None) -> Row:
    problem = problem_of(DATA, RATIO, most_rows)
    serial = nodes == tau == 1
    sampling = Uniform() if serial else Sampling(nodes, tau, spectral=eso == "spectral")
    return measured(problem, sampling, seed, MOST_PASSES) | {"n": problem.n}
