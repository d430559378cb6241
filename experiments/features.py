"""Table [tbl:finalconclusion]: what each method can do.

Speedup and acceleration are found from the methods' own rates, mini-batches from their parameters;
the other columns say what the code offers, and which quantity a theorem is about.
"""

from collections.abc import Callable, Iterator
from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np

from experiments import datasets
from experiments.base import Experiment, Row, Task, markdown
from quartz import Plan, Problem, losses, methods
from quartz.methods.accelerated import ProximalPoints
from quartz.methods.quartz import SampledSteps
from quartz.samplings import Nice, Uniform

N = 256
COLUMNS = (
    "serial uniform",
    "importance",
    "tau-nice",
    "arbitrary",
    "data-dependent speedup",
    "primal-dual analysis",
    "acceleration",
)
PAPER = {  # its ticks
    "SDCA": "1000000",
    "ASDCA": "1010001",
    "AccProx-SDCA": "1000001",
    "DisDCA": "1010000",
    "Iprox-SDCA": "1100000",
    "APCG": "1000001",
    "SPDC": "1110011",
    "Quartz": "1111110",
}
# Which quantity a method's theorem bounds is a matter of its proof: here the gap [th-mainth], and
# the saddle point; the others go through the dual, or the primal.
DIRECT = ("Quartz", "SPDC", "accelerated Quartz")


class Features(Experiment):
    """Ticks by what a method accepts, and by how its own rate depends on the data and on lam."""

    name = "features"
    title = "Features of the methods"

    def tasks(self, quick: bool) -> Iterator[Task]:
        for name in RATES:
            yield Task({"method": name}, partial(_features, name))

    def summary(self, rows: list[Row]) -> str:
        shown = []
        for row in rows:
            paper = PAPER.get(row["method"], "")
            entry = {"method": row["method"]}
            for k, column in enumerate(COLUMNS):
                mark, other = ("yes", "no") if row[column] else ("no", "yes")
                differs = paper and row[column] != (paper[k] == "1")
                entry[column] = f"{mark}; paper {other}" if differs else mark
            shown.append(entry | {"sparse / dense": row["sparse"], "16 kappa": row["growth"]})
        return (
            f"{markdown(shown)}\n\n`sparse / dense`: how many times fewer iterations the method's "
            f"own bound has on fully sparse data than on fully dense ones, n = {N}, tau = n where "
            "there is one; above 1.5 is data-dependent speedup. `16 kappa`: growth of the bound "
            "when 1/(lam gamma) grows from 16 n to 256 n, on dense data; below 5 is acceleration."
        )


def _term(plan: Plan) -> float:
    return 1 / plan.theta


def _quartz(problem: Problem, tau: int) -> float:
    return _term(Plan.of(problem, Nice(tau)))


def _accelerated(problem: Problem, tau: int) -> float:
    plan = Plan.of(problem, Nice(tau))
    steps = ProximalPoints(SampledSteps(plan, _rng(), "compiled", "conjugate"))
    inner = Plan.of(problem.strengthened(steps.kappa), Nice(tau))
    return _term(inner) * np.sqrt((problem.lam + steps.kappa) / problem.lam)


def _accprox(problem: Problem, tau: int) -> float:
    steps = methods.AccProxSDCA().steps(problem, _rng())
    return _term(Plan.of(problem.strengthened(steps.kappa), Uniform())) / steps.eta


def _of_plan(method: Callable[[int], Any]) -> Callable[[Problem, int], float]:
    return lambda problem, tau: _term(method(tau).steps(problem, _rng()).plan)


def _asdca(problem: Problem, tau: int) -> float:
    return problem.n / (tau * methods.ASDCA(tau).steps(problem, _rng()).theta)


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)


RATES: dict[str, tuple[Any, Callable[[Problem, int], float]]] = {
    # name -> class, and iterations for an e-fold
    "SDCA": (methods.ProxSDCA, _of_plan(lambda tau: methods.ProxSDCA())),
    "ASDCA": (methods.ASDCA, _asdca),
    "AccProx-SDCA": (methods.AccProxSDCA, _accprox),
    "DisDCA": (methods.DisDCA, _of_plan(lambda tau: methods.DisDCA(1, tau, "basic"))),
    "Iprox-SDCA": (methods.IproxSDCA, _of_plan(lambda tau: methods.IproxSDCA())),
    "APCG": (
        methods.APCG,
        lambda problem, tau: problem.n / methods.APCG().steps(problem, _rng()).root,
    ),
    "SPDC": (
        methods.SPDC,
        lambda problem, tau: 1 / (1 - methods.SPDC(tau).steps(problem, _rng()).theta),
    ),
    "mini-batch SDCA": (methods.MiniBatchSDCA, _of_plan(methods.MiniBatchSDCA)),
    "Quartz": (None, _quartz),
    "accelerated Quartz": (None, _accelerated),
}


def _features(name: str) -> Row:
    method, rate = RATES[name]
    ours = method is None
    batches = ours or any(field.name == "batch_size" for field in fields(method))
    sparse, dense = (_problem(omega, 1.0) for omega in (1, N))
    tau = N if batches else 1  # where acceleration shows most
    saved = rate(dense, tau) / rate(sparse, tau)
    growth = rate(_problem(N, 1 / 256), tau) / rate(_problem(N, 1 / 16), tau)
    found = (
        True,
        ours or method is methods.IproxSDCA,
        batches,
        ours,
        saved > 1.5,
        name in DIRECT,
        growth < 5,
    )
    measured = {"sparse": float(saved), "growth": float(growth)}
    return dict(zip(COLUMNS, map(bool, found), strict=True)) | measured


def _problem(omega: int, strength: float) -> Problem:
    """lam gamma n = strength."""
    return Problem(*datasets.shared_by(omega, N), losses.SmoothedHinge(), lam=strength / N)
