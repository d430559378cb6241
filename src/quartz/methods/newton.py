"""Newton's method, for L2 and few features.

A pass in order is many times faster than an epoch in random order, and with d features a linear
system costs O(d^3): where d is small, steps along

    -(1/n sum_i phi_i''(a_i) A_i A_i' + lam I)^{-1} grad P(w),      a_i = A_i' w,

are the fastest way to a small gap. The second derivatives are updated for those examples only whose
phi'' has changed, by more than a tenth; the step length minimizes P along the direction, on the
predictions a alone. The duals alpha_i = -phi_i'(a_i) have no gap in the losses, and since
grad P(w) = lam (w - abar),

    P(w) - D(alpha) = lam / 2 ||w - abar||^2 = ||grad P(w)||^2 / (2 lam).

An intercept is one more row and column of the matrix. After a step a free one is put to its best,
so that the duals sum to 0.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from quartz.arrays import Array, quietly
from quartz.certificate import Certificate, PrimalPoint
from quartz.methods.state import State
from quartz.methods.steps import Method, Steps
from quartz.problem import Problem
from quartz.regularizers.base import abilities

CHANGE = 0.1  # relative change of phi'' below which the old one is kept
SLOPE = 0.1  # of P along the direction, as a share of that at its start: close to the minimum
TRIALS = 30  # of step lengths in a line search, and of factorizations with more and more damping


def applies(problem: Problem) -> bool:
    """Whether Newton steps are possible: L2, m = 1 and a loss with a curvature."""
    return (
        abilities(problem.regularizer).quadratic
        and problem.data.m == 1
        and problem.losses.abilities.curvature is not None
    )


@dataclass(frozen=True)
class Newton(Method):
    """Newton steps with a line search, for L2, one output and a loss with a curvature."""

    has_free_columns = True

    def steps(self, problem: Problem, rng: np.random.Generator) -> "NewtonSteps":
        """Return its steps for a problem."""
        if not applies(problem):
            raise ValueError(
                "Newton steps need the regularizer L2, one output and a loss with `curvature`, "
                f"and this is {problem!r}. Use another method."
            )
        return NewtonSteps(problem)


class NewtonSteps(Steps):
    """Newton steps with a line search.

    Parameters
    ----------
    problem : Problem
        To which Newton's method :func:`applies`.
    """

    primal: PrimalPoint = "own"  # the pair (w, alpha) fits together

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        features = problem.data.features
        self._hessian = np.zeros((features, features))  # lower triangle, without lam
        self._penalized = problem.intercept.without_free(np.ones(problem.data.d))  # 1, else 0
        self._curvatures = np.zeros(problem.n)  # that are in it
        self._predictions = np.empty(0)

    @quietly
    def advance(self, state: State, wanted: float, target: float) -> float:
        """Do one step; returns the gap at `state.w` and `state.duals`, to rounding.

        Infinity means that there was no step, because numbers overflowed.
        """
        problem = self._problem
        if not self._predictions.size:
            self._begin(state)
        state.visited += self._update_hessian()
        direction = self._solve(problem.lam * self._residual(state))
        if not np.isfinite(direction).all():
            state.visited += 2 * problem.n  # so that a limit of passes holds
            return np.inf
        along = problem.data.predictions(direction)
        length, gradients = self._search(state, direction, along)
        self._predictions += length * along
        self._move(state, state.w + length * direction, gradients)
        state.iteration += 1
        state.visited += 2 * problem.n
        residual = self._penalized * self._residual(state)
        return 0.5 * problem.lam * float(residual @ residual)

    def refresh(self, state: State, certificate: Certificate) -> None:
        """Nothing to take over: what a step leaves was computed from scratch."""

    def _begin(self, state: State) -> None:
        """Start at `state.w`, or at 0 if that is better, as it can be for small lam."""
        problem = self._problem
        points = problem.completed(state.w), problem.at_zero
        best = min(points, key=lambda point: problem.primal_at(*point))
        w, self._predictions = (part.copy() for part in best)  # that at 0 is kept by the problem
        self._move(state, w, problem.losses.gradients(self._predictions))

    def _move(self, state: State, w: Array, gradients: Array) -> None:
        """To w and its duals, all at once for the sake of interruptions."""
        problem = self._problem
        settled = problem.intercept.settled(problem.losses, w, self._predictions)
        if settled is not None:
            w, self._predictions = settled
            gradients = problem.losses.gradients(self._predictions)
        abar, carried = problem.abar(-gradients), problem.intercept.carried_by(w)
        state.w, state.duals[:], state.abar[:], state.carried = w, -gradients, abar, carried

    def _residual(self, state: State) -> Array:
        """-grad P / lam."""
        return state.abar - self._penalized * state.w

    def _update_hessian(self) -> int:
        """Bring the second derivatives up to date; returns for how many examples."""
        new = self._problem.losses.curvatures(self._predictions)
        change = new - self._curvatures
        changed = np.flatnonzero(np.abs(change) > CHANGE * self._curvatures)
        weights = change[changed] / self._problem.n
        self._problem.data.storage.add_gram(changed, weights, self._hessian)
        self._curvatures[changed] = new[changed]
        return len(changed)

    def _solve(self, right: Array) -> Array:
        """(H + lam I)^{-1} right; rounding may ask for a little more than lam."""
        whole = self._problem.data.bordered_gram(self._hessian, self._curvatures)
        diagonal = whole.diagonal().copy()
        added = self._problem.lam
        for _ in range(TRIALS):
            matrix = whole.copy()
            np.fill_diagonal(matrix, diagonal + added * self._penalized)
            try:
                factor = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
            except LinAlgError:
                added = 10 * added + 1e-15 * float(diagonal.max())
            else:
                return np.asarray(cho_solve(factor, right, check_finite=False))
        return np.full_like(right, np.nan)

    def _search(self, state: State, direction: Array, along: Array) -> tuple[float, Array]:
        """Minimize P along the direction, by Newton steps inside a bracket.

        Returns the length, and the losses' gradients there.
        """
        losses, n, lam = self._problem.losses, self._problem.n, self._problem.lam
        penalized = self._penalized * direction
        linear, square = lam * float(state.w @ penalized), lam * float(direction @ penalized)
        enough = SLOPE * lam * abs(float(self._residual(state) @ direction))
        low, high, length = 0.0, np.inf, 1.0
        for trial in range(TRIALS):
            predictions = self._predictions + length * along
            gradients = losses.gradients(predictions)
            slope = float(gradients @ along) / n + linear + length * square
            if not abs(slope) > enough or trial == TRIALS - 1:
                break
            low, high = (low, length) if slope > 0 else (length, high)
            curvature = float(losses.curvatures(predictions) @ along**2) / n + square
            length -= slope / max(curvature, 1e-300)
            if not low < length < high:
                length = 0.5 * (low + high) if high < np.inf else 2 * low
        return length, gradients
