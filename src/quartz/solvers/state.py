"""What a run of Quartz carries from iteration to iteration."""

from dataclasses import dataclass

import numpy as np

from quartz import checks
from quartz.arrays import Array
from quartz.problem import Problem


@dataclass
class State:
    """One point of the trajectory. Solvers overwrite it in place: copy what you keep."""

    w: Array  # averaged primal point w^t
    alpha: Array  # dual variables, inside the domain of the conjugates
    abar: Array  # 1/(lam n) sum_i A_i alpha_i, kept up to date incrementally
    iteration: int = 0  # t, index sets used so far
    visited: int = 0  # examples in those sets; visited / n is the number of passes

    @classmethod
    def start(cls, problem: Problem, alpha: Array | None = None, w: Array | None = None) -> "State":
        """(w^0, alpha^0), by default alpha^0 = 0 and w^0 = grad g*(abar^0)."""
        if alpha is None:
            alpha = np.zeros(problem.data.dual_shape)
        alpha = checks.finite_array("alpha of the start", alpha, problem.data.dual_shape).copy()
        abar = problem.abar(alpha)
        if w is None:
            w = problem.conjugate_point(abar)
        return cls(checks.finite_array("w of the start", w, abar.shape).copy(), alpha, abar)
