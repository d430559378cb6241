"""What a run of Quartz carries from iteration to iteration."""

from dataclasses import dataclass

import numpy as np

from quartz import checks
from quartz.arrays import Array, Floats
from quartz.problem import Problem


@dataclass
class State:
    """One point of the trajectory. Solvers overwrite it in place: copy what you keep."""

    w: Array  # averaged primal point w^t
    alpha: Array  # dual variables, inside the domain of the conjugates
    abar: Array  # 1/(lam n) sum_i A_i alpha_i, kept up to date incrementally
    iteration: int = 0  # t, index sets used so far
    visited: int = 0  # examples in those sets; visited / n is the number of passes
    most_visited: float = np.inf  # at which the run ends
    multiplier: Floats = 0.0  # of a free intercept: the centre of its proximal term

    @classmethod
    def start(
        cls,
        problem: Problem,
        alpha: Array | None = None,
        w: Array | None = None,
        certified: bool = False,
    ) -> "State":
        """(w^0, alpha^0), by default alpha^0 = 0 and w^0 = grad g*(abar^0).

        If a certificate is the first to come, it brings abar: then that is left 0 where w is given.
        """
        zeros = np.zeros(problem.data.dual_shape)
        alpha = zeros if alpha is None else _feasible(problem, alpha)
        abar = np.zeros(problem.data.d)
        if w is None or not certified:
            abar = problem.abar(alpha)
        if w is None:
            w = problem.conjugate_point(abar)
            if problem.intercept == "free":
                w = problem.completed(w)[0]
        state = cls(checks.finite_array("w of the start", w, abar.shape).copy(), alpha, abar)
        state.multiplier = problem.multiplier_of(state.w)
        return state


def _feasible(problem: Problem, alpha: Array) -> Array:
    """Copy a start, without duals for examples of weight 0, and check it."""
    alpha = checks.finite_array("alpha of the start", alpha, problem.data.dual_shape).copy()
    if problem.weights is not None:
        alpha[problem.weights == 0] = 0
    outside = np.flatnonzero(np.isinf(problem.conjugates(alpha)))
    if outside.size:
        i = int(outside[0])
        raise ValueError(
            f"alpha[{i}] of the start is {alpha[i]}, outside the domain of the conjugate of "
            f"{type(problem.loss).__name__}. Start from duals of the same loss, or from none."
        )
    return alpha
