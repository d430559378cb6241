"""Steps whose primal point moves towards abar: what SPDC and SAGA have in common.

With xbar^t = x^t + theta (x^t - x^{t-1}) and a random set S of m examples,

    alpha_i^{t+1} = the method's dual step at A_i' xbar^t,  i in S
    x^{t+1} = argmin lam g(x) - <lam abar^t + 1/m sum_{i in S} A_i (alpha_i^{t+1} - alpha_i^t), x>
                     + ||x - x^t||^2 / (2 tau).

For L2 an iteration costs O(nnz). If no example of the set has a nonzero in row j, abar_j stays and
x_j moves towards it: their distance is multiplied by 1 / (1 + lam tau). These moves are made up for
when x_j is read. For any other g, and with an intercept, `reference` does the iterations in NumPy,
at O(d) each.
"""

from typing import NamedTuple

import numpy as np

from quartz.arrays import Array, IntArray
from quartz.kernels.arguments import Examples
from quartz.kernels.compile import specialize
from quartz.kernels.placeholder import Position
from quartz.kernels.rows import column, row_start, value
from quartz.kernels.updates import update, update_parts
from quartz.losses.base import Loss
from quartz.methods.compared import MiniBatchSteps
from quartz.methods.plan import Option
from quartz.methods.requirements import require_step
from quartz.methods.state import State
from quartz.problem import Problem
from quartz.regularizers.base import abilities
from quartz.samplings import IndexSets


class PulledSteps(MiniBatchSteps):
    """The steps of the module docstring; a method sets its step sizes.

    Attributes
    ----------
    option : {1, 2}
        The dual step: 1 is a proximal step of size sigma, and 2 is alpha_i = -phi_i'.
    tau, sigma : float
        Primal and dual step sizes.
    theta : float
        Momentum of xbar.
    """

    option: Option = 1
    tau: float
    sigma: float = np.inf
    theta: float = 0.0

    def __init__(
        self, name: str, problem: Problem, batch_size: int, rng: np.random.Generator
    ) -> None:
        super().__init__(name, problem, batch_size, rng)
        self._previous = np.empty(0)
        if self.option == 1:
            require_step(problem, name, "use ASDCA or SAGA")
        can = abilities(problem.regularizer)
        # The kernel reads stored entries only, and the column of an intercept is not stored.
        self._is_lazy = can.quadratic and not problem.intercept.shared
        if not can.quadratic and can.weakened is None:
            g = type(problem.regularizer).__name__
            raise ValueError(f"{name} needs {g}.weakened, which it lacks. Write it, or use Quartz.")
        weighted = problem.weights is not None
        self._kernel = specialize(
            pulled_rows,
            {
                **problem.kernel_parts,
                **self._view.parts,
                **update_parts(self.option, weighted, componentwise=False),
            },
        )

    def _run(self, state: State, sets: IndexSets) -> None:
        if not self._previous.size:
            self._previous = state.w.copy()
        if self._is_lazy:
            self._run_lazily(state, sets)
        else:
            reference(self, state, self._previous, sets)

    def _run_lazily(self, state: State, sets: IndexSets) -> None:
        problem = self.problem
        last = np.zeros(problem.data.d, dtype=np.int64)
        self._kernel(
            sets.indptr,
            sets.indices,
            self.theta,
            -np.log1p(problem.lam * self.tau),
            self.tau / (1.0 + problem.lam * self.tau) / self.batch_size,
            1.0 / self.sigma,
            1.0 / (problem.lam * problem.n),
            np.empty(self.batch_size),
            Examples(
                self._view.rows,
                problem.y,
                self._weights,
                state.duals,
                np.broadcast_to(1.0, problem.n),
            ),
            problem.loss,
            _Vectors(state.w, self._previous, last, state.abar),
        )


def reference(steps: PulledSteps, state: State, previous: Array, sets: IndexSets) -> None:
    """Do one iteration for each set as written above, for any g; `previous` is x^{t-1}."""
    problem, tau, data = steps.problem, steps.tau, steps.problem.data
    proximal = problem.strengthened(1.0 / tau)
    x = state.w
    for t in range(len(sets)):
        look_ahead = x + steps.theta * (x - previous)
        change = np.zeros_like(x)
        for i in sets[t]:
            old = state.duals[i]
            prediction = data.predict_one(i, look_ahead)
            if steps.option == 1:
                state.duals[i] = problem.losses.step_one(i, old, prediction, 1.0 / steps.sigma)
            else:
                state.duals[i] = -problem.losses.gradient_one(i, prediction)
            data.accumulate(i, state.duals[i] - old, change)
        previous[:] = x
        pull = problem.lam * state.abar + change / steps.batch_size
        x[:] = proximal.conjugate_point((x / tau + pull) / proximal.lam)
        state.abar += change / (problem.lam * problem.n)


class _Vectors(NamedTuple):
    """Vectors of length d; x_j and its previous value are those of iteration `last`_j."""

    x: Array
    previous: Array  # x of the iteration before
    last: IntArray
    abar: Array


def pulled_rows(
    indptr: IntArray,
    indices: IntArray,
    theta: float,
    log_shrink: float,
    primal_step: float,
    q: float,
    inverse: float,
    pending: Array,
    examples: Examples,
    loss: Loss,
    vectors: _Vectors,
) -> None:
    """Do one iteration for each set, for L2 and one column.

    At the end all coordinates of x are up to date.

    Parameters
    ----------
    indptr, indices : ndarray
        The sets.
    theta : float
    log_shrink : float
        Logarithm of the factor 1 / (1 + lam tau).
    primal_step : float
        tau / (1 + lam tau) / m, the step of x for a change of alpha_i.
    q : float
        1 / sigma.
    inverse : float
        1 / (lam n).
    pending : ndarray of shape (m,)
        Keeps the new dual variables of a set until all are computed.
    examples : Examples
    loss : Loss
    vectors : _Vectors
    """
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
                _catch_up(vectors, j, t, log_shrink)
                x = vectors.x[j]
                a += value(rows, position) * (x + theta * (x - vectors.previous[j]))
                position += one
            pending[k - first] = update(loss, alpha[i], a, y[i], weights[i], q, 1.0, 1.0)
        for k in range(first, after):
            i = np.uint64(indices[k])
            start, stop = row_start(rows, i), row_start(rows, i + one)
            change = pending[k - first] - alpha[i]
            alpha[i] = pending[k - first]
            position = start
            while position < stop:
                j = column(rows, position, start)
                _catch_up(vectors, j, t + 1, log_shrink)  # with the abar_j of the iterations so far
                delta = value(rows, position) * change
                vectors.x[j] += primal_step * delta
                vectors.abar[j] += inverse * delta
                position += one
    for j in range(vectors.x.size):
        _catch_up(vectors, j, sets, log_shrink)


def _catch_up(vectors: _Vectors, j: Position, now: int, log_shrink: float) -> None:
    """Bring x_j to iteration `now`: its distance from abar_j shrinks in every iteration.

    expm1 keeps the accuracy if lam is tiny, where the factor is almost 1 and abar_j is huge.
    """
    waited = now - vectors.last[j]
    if waited > 0:
        x, distance = vectors.x[j], vectors.abar[j] - vectors.x[j]
        vectors.previous[j] = x - np.expm1((waited - 1) * log_shrink) * distance
        vectors.x[j] = x - np.expm1(waited * log_shrink) * distance
        vectors.last[j] = now
