"""A free intercept: its problem, its dual, and how duals are made feasible.

    P(w, b)  = 1/n sum_i phi_i(A_i'w + b) + lam g(w)
    D(alpha) = -lam g*(abar) - 1/n sum_i phi_i*(-alpha_i)    if sum_i alpha_i = 0, else -infinity

because minimizing over b leaves the constraint. Solvers work with centred rows and one more column,
the constant s, whose coordinate has a proximal term in place of a penalty: the method of
multipliers (:mod:`quartz.kernels.intercept`). Their duals sum to nearly 0; `repaired` makes that
exact, up to rounding. With m outputs b and the sum have m components.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import brentq, minimize

from quartz.arrays import Array, Floats
from quartz.data import KroneckerBlocks, RowBlocks
from quartz.data import matrix as storage
from quartz.data.intercept import InterceptBlocks
from quartz.losses.base import is_vector
from quartz.regularizers import L2

if TYPE_CHECKING:
    from quartz.problem import Problem

BENT = 10.0  # s^2 in multiples of lam over the losses' curvature; between the two below
LEAST, MOST = 0.1, 1.0  # times the mean squared norm of the centred rows; over m for classes
FLATTEST = 0.01  # of 1 / gamma, the curvature that is assumed at least
NEWTON_STEPS, FLAT = 20, 1e-13  # for b, and the mean gradient that is 0
# For b of classes: solvers bring their own closer and closer, so that few steps are enough
CLASS_STEPS, FLAT_CLASSES = 10, 1e-9
FAR = 1e30, 300.0, 30.0  # predictions where gradients have come to their bounds, if they have any
CLOSE = 1e-6  # predictions between which a linear piece of a loss shows


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
    spread = float(InterceptBlocks(rows, 0.0, centre).squared_norms().mean())
    square = (LEAST / rows.m if is_vector(problem.loss) else LEAST) * spread
    bent = _bent_at_zero(problem)
    if bent is not None:
        gamma = problem.loss.gamma
        strength = max(problem.lam, spread / (gamma * problem.n))  # that of acceleration
        wanted = BENT * strength / max(bent, FLATTEST / gamma)
        square = min(max(wanted, square), MOST * spread)
    return InterceptBlocks(rows, float(np.sqrt(square)) or 1.0, centre, free=True)


def _bent_at_zero(problem: "Problem") -> float | None:
    """The mean curvature at w = 0 and the best b; None if the loss does not know."""
    if problem.loss.gamma == 0:
        return None
    zeros = np.zeros(problem.data.dual_shape)
    if is_vector(problem.loss):
        b = best_intercept(problem, zeros)
        p = _simplex_points(problem, -problem.gradients(zeros + b)).mean(axis=0)
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
    weights = np.broadcast_to(1.0, a.size) if problem.weights is None else problem.weights

    def slope(b: float) -> float:
        return float(weights @ loss.gradient(a + b, y)) / a.size

    if loss.gamma > 0 and hasattr(loss, "curvature"):
        b, before = start, np.inf
        for _ in range(NEWTON_STEPS):
            here = slope(b)
            if abs(here) <= FLAT:
                return b
            if not abs(here) < 0.5 * before:
                break
            before = abs(here)
            bent = float(weights @ loss.curvature(a + b, y)) / a.size
            b -= here / max(bent, 1e-300)
    return _root(slope, start)


def _root(rising: Callable[[float], float], start: float) -> float:
    """Where a function that does not fall vanishes, or jumps across 0."""
    here = rising(start)
    if here == 0:
        return start
    low, width = start, -1.0 if here > 0 else 1.0
    for _ in range(200):
        high = start + width
        if rising(high) * here <= 0:
            return float(brentq(rising, low, high, xtol=1e-15, rtol=1e-15, maxiter=500))
        low, width = high, 4 * width
    raise ValueError("The intercept has no finite optimum.")


def _best_of_classes(problem: "Problem", predictions: Array, start: Array) -> Array:
    """By Newton steps with the Hessian of softmax, as far as they lead; else quasi-Newton steps."""
    m = len(start)

    def slopes(b: Array) -> Array:
        return problem.gradients(predictions + b)

    b, here = start, slopes(start)
    for _ in range(CLASS_STEPS):
        size = np.abs(here.mean(axis=0)).max()
        points = _simplex_points(problem, -here)
        hessian = _room_in_simplex(problem, points) / problem.n + 1 / m + 1e-12 * np.eye(m)
        if size <= FLAT:
            return np.asarray(b - b.mean())
        further = b - np.linalg.solve(hessian, here.mean(axis=0))
        there = slopes(further)
        if not np.abs(there.mean(axis=0)).max() < 0.5 * size:
            break
        b, here = further, there

    def objective(b: Array) -> tuple[float, Array]:
        shifted = predictions + b
        return float(np.mean(problem.losses(shifted))), problem.gradients(shifted).mean(axis=0)

    inverse = np.linalg.inv(hessian + 1e-6 * np.eye(m))
    options = {
        "gtol": FLAT_CLASSES,
        "maxiter": CLASS_STEPS,
        "hess_inv0": 0.5 * (inverse + inverse.T),
    }
    found = minimize(objective, b, jac=True, method="BFGS", options=options)
    return np.asarray(found.x - found.x.mean())


def repaired(problem: "Problem", alpha: Array, predictions: Array) -> Array:
    """Return duals near alpha that sum to 0, inside the domain of the conjugates.

    alpha_i' = alpha_i - delta r_i, where the room r_i = (alpha_i - l)(u - alpha_i) / (u - l) in the
    domain [l, u] is 0 at its ends, which are corners of the conjugate; for logistic loss it is the
    inverse of the conjugate's curvature, along which D falls least. Examples on a linear piece of
    their loss, with duals that say so, are at a corner, too.
    """
    if is_vector(problem.loss):
        return _repaired_in_simplex(problem, alpha)
    low, high = _domain(problem)
    with np.errstate(invalid="ignore"):  # an example of weight 0 has no room
        room = np.nan_to_num((alpha - low) * (high - alpha) / (high - low))
    room[_at_corner(problem, alpha, predictions, room > 0)] = 0.0
    total, rooms = alpha.sum(axis=0), room.sum(axis=0)
    # too little room: towards the ends of all domains, which loses more, but always leads there
    scarce = np.abs(total) > rooms
    if np.any(scarce):
        room = np.where(scarce, alpha - np.where(total > 0, low, high), room)
        rooms = room.sum(axis=0)
    delta = np.divide(total, rooms, out=np.zeros_like(total), where=np.asarray(rooms != 0))
    return np.clip(alpha - delta * room, low, high)


def _domain(problem: "Problem") -> tuple[Array, Array]:
    """Ends of the conjugates' domains in alpha: minus the gradients far away.

    Where a formula overflows to no number at all, nearer.
    """
    ends = []
    for side in (1.0, -1.0):
        end = np.full(problem.data.dual_shape, np.nan)
        for far in FAR:
            lacking = np.isnan(end)
            if lacking.any():
                with np.errstate(all="ignore"):
                    found = -problem.gradients(np.full(end.shape, side * far))
                end = np.where(lacking, np.clip(found, -FAR[0], FAR[0]), end)
        ends.append(end)
    return ends[0], ends[1]


def nearest_feasible(problem: "Problem", alpha: Array) -> Array:
    """Duals moved into the domain of the conjugates, the nearest of a scalar loss."""
    if not is_vector(problem.loss):
        low, high = _domain(problem)
        return np.clip(alpha, low, high)
    points = np.maximum(_simplex_points(problem, alpha), 0.0)
    sums = points.sum(axis=1, keepdims=True)
    weights = np.ones(problem.n) if problem.weights is None else problem.weights
    points *= np.divide(weights[:, None], sums, out=np.zeros_like(sums), where=sums > 0)
    return _simplex_points(problem, points)  # the map is its own inverse


def _at_corner(problem: "Problem", alpha: Array, predictions: Array, inside: Array) -> Array:
    """Which of those inside have a dual that fits a linear piece of their loss."""
    near = CLOSE * (1 + np.abs(predictions))
    ahead = problem.gradients(predictions + near)
    found = inside & (alpha == -ahead)
    if found.any():
        found &= ahead == problem.gradients(predictions - near)
    return found


def _simplex_points(problem: "Problem", alpha: Array) -> Array:
    """s_i p_i, from alpha_i = s_i (e_y - p_i)."""
    points = -alpha
    examples = np.arange(problem.n)
    points[examples, problem.y] += 1.0 if problem.weights is None else problem.weights
    return points


def _room_in_simplex(problem: "Problem", points: Array) -> Array:
    """sum_i s_i (diag(p_i) - p_i p_i')."""
    shares = points
    if problem.weights is not None:
        shares = points / np.maximum(problem.weights, 1e-300)[:, None]
    return np.asarray(np.diag(points.sum(axis=0)) - points.T @ shares)


def _repaired_in_simplex(problem: "Problem", alpha: Array) -> Array:
    """The same where alpha_i = e_y - p_i: p_i moves along (diag(p_i) - p_i p_i') delta."""
    points = _simplex_points(problem, alpha)
    weights = np.ones(problem.n) if problem.weights is None else problem.weights
    total, sums = alpha.sum(axis=0), points.sum(axis=0)
    room = _room_in_simplex(problem, points)
    delta = np.linalg.lstsq(room, total)[0]
    missing = np.abs(room @ delta - total).max()
    if np.ptp(delta) <= 1 and missing <= 1e-12 * np.abs(total).sum() + 1e-14 * problem.n:
        means = points @ delta / np.maximum(weights, 1e-300)
        return alpha - points * (delta - means[:, None])
    # towards one point for all, which makes up for what each class lacks
    wanted = sums + total
    kept = float(np.min(wanted / np.maximum(sums, wanted)))
    common = (wanted - kept * sums) / weights.sum()
    return alpha - (kept - 1) * points - weights[:, None] * common


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


def rounding(problem: "Problem", alpha: Array, abar: Array, conjugates: Array, w: Array) -> float:
    """A bound for what rounding can add to D.

    |b sum_i alpha_i| / n for the constraint, b that of centred rows; and the last digits of the
    conjugates and of the centred combination, which are differences of large numbers if targets or
    columns have large offsets.
    """
    data = problem.free_data
    if data is None:
        return 0.0
    constraint = np.abs(data.constant * w[-data.m :] * alpha.sum(axis=0)).sum() / problem.n
    lengths = np.linalg.norm(data.centre) * np.linalg.norm(abar[: -data.m])
    digits = np.mean(np.abs(conjugates)) + lengths * np.abs(alpha).sum() / problem.n
    return float(constraint + 4 * np.finfo(np.float64).eps * digits)
