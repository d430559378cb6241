"""SPDC, stochastic primal-dual coordinate (Zhang and Xiao, 2015), with mini-batches.

With xbar^t = x^t + theta (x^t - x^{t-1}) and a random set S of m examples,

    alpha_i^{t+1} = argmin phi_i*(-a) + a A_i' xbar^t + (a - alpha_i^t)^2 / (2 sigma),  i in S
    x^{t+1} = argmin lam g(x) - <lam abar^t + 1/m sum_{i in S} A_i (alpha_i^{t+1} - alpha_i^t), x>
                     + ||x - x^t||^2 / (2 tau)

    tau = 1/(2R) sqrt(m gamma / (n lam)),   sigma = 1/(2R) sqrt(n lam / (m gamma)),
    theta = 1 - 1 / (n/m + R sqrt(n / (m lam gamma))),

by which the distance to the saddle point falls by theta in an iteration, the bound of [tab-comtau].
The source writes y = -alpha. For L2 an iteration costs O(nnz): a coordinate of x that is not
touched moves towards abar_j, which stays, by the factor 1 / (1 + lam tau) in each iteration, and is
brought up to date when it is read. For any other g an iteration costs O(d) more.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from quartz.arrays import Array
from quartz.kernels.arguments import Examples
from quartz.kernels.compile import specialize
from quartz.kernels.rows import column, row_parts, row_start
from quartz.kernels.updates import update, update_parts
from quartz.methods.base import MiniBatchSteps
from quartz.problem import Problem
from quartz.regularizers import L2
from quartz.samplings import IndexSets
from quartz.solvers.engine import loss_parts
from quartz.solvers.state import State


@dataclass(frozen=True)
class SPDC:
    """Stochastic primal-dual coordinate method.

    Parameters
    ----------
    batch_size : int
        m, the paper's tau.
    """

    batch_size: int = 1

    def steps(self, problem: Problem, rng: np.random.Generator) -> "SPDCSteps":
        """Return its steps for a problem."""
        return SPDCSteps(problem, self.batch_size, rng)


class SPDCSteps(MiniBatchSteps):
    """Steps of SPDC.

    Attributes
    ----------
    tau, sigma, theta : float
        Primal and dual step size, and momentum.
    """

    def __init__(self, problem: Problem, batch_size: int, rng: np.random.Generator) -> None:
        super().__init__("SPDC", problem, batch_size, rng)
        ratio = problem.n / batch_size
        root = np.sqrt(ratio * problem.lam / self.gamma)
        radius = np.sqrt(self.largest_norm)
        self.tau, self.sigma = 0.5 / (radius * root), 0.5 * root / radius
        self.theta = 1.0 - 1.0 / (ratio + np.sqrt(ratio * self.condition))
        self._previous = np.empty(0)
        self._is_l2 = isinstance(problem.regularizer, L2)
        self._kernel = specialize(
            spdc_rows,
            loss_parts(problem)
            | row_parts(self._rows)
            | update_parts(option=1, weighted=problem.weights is not None, componentwise=False),
        )

    def _run(self, state: State, sets: IndexSets) -> None:
        if not self._previous.size:
            self._previous = state.w.copy()
        if self._is_l2:
            self._run_lazily(state, sets)
        else:
            reference(self, state, self._previous, sets)

    def _run_lazily(self, state: State, sets: IndexSets) -> None:
        problem = self.problem
        vectors = _Vectors(
            state.w, self._previous, np.zeros(problem.data.d, dtype=np.int64), state.abar
        )
        shrink = 1.0 / (1.0 + problem.lam * self.tau)
        ones = np.broadcast_to(1.0, problem.n)
        self._kernel(
            sets.indptr,
            sets.indices,
            self.theta,
            shrink,
            shrink * self.tau / self.batch_size,
            1.0 / self.sigma,
            1.0 / (problem.lam * problem.n),
            np.empty(self.batch_size),
            Examples(self._rows, problem.y, self._weights, state.alpha, ones),
            problem.loss,
            vectors,
        )


def reference(steps: SPDCSteps, state: State, previous: Array, sets: IndexSets) -> None:
    """Do one iteration for each set, line by line, for any g; `previous` is x^{t-1}."""
    problem, tau, data = steps.problem, steps.tau, steps.problem.data
    proximal = problem.strengthened(1.0 / tau)
    x = state.w
    for t in range(len(sets)):
        look_ahead = x + steps.theta * (x - previous)
        change = np.zeros_like(x)
        for i in sets[t]:
            old = state.alpha[i]
            prediction = data.predict_one(i, look_ahead)
            state.alpha[i] = problem.step_one(i, old, prediction, 1.0 / steps.sigma)
            data.accumulate(i, state.alpha[i] - old, change)
        previous[:] = x
        pull = problem.lam * state.abar + change / steps.batch_size
        x[:] = proximal.conjugate_point((x / tau + pull) / proximal.lam)
        state.abar += change / (problem.lam * problem.n)


class _Vectors(NamedTuple):
    """x_j and its previous value are those of iteration `last`."""

    x: Array
    previous: Array
    last: Array
    abar: Array


def spdc_rows(
    indptr: Array,
    indices: Array,
    theta: float,
    shrink: float,
    primal_step: float,
    q: float,
    inverse: float,
    pending: Array,
    examples: Examples,
    loss: Any,
    vectors: Any,
) -> None:
    """Iterate over the sets, for L2 and one column; ends with all coordinates up to date."""
    rows, y, weights, alpha, _ = examples
    one = np.uint64(1)
    sets = indptr.size - 1
    for t in range(sets):
        first, after = indptr[t], indptr[t + 1]
        for k in range(first, after):
            i = np.uint64(indices[k])
            start, stop = row_start(rows, i), row_start(rows, i + one)
            a, position = 0.0, start
            while position < stop:
                j = column(rows, position, start)
                _catch_up(vectors, j, t, shrink)
                x = vectors.x[j]
                a += rows.values[position] * (x + theta * (x - vectors.previous[j]))
                position += one
            pending[k - first] = update(loss, alpha[i], a, y[i], weights[i], q, 0.0, 1.0)
        for k in range(first, after):
            i = np.uint64(indices[k])
            start, stop = row_start(rows, i), row_start(rows, i + one)
            change = pending[k - first] - alpha[i]
            alpha[i] = pending[k - first]
            position = start
            while position < stop:
                j = column(rows, position, start)
                _catch_up(vectors, j, t + 1, shrink)  # before abar_j changes
                delta = rows.values[position] * change
                vectors.x[j] += primal_step * delta
                vectors.abar[j] += inverse * delta
                position += one
    for j in range(vectors.x.size):
        _catch_up(vectors, j, sets, shrink)


def _catch_up(vectors: Any, j: Any, now: int, shrink: float) -> None:
    """Bring x_j to iteration `now`: its distance from abar_j shrinks each time."""
    waited = now - vectors.last[j]
    if waited > 0:
        distance = vectors.x[j] - vectors.abar[j]
        if waited > 1:
            distance *= shrink ** (waited - 1)
        vectors.previous[j] = vectors.abar[j] + distance
        vectors.x[j] = vectors.abar[j] + shrink * distance
        vectors.last[j] = now
