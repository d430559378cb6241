"""Beyond [fig:ex1IU]: the gap against passes with other samplings and with acceleration."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from experiments.base import Experiment, Row, Task, distinct, markdown, where
from experiments.importance import LAMS, PASSES, passes_to, problem_of_paper
from experiments.measure import AnyMethod, gap_curve, importance_batch
from experiments.style import line, panels
from quartz import Problem, samplings
from quartz.methods import Accelerated

TAU, TARGET = 8, 1e-5


class Gaps(Experiment):
    """The problems of [fig:ex1IU]; mini-batches of 8; the better of w and z."""

    name = "gaps"
    title = "Gap against passes: other samplings, acceleration, and the default"

    def tasks(self, quick: bool) -> Iterator[Task]:
        for data in LAMS:
            for kind in KINDS:
                passes = PASSES[data] // (3 if quick else 1)
                run = partial(_curve, data, kind, passes, 5000 if quick else None)
                yield Task({"data": data, "kind": kind}, run)

    def draw(self, rows: list[Row]) -> Figure:
        names = distinct(rows, "data")
        figure, axes = panels(1, len(names), sharey=True)
        for axis, data in zip(axes[0], names, strict=True):
            for k, row in enumerate(where(rows, data=data)):
                few = len(row["gap"]) < 30
                axis.semilogy(row["passes"], row["gap"], label=row["kind"], **line(k, marked=few))
            axis.set(title=f"{data}, lam = {LAMS[data]:g}", xlabel="passes", ylim=(1e-13, 3))
        axes[0][0].set_ylabel("relative gap")
        handles, labels = axes[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8)
        return figure

    def summary(self, rows: list[Row]) -> str:
        table = []
        for data in distinct(rows, "data"):
            found = {row["kind"]: passes_to([row], TARGET) for row in where(rows, data=data)}
            shown = {kind: "-" if np.isnan(p) else round(p) for kind, p in found.items()}
            table.append({"data": data} | shown)
        return f"Passes to a relative gap of {TARGET:g}:\n\n{markdown(table)}"


KINDS: dict[str, Callable[[Problem], AnyMethod]] = {
    "uniform": lambda problem: samplings.Uniform(),
    "importance": lambda problem: samplings.Importance(),
    f"bucket, {TAU}": lambda problem: samplings.Bucket(TAU),
    f"independent, {TAU}": lambda problem: importance_batch(problem, TAU),
    f"nice, {TAU}, spectral ESO": lambda problem: samplings.Nice(TAU, spectral=True),
    "accelerated uniform": lambda problem: Accelerated(samplings.Uniform()),
    "default": lambda problem: None,
}


def _curve(data: str, kind: str, passes: int, most_rows: int | None) -> Row:
    problem = problem_of_paper(data, most_rows)
    return gap_curve(problem, passes, KINDS[kind](problem))
