"""Every method of [tbl:finalconclusion] to its optimum on three problems, against its own bound."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from experiments import datasets
from experiments.base import Experiment, Row, Task, markdown
from experiments.measure import solved
from quartz import Plan, Problem, State, certify, losses, methods, theory
from quartz.arrays import Array
from quartz.methods.accelerated import ProximalPoints
from quartz.methods.quartz import SampledSteps
from quartz.samplings import Distributed, Nice, Uniform

GAP = 1e-8  # absolute
TAU, NODES = 8, 4


class Facts(NamedTuple):
    """What the bounds are made of."""

    problem: Problem
    w: Array  # the optimum
    duals: Array
    radius: float  # R^2
    primal_lag: float  # P(0) - P*
    dual_lag: float  # D* - D(0)

    @property
    def gap(self) -> float:
        """P(0) - D(0)."""
        return self.primal_lag + self.dual_lag

    @property
    def serial(self) -> float:
        """SDCA's term; P(z) - D(alpha) is at most so many times D* - D(alpha)."""
        return theory.sdca(self.problem.n, self.problem.lam, self.problem.loss.gamma, self.radius)


class Compared(NamedTuple):
    """A method, what is counted until what is small, and the bound on that."""

    make: Callable[[Problem, np.random.Generator], Any]
    bound: Callable[[Any, Facts], float]
    counted: str = "iterations"
    small: str = "gap"  # or "P - P*"
    interval: float = 1.0  # passes of a chunk


class Methods(Experiment):
    """Three generated problems, absolute gap 1e-8."""

    name = "methods"
    title = "The compared methods and their own bounds"

    def tasks(self, quick: bool) -> Iterator[Task]:
        for problem in _problems():
            for method in METHODS:
                for seed in range(1 if quick else 3):
                    key = {"problem": problem, "method": method, "seed": seed}
                    yield Task(key, partial(_point, problem, method, seed, 300 if quick else 2000))

    def summary(self, rows: list[Row]) -> str:
        table = []
        for row in (row for row in rows if row["seed"] == 0):
            runs = [r for r in rows if all(r[k] == row[k] for k in ("problem", "method"))]
            count = float(np.mean([run["count"] for run in runs]))
            entry = {name: row[name] for name in ("problem", "method", "counted", "small")}
            entry |= {"measured": count, "bound": row["bound"]}
            table.append(entry | {"measured / bound": count / row["bound"]})
        worst = max(entry["measured / bound"] for entry in table)
        apart = max(row["apart"] for row in rows)
        return (
            f"{len(METHODS)} methods on {len(_problems())} problems. Largest measured / bound: "
            f"{worst:.3f}. The P that they end with is at most {apart:.1e} above the optimum that "
            f"Quartz certifies.\n\n{markdown(table)}"
        )


def _falls(rate: float, start: float, end: float = GAP) -> float:
    """Iterations in which `start` falls to `end`, by the factor `rate` in each."""
    return float(np.log(start / end) / -np.log(rate))


def _sdca(steps: Any, facts: Facts) -> float:
    """The dual suboptimality falls by theta [a-theta] with the method's v."""
    term = 1 / steps.plan.theta
    return _falls(1 - steps.plan.theta, term * facts.dual_lag)


def _asdca(steps: Any, facts: Facts) -> float:
    """m (P - P*) + n (D* - D) falls by 1 - theta m / n."""
    n, m = facts.problem.n, steps.batch_size
    start = (m * facts.primal_lag + n * facts.dual_lag) / m
    return _falls(1 - steps.theta * m / n, start)


def _apcg(steps: Any, facts: Facts) -> float:
    """The dual suboptimality and mu/2 ||alpha - alpha*||_L^2 fall by 1 - s / n."""
    problem, s = facts.problem, steps.root
    lipschitz = (facts.radius / (problem.lam * problem.n) + steps.gamma) / problem.n
    start = facts.dual_lag + 0.5 * s**2 * lipschitz * float(facts.duals @ facts.duals)
    return _falls(1 - s / problem.n, facts.serial * start)


def _spdc(steps: Any, facts: Facts) -> float:
    """The source's potential falls by theta; its lemma on the gap gives the factor."""
    problem, m = facts.problem, steps.batch_size
    n, lam, gamma = problem.n, problem.lam, steps.gamma
    of_x, of_y = 0.5 / steps.tau + 0.5 * lam, (0.25 / steps.sigma + 0.5 * gamma) / m
    norm_x, norm_y = float(facts.w @ facts.w), float(facts.duals @ facts.duals)
    best = problem.primal(facts.w)
    at_zero_x = -float(np.mean(problem.losses.conjugates(facts.duals)))  # L(0, y*)
    at_zero_y = 0.5 * lam * norm_x - float(np.mean(problem.losses.conjugates(np.zeros(n))))
    start = of_x * norm_x + of_y * norm_y + (at_zero_x - best) + n / m * (best - at_zero_y)
    start += 0.25 * norm_y / (m * steps.sigma)
    factor = max(1.0, facts.radius / (2 * gamma) / of_x, facts.radius / (2 * lam * n) / of_y)
    return _falls(steps.theta, factor * start)


def _saga(steps: Any, facts: Facts) -> float:
    """V of `quartz.methods.saga`; P - P* <= (lam + R^2 / gamma) / 2 ||w - w*||^2."""
    problem = facts.problem
    norms = problem.data.squared_norms()
    shrink = (1 + steps.tau * problem.lam) ** -2
    spread = float(norms @ facts.duals**2)
    start = float(facts.w @ facts.w) + 4 * shrink * steps.tau**2 * spread
    smooth = 0.5 * (problem.lam + facts.radius / steps.gamma)
    term = theory.saga(problem.n, problem.lam, steps.gamma, facts.radius)
    return _falls(1 - 1 / term, smooth * start)


