"""Table [tab-num]: the data sets, the paper's figures beside ours."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from experiments import datasets
from experiments.base import Experiment, Row, Task, markdown
from quartz import Problem, losses, theory

PAPER = {  # our name -> name, n, d, sparsity in percent
    "astro-ph-like": ("astro-ph", 29_882, 99_757, 0.08),
    "ccat-like-full": ("CCAT", 781_265, 47_236, 0.16),
    "cov1": ("cov1", 522_911, 54, 22.22),
    "w8a": ("w8a", 49_749, 300, 3.91),
    "ijcnn1": ("ijcnn1", 49_990, 22, 59.09),
    "webspam-like": ("webspam", 350_000, 254, 33.52),
    "debian_desc": ("-", 0, 0, 0.0),
}


class DataTable(Experiment):
    """n, d, sparsity, average sparsity and row norms."""

    name = "data"
    title = "Data sets of the experiments"

    def tasks(self, quick: bool) -> Iterator[Task]:
        for name in PAPER:
            if not (quick and datasets.GENERATED.get(name, (0,))[0] > 100_000):
                yield Task({"data": name}, partial(_describe, name))

    def summary(self, rows: list[Row]) -> str:
        shown = []
        for row in rows:
            name, n, d, percent = PAPER[row["data"]]
            entry = {"of the paper": f"{name}: {n:,} x {d:,}, {percent} %" if n else "-"}
            shown.append({"data": row["data"]} | entry | {k: row[k] for k in list(row)[1:]})
        return markdown(shown)


def _describe(name: str) -> Row:
    X, y = datasets.load(name)
    data = Problem(X, y, losses.SmoothedHinge(), lam=1.0).data
    norms = data.squared_norms()
    return {
        "n": X.shape[0],
        "d": X.shape[1],
        "sparsity, %": 100 * X.nnz / (X.shape[0] * X.shape[1]),
        "omega-tilde": float(theory.omega_tilde(data, tau=2)),
        "largest squared norm": float(norms.max()),
        "mean squared norm": float(norms.mean()),
        "positive, %": 100 * float(np.mean(y > 0)),
    }
