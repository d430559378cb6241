"""A free intercept: its problem, its dual, its best value.

    P(w, b)  = 1/n sum_i phi_i(A_i'w + b) + lam g(w)
    D(alpha) = -lam g*(abar) - 1/n sum_i phi_i*(-alpha_i)    if sum_i alpha_i = 0, else -infinity

because minimizing over b leaves the constraint. Solvers work with centred rows and one more column,
the constant s, whose coordinate has a proximal term in place of a penalty: the method of
multipliers (:mod:`quartz.kernels.intercept`). Their duals sum to nearly 0; :mod:`quartz.feasible`
makes that exact, up to rounding. With m outputs b and the sum have m components.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import minimize

from quartz.arrays import Array, Floats
from quartz.data import KroneckerBlocks, RowBlocks
from quartz.data import matrix as storage
from quartz.data.intercept import InterceptBlocks
from quartz.feasible import room_in_simplex, simplex_points
from quartz.losses import examples
from quartz.losses.base import is_vector
from quartz.regularizers import L2

if TYPE_CHECKING:
    from quartz.problem import Problem

BENT = 10.0  # s^2 in multiples of lam over the losses' curvature; between the two below
LEAST, MOST = 0.1, 1.0  # times the mean squared norm of the centred rows; over m for classes
FLATTEST = 0.01  # of 1 / gamma, the curvature that is assumed at least
NEWTON_STEPS, FLAT = 20, 1e-12  # for b, and the slope, over its size, that is 0
NEARLY_FLAT, SHORT = 1e-7, 1e-3  # a slope and a step that are the last
# For b of classes: solvers bring their own closer and closer, so that few steps are enough
CLASS_STEPS, FLAT_CLASSES = 10, 1e-9


def free_intercept_data(problem: "Problem") -> InterceptBlocks:
    """Centre the rows of an L2 problem, and choose the constant s. A heuristic."""
    rows = problem.data
    assert isinstance(rows, RowBlocks | KroneckerBlocks)
    _check_loss(problem)
    _check_classes(problem)
    weights = np.ones(problem.n) if problem.weights is None else problem.weights
    centre = None
    if isinstance(problem.regularizer, L2):  # else z is no linear function of abar
        centre = storage.multiply_transposed(rows.matrix, weights) / problem.n
    centred = InterceptBlocks(rows, 0.0, centre)
    spread = float(np.average(centred.norms, weights=weights))
    square = (LEAST / rows.m if is_vector(problem.loss) else LEAST) * spread
    bent = _bent_at_zero(problem)
    if bent is not None:
        gamma = problem.loss.gamma
        strength = max(problem.lam, spread / (gamma * problem.n))  # that of acceleration
        wanted = BENT * strength / max(bent, FLATTEST / gamma)
        square = min(max(wanted, square), MOST * spread)
    return centred.with_constant(float(np.sqrt(square)) or 1.0, free=True)


def _bent_at_zero(problem: "Problem") -> float | None:
    """The mean curvature at w = 0 and the best b; None if the loss does not know."""
    if problem.loss.gamma == 0:
        return None
    zeros = np.zeros(problem.data.dual_shape)
    if is_vector(problem.loss):
        b = best_intercept(problem, zeros)
        p = simplex_points(problem, -problem.gradients(zeros + b)).mean(axis=0)
        return float(np.mean(p * (1 - p)))
    if not hasattr(problem.loss, "curvature"):
        return None
    b = best_intercept(problem, zeros)
    return float(np.mean(problem.curvatures(zeros + b)))


def best_intercept(problem: "Problem", predictions: Array, start: Floats = 0.0) -> Floats:
    """The b that minimizes the mean of phi_i(a_i + b); for losses over classes, nearly.

    There a constant may be added to all b_k; theirs have the mean 0.
    """
    if is_vector(problem.loss):
        return _best_of_classes(problem, predictions, np.broadcast_to(start, problem.data.m))
    if problem.data.m == 1:
        return _best_of_one(problem, predictions, problem.y, float(start))
    starts = np.broadcast_to(start, problem.data.m)
    columns = zip(predictions.T, problem.y.T, starts, strict=True)
    return np.array([_best_of_one(problem, a, y, float(b)) for a, y, b in columns])


def _best_of_one(problem: "Problem", a: Array, y: Array, start: float) -> float:
    """By Newton steps, if they lead there."""
    loss: Any = problem.loss
    weights = np.ones(a.size) if problem.weights is None else problem.weights
    a, y = np.ascontiguousarray(a), np.ascontiguousarray(y)
    if loss.gamma > 0 and hasattr(loss, "curvature"):
        b, before = start, np.inf
        for _ in range(NEWTON_STEPS):
            slope, size, bend = examples.shifted_slope(loss, a, y, weights, b)
            if abs(slope) <= FLAT * size:
                return b
            if abs(slope) <= min(NEARLY_FLAT * size, SHORT * bend):
                return b - slope / bend  # it will be flat there: no need to look
            if not abs(slope) < 0.5 * before:
                break
            before = abs(slope)
            b -= slope / max(bend, 1e-300)
    b = examples.shifted_root(loss, a, y, weights, start)
    if np.isnan(b):
        raise ValueError("The intercept has no finite optimum.")
    return b


def _best_of_classes(problem: "Problem", predictions: Array, start: Array) -> Array:
    """By Newton steps with the Hessian of softmax, as far as they lead; else quasi-Newton steps."""
    m = len(start)

    def at(b: Array) -> tuple[float, Array]:
        shifted = predictions + b
        return float(np.mean(problem.losses(shifted))), problem.gradients(shifted)

    def objective(b: Array) -> tuple[float, Array]:
        value, gradients = at(b)
        return value, gradients.mean(axis=0)

    b, (value, here) = start, at(start)
    for _ in range(CLASS_STEPS):
        size = np.abs(here.mean(axis=0)).max()
        points = simplex_points(problem, -here)
        hessian = room_in_simplex(problem, points) / problem.n + 1 / m + 1e-12 * np.eye(m)
        if size <= FLAT_CLASSES:
            return np.asarray(b - b.mean())
        further = b - np.linalg.solve(hessian, here.mean(axis=0))
        lower, there = at(further)
        # The slope alone may be small far away, where a nearly singular Hessian leads
        if not (lower <= value and np.abs(there.mean(axis=0)).max() < 0.5 * size):
            break
        b, value, here = further, lower, there

    inverse = np.linalg.inv(hessian + 1e-6 * np.eye(m))
    options = {
        "gtol": FLAT_CLASSES,
        "maxiter": CLASS_STEPS,
        "hess_inv0": 0.5 * (inverse + inverse.T),
    }
    found = minimize(objective, b, jac=True, method="BFGS", options=options)
    return np.asarray(found.x - found.x.mean())


def _check_loss(problem: "Problem") -> None:
    if is_vector(problem.loss) and not getattr(problem.loss, "simplex", False):
        raise ValueError(
            f"A free intercept needs a loss over classes with duals e_y - p, p in the unit simplex,"
            f" and {type(problem.loss).__name__} does not say that it is one (`simplex`, see "
            'quartz.losses.base). Use intercept="penalized".'
        )


def _check_classes(problem: "Problem") -> None:
    kept = problem.y if problem.weights is None else problem.y[problem.weights > 0]
    kind = getattr(problem.loss, "targets", "real")
    if kind == "sign":
        columns = kept.reshape(len(kept), -1).T
        for k in np.flatnonzero(np.ptp(columns, axis=1) == 0):
            where = f" of output {k}" if len(columns) > 1 else ""
            raise ValueError(
                f"All labels{where} are {columns[k, 0]:+g}: a free intercept would run away. Give "
                'both classes, or use intercept="penalized".'
            )
    if kind == "class" and np.unique(kept).size < problem.data.m:
        absent = np.setdiff1d(np.arange(problem.data.m), kept)[0]
        raise ValueError(
            f"Class {absent} has no example: its free intercept would run away. Leave the class "
            'out, or use intercept="penalized".'
        )


def rounding(problem: "Problem", alpha: Array, abar: Array, size: float, w: Array) -> float:
    """A bound for what rounding can add to D.

    |b sum_i alpha_i| / n for the constraint, b that of centred rows; and the last digits of the
    conjugates (`size` is the mean of theirs) and of the centred combination, which are differences
    of large numbers if targets or columns have large offsets.
    """
    data = problem.free_data
    if data is None:
        return 0.0
    constraint = np.abs(data.constant * w[-data.m :] * alpha.sum(axis=0)).sum() / problem.n
    lengths = np.linalg.norm(data.centre) * np.linalg.norm(abar[: -data.m])
    digits = size + lengths * np.abs(alpha).sum() / problem.n
    return float(constraint + 4 * np.finfo(np.float64).eps * digits)
