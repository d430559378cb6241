"""What a run carries from step to step."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from quartz import checks
from quartz.arrays import Array
from quartz.problem import Problem


class Saved(NamedTuple):
    """Copies of the vectors of a state."""

    w: Array
    duals: Array
    abar: Array
    carried: Array


@dataclass
class State:
    """One point of the trajectory. Methods overwrite it in place: copy what you keep."""

    w: Array  # the method's own primal point, w^t of Algorithm 1
    duals: Array  # alpha^t, inside the domain of the conjugates
    abar: Array  # 1/(lam n) sum_i A_i alpha_i, kept up to date incrementally
    iteration: int = 0  # t, index sets used so far
    visited: int = 0  # examples in those sets; visited / n is the number of passes
    most_visited: float = np.inf  # examples at which the run ends
    interval: float = 1.0  # passes after which the run wants to look at the state again
    carried: Array = field(default_factory=lambda: np.empty(0))  # by the problem's intercept

    @classmethod
    def start(
        cls,
        problem: Problem,
        duals: Array | None = None,
        w: Array | None = None,
        certified: bool = False,
    ) -> "State":
        """(w^0, alpha^0), by default alpha^0 = 0 and w^0 = grad g*(abar^0).

        `certified` says that the run certifies before its first step, which computes abar. If w is
        given too, abar is left 0 here to save that pass.
        """
        zeros = np.zeros(problem.data.dual_shape)
        duals = zeros if duals is None else _feasible(problem, duals)
        abar = np.zeros(problem.data.d)
        if w is None or not certified:
            abar = problem.abar(duals)
        if w is None:
            w = problem.conjugate_point(abar)
            at_zero = not problem.intercept.penalized(w).any()
            w = problem.at_zero[0] if at_zero else problem.intercept.with_best(problem.losses, w)
            if not np.isfinite(w).all():
                raise ValueError(
                    "The duals of the start give a w that overflows. Scale X, raise lam, or start "
                    "from no duals."
                )
        state = cls(checks.finite_array("w of the start", w, abar.shape).copy(), duals, abar)
        state.carried = problem.intercept.carried_by(state.w)
        return state

    def saved(self) -> Saved:
        """Copy the vectors."""
        return Saved(self.w.copy(), self.duals.copy(), self.abar.copy(), self.carried.copy())

    def restore(self, saved: Saved) -> None:
        """Go back to where the vectors were saved; what was visited since stays counted."""
        self.w = saved.w.copy()
        self.duals[:], self.abar[:], self.carried[:] = saved.duals, saved.abar, saved.carried

    def is_finite(self) -> bool:
        """Whether nothing has overflowed."""
        return bool(np.isfinite(self.duals).all() and np.isfinite(self.w).all())


def _feasible(problem: Problem, duals: Array) -> Array:
    """Copy a start, without duals for examples of weight 0, and check it."""
    duals = checks.finite_array("duals of the start", duals, problem.data.dual_shape).copy()
    if problem.weights is not None:
        duals[problem.weights == 0] = 0
    outside = np.flatnonzero(np.isinf(problem.losses.conjugates(duals)))
    if outside.size:
        duals = problem.losses.rounded_into_domain(duals)
        outside = np.flatnonzero(np.isinf(problem.losses.conjugates(duals)))
    if outside.size:
        i = int(outside[0])
        raise ValueError(
            f"duals[{i}] of the start is {duals[i]}, outside the domain of the conjugate of "
            f"{type(problem.loss).__name__}. Start from duals of the same loss, or from none."
        )
    return duals
