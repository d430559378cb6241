"""A free intercept: its problem, its dual, and how duals are made feasible.

    P(w, b)  = 1/n sum_i phi_i(A_i'w + b) + lam g(w)
    D(alpha) = -lam g*(abar) - 1/n sum_i phi_i*(-alpha_i)    if sum_i alpha_i = 0, else -infinity

because minimizing over b leaves the constraint. Solvers work with centred rows and one more column,
the constant s, whose coordinate has a proximal term in place of a penalty: the method of
multipliers (:mod:`quartz.kernels.intercept`). Their duals sum to nearly 0; `repaired` makes that
exact, up to rounding.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import brentq

from quartz.arrays import Array
from quartz.data import RowBlocks
from quartz.data.intercept import InterceptBlocks
from quartz.regularizers import L2

if TYPE_CHECKING:
    from quartz.problem import Problem

BENT = 10.0  # s^2 in multiples of lam over the losses' curvature; between the two below
LEAST, MOST = 0.1, 1.0  # times the mean squared norm of the centred rows
FLATTEST = 0.01  # of 1 / gamma, the curvature that is assumed at least
NEWTON_STEPS, ROUNDING = 20, 1e-15  # for b, and the mean gradient that is 0


def free_intercept_data(problem: "Problem") -> InterceptBlocks:
    """Centre the rows of an L2 problem, and choose the constant s. A heuristic."""
    rows = problem.data
    assert isinstance(rows, RowBlocks)
    _check_classes(problem)
    weights = np.ones(problem.n) if problem.weights is None else problem.weights
    centre = None
    if isinstance(problem.regularizer, L2):  # else z is no linear function of abar
        centre = rows.combination(weights) / problem.n
    spread = InterceptBlocks(rows, 0.0, centre).mean_square
    square = MOST * spread
    gamma = problem.loss.gamma
    if gamma > 0 and hasattr(problem.loss, "curvature"):
        b = best_intercept(problem, np.zeros(problem.n))
        bent = float(np.mean(problem.curvatures(np.full(problem.n, b))))
        wanted = BENT * problem.lam / max(bent, FLATTEST / gamma)
        square = min(max(wanted, LEAST * spread), MOST * spread)
    return InterceptBlocks(rows, float(np.sqrt(square)) or 1.0, centre, free=True)


def best_intercept(problem: "Problem", predictions: Array, start: float = 0.0) -> float:
    """The b that minimizes the mean of phi_i(a_i + b), by Newton steps if they lead there."""

    def slope(b: float) -> float:
        return float(np.mean(problem.gradients(predictions + b)))

    if problem.loss.gamma > 0 and hasattr(problem.loss, "curvature"):
        b, before = start, np.inf
        for _ in range(NEWTON_STEPS):
            here = slope(b)
            if not abs(here) < 0.5 * before:
                break
            before = abs(here)
            bent = float(np.mean(problem.curvatures(predictions + b)))
            b -= here / max(bent, 1e-300)
        if abs(slope(b)) <= ROUNDING:
            return b
    return _root(slope, start, rising=True)


def repaired(problem: "Problem", alpha: Array, predictions: Array) -> Array:
    """Return duals near alpha that sum to 0, inside the domain of the conjugates.

    They are what Option I makes of alpha at the predictions a_i + delta, with a delta for which the
    sum vanishes: examples that are not at a bound move, all by about as much, and towards a better
    dual value besides.
    """
    from quartz.kernels.shifted import shifted_steps

    data = problem.data
    assert isinstance(data, InterceptBlocks)
    q = data.mean_square / (problem.lam * problem.n)
    new = np.empty_like(alpha)
    step = shifted_steps(problem, alpha, predictions, q, new)
    width = 2 * q * abs(float(alpha.mean()))  # that takes, if no example is at a bound
    step(_root(step, 0.0, rising=False, width=width or 1.0))
    return new


def _root(
    function: Callable[[float], float], start: float, rising: bool, width: float = 1.0
) -> float:
    """Where a monotone function of one number vanishes, or jumps across 0."""
    sign = 1.0 if rising else -1.0
    here = sign * function(start)
    if here == 0:
        return start
    away = -1.0 if here > 0 else 1.0
    low = start
    for _ in range(200):
        high = start + away * width
        if sign * function(high) * here <= 0:
            return float(brentq(function, low, high, xtol=1e-15, rtol=1e-15, maxiter=500))
        low, width = high, 4 * width
    raise ValueError("The intercept has no finite optimum.")


def _check_classes(problem: "Problem") -> None:
    kept = problem.y if problem.weights is None else problem.y[problem.weights > 0]
    if getattr(problem.loss, "targets", "real") == "sign" and np.ptp(kept) == 0:
        raise ValueError(
            f"All labels are {kept[0]:+g}: a free intercept would run away. Give both classes, or "
            'use intercept="penalized".'
        )


def residual(alpha: Array, b: Any) -> float:
    """|b sum_i alpha_i| / n, what rounding of the constraint can change D by."""
    return float(np.abs(np.asarray(b) * alpha.sum(axis=0)).sum()) / len(alpha)
