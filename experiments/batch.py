"""Figure [fig:batch]: theoretical and practical speedup factors of the tau-nice sampling."""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from experiments.base import Experiment, Row, Task, distinct, markdown, where
from experiments.measure import measured, problem_of, speedups
from experiments.style import draw_speedups, legend, panels
from quartz.samplings import Nice, Uniform


class Setting(NamedTuple):
    """What is run on a data set."""

    ratios: tuple[float | str, ...]  # lam gamma n / max ||A_i||^2
    taus: tuple[int, ...]
    seeds: int
    most_passes: int  # by the bound; larger tau are left out
    most_rows: int | None = None


FULL = {
    "cov1": Setting(("sqrt(n)", 30.0, 1.0), (1, 4, 16, 64, 256, 1024, 4096), 3, 500),
    "astro-ph-like": Setting(("sqrt(n)", 10.0, 1.0), (1, 4, 16, 64, 256, 1024, 4096), 5, 1000),
    "ccat-like-full": Setting(("sqrt(n)", 30.0, 1.0), (1, 8, 64, 512, 4096), 2, 200),
    "debian_desc": Setting(("sqrt(n)", 10.0, 1.0), (1, 4, 16, 64, 256, 1024, 4096), 5, 1000),
    "fully sparse": Setting(("sqrt(n)", 10.0, 1.0), (1, 4, 16, 64, 256, 1024), 5, 1000),
    "fully dense": Setting(("sqrt(n)", 10.0, 1.0), (1, 4, 16, 64, 256, 1024), 5, 1000),
}


class Batch(Experiment):
    """Smoothed hinge, gamma = 1, gap 1e-11; two generated extremes besides the paper's data."""

    name = "batch"
    title = "Speedup of mini-batches, theoretical and practical"

    def tasks(self, quick: bool) -> Iterator[Task]:
        for data, setting in FULL.items():
            if quick:
                few = tuple(tau for tau in setting.taus if tau <= 256)
                setting = Setting(("sqrt(n)", 1.0), few, 2, 250, most_rows=2000)
            for ratio in setting.ratios:
                for tau in setting.taus:
                    for seed in range(setting.seeds):
                        key = {"data": data, "ratio": ratio, "tau": tau, "seed": seed}
                        yield Task(key, partial(_point, data, ratio, tau, seed, setting))

    def draw(self, rows: list[Row]) -> Figure:
        names = distinct(rows, "data")
        columns = 3
        figure, axes = panels(-(-len(names) // columns), columns)
        for axis, data in zip(axes.flat, names, strict=False):
            for k, ratio in enumerate(distinct(where(rows, data=data), "ratio")):
                points = speedups(where(rows, data=data, ratio=ratio), tau=1)
                shown = f"{ratio:g}" if isinstance(ratio, float) else ratio
                draw_speedups(axis, points, k, f"lam gamma n / max = {shown}")
            axis.set_title(data)
            legend(axis, title="solid theory, dashed practice", title_fontsize=8)
        for axis in axes[:, 0]:
            axis.set_ylabel("speedup T(1) / T(tau)")
        for axis in axes.flat[len(names) :]:
            axis.set_visible(False)
        return figure

    def summary(self, rows: list[Row]) -> str:
        table, all_ratios = [], []
        linear: dict[str, list[float]] = {}
        for data in distinct(rows, "data"):
            for ratio in distinct(where(rows, data=data), "ratio"):
                points = speedups(where(rows, data=data, ratio=ratio), tau=1)
                quotients = [p["practice"] / p["theory"] for p in points if p["tau"] > 1]
                if not quotients:
                    continue
                all_ratios += quotients
                shares = [p["practice"] / p["tau"] for p in points if p["tau"] <= p["linear_until"]]
                linear[data] = linear.get(data, []) + shares
                table.append(
                    {
                        "data": data,
                        "lam gamma n / max": ratio,
                        "largest tau": points[-1]["tau"],
                        "theory there": points[-1]["theory"],
                        "practice there": points[-1]["practice"],
                        "practice / theory, median": float(np.median(quotients)),
                        "lowest": min(quotients),
                        "highest": max(quotients),
                    }
                )
        if not table:
            return "No tau above 1 was within the limit of passes."
        return (
            f"{markdown(table)}\n\nLarger tau are left out where the bound says that they take "
            "more passes than the limit of the experiment.\n\n"
            f"Practical over theoretical speedup, all {len(all_ratios)} points: median "
            f"{np.median(all_ratios):.3f}, lowest {min(all_ratios):.3f}, highest "
            f"{max(all_ratios):.3f}.\n\n"
            "Practical speedup over tau for tau <= 2 + lam gamma n / max, at the lowest (theory "
            "says 0.5 or more on any data, 1 on fully sparse ones): "
            + ", ".join(f"{data} {min(shares):.2f}" for data, shares in linear.items())
            + "."
        )


def _point(data: str, ratio: float | str, tau: int, seed: int, setting: Setting) -> Row:
    problem = problem_of(data, ratio, setting.most_rows)
    sampling = Uniform() if tau == 1 else Nice(tau)
    largest = float(problem.data.squared_norms().max())
    linear_until = 2 + problem.lam * problem.loss.gamma * problem.n / largest  # of [a-Twn]
    return measured(problem, sampling, seed, setting.most_passes) | {"linear_until": linear_until}