def _practical(steps: Any, facts: Facts) -> float:
    problem = facts.problem
    labels = Distributed(NODES, 1).bind(problem).labels
    parts = (problem.data.storage.dense()[labels == node] for node in range(NODES))
    largest = max(np.linalg.norm(part, 2) ** 2 for part in parts)
    term = theory.disdca_practical(
        problem.n, NODES, TAU, problem.lam, problem.loss.gamma, float(largest), facts.radius
    )
    return _falls(1 - 1 / term, facts.serial * facts.dual_lag)


def _accprox(steps: Any, facts: Facts) -> float:
    """Outer steps t with xi_t <= eps."""
    return _falls(1 - 0.5 * steps.eta, (1 + steps.eta**-2) * facts.gap)


def _accelerated(steps: Any, facts: Facts) -> float:
    """Outer steps of docs/acceleration.md."""
    lam = facts.problem.lam
    rate = 1 - 0.5 * np.sqrt(lam / (lam + steps.kappa))
    return _falls(float(rate), 2 * facts.primal_lag)


def _quartz(steps: Any, facts: Facts) -> float:
    """[th-mainth]."""
    return _falls(1 - steps.plan.theta, facts.gap)


def _nice(problem: Problem, rng: np.random.Generator) -> SampledSteps:
    return SampledSteps(Plan.of(problem, Nice(TAU)), rng, "compiled", "own")


def _proximal_points(problem: Problem, rng: np.random.Generator) -> ProximalPoints:
    inner = SampledSteps(Plan.of(problem, Uniform()), rng, "compiled", "conjugate")
    return ProximalPoints(inner)


METHODS = {
    "Prox-SDCA": Compared(methods.ProxSDCA().steps, _sdca),
    "Iprox-SDCA": Compared(methods.IproxSDCA().steps, _sdca),
    f"mini-batch SDCA, {TAU}": Compared(methods.MiniBatchSDCA(TAU).steps, _sdca),
    f"basic DisDCA, {NODES} x {TAU}": Compared(methods.DisDCA(NODES, TAU, "basic").steps, _sdca),
    f"practical DisDCA, {NODES} x {TAU}": Compared(
        methods.DisDCA(NODES, TAU).steps, _practical, "rounds"
    ),
    f"ASDCA, {TAU}": Compared(methods.ASDCA(TAU).steps, _asdca),
    "AccProx-SDCA": Compared(methods.AccProxSDCA().steps, _accprox, "outer steps", "P - P*"),
    "APCG": Compared(methods.APCG().steps, _apcg),
    f"SPDC, {TAU}": Compared(methods.SPDC(TAU).steps, _spdc),
    "SAGA": Compared(methods.SAGA().steps, _saga, small="P - P*"),
    f"Quartz, {TAU}-nice": Compared(_nice, _quartz),
    "accelerated Quartz": Compared(
        _proximal_points, _accelerated, "outer steps", "P - P*", interval=0.5
    ),
}


def _problems() -> dict[str, Callable[[int], Problem]]:
    return {
        "smoothed hinge, text-like": lambda n: _conditioned(
            datasets.text_like(n, 2 * n, 20 / (2 * n)), losses.SmoothedHinge()
        ),
        "logistic, dense": lambda n: _conditioned(datasets.shared_by(n, n), losses.Logistic()),
        "least squares, rows of many lengths": lambda n: _conditioned(
            _stretched(datasets.text_like(n, n // 4, 0.1)), losses.Squared()
        ),
    }


def _conditioned(data: tuple[Any, Array], loss: Any) -> Problem:
    """lam gamma n = 0.3 max ||A_i||^2."""
    X, y = data
    largest = X.power(2).sum(axis=1).max()
    return Problem(X, y, loss, lam=float(0.3 * largest / (loss.gamma * X.shape[0])))


def _stretched(data: tuple[Any, Array]) -> tuple[Any, Array]:
    X, y = data
    lengths = np.random.default_rng(0).lognormal(sigma=0.5, size=X.shape[0])
    X.data *= np.repeat(lengths, np.diff(X.indptr))
    return X, y


def _point(name: str, method: str, seed: int, n: int) -> Row:
    problem = _problems()[name](n)
    best = solved(problem, tol=1e-13, max_passes=3000)
    optimum = best.certificate.primal_value
    zero = np.zeros(problem.data.d)
    facts = Facts(
        problem,
        best.w,
        best.duals,
        float(problem.data.squared_norms().max()),
        problem.primal(zero) - optimum,
        best.certificate.dual_value - problem.dual(np.zeros(problem.n)),
    )
    compared = METHODS[method]
    steps = compared.make(problem, np.random.default_rng(seed))
    bound, state, outer = compared.bound(steps, facts), State.start(problem), 0
    state.interval, count = compared.interval, 0
    while True:
        certificate = certify(problem, state.duals, state.w, primal=steps.primal)
        lag = problem.primal(state.w) - optimum
        if (certificate.gap if compared.small == "gap" else lag) <= GAP or count > 3 * bound:
            break
        steps.advance(state, 0.0, 0.0)
        outer += 1
        count = outer if compared.counted == "outer steps" else state.iteration
    found = {"count": count, "bound": bound, "apart": certificate.primal_value - optimum}
    return {"counted": compared.counted, "small": compared.small} | found
