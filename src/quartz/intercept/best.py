"""The best intercept: b that minimizes the mean loss at given predictions a_i + b."""

import numpy as np
from scipy.optimize import minimize

from quartz.arrays import Array, Floats
from quartz.intercept.repair import room_in_simplex
from quartz.losses.examples import ExampleLosses

# Newton steps for one b
MOST_STEPS = 20
FLAT = 1e-12  # slope, over the sum of its terms' absolute values, that counts as 0
NEARLY_FLAT, SHORT = 1e-5, 1e-3  # slope (relative) and step after which the next step is the last
# Newton steps for the b of all classes; methods bring theirs closer and closer, so that few do
MOST_STEPS_OF_CLASSES = 10
FLAT_OF_CLASSES = 1e-9  # largest component of the mean gradient that counts as 0


def best_intercept(losses: ExampleLosses, predictions: Array, start: Floats = 0.0) -> Floats:
    """The b that minimizes the mean of phi_i(a_i + b); for losses over classes, nearly.

    There a constant may be added to all b_k; theirs have the mean 0.
    """
    if losses.abilities.vector:
        return _best_of_classes(losses, predictions, np.broadcast_to(start, predictions.shape[1]))
    if predictions.ndim == 1:
        return _best_of_one(losses, predictions, losses.y, float(start))
    starts = np.broadcast_to(start, predictions.shape[1])
    columns = zip(predictions.T, losses.y.T, starts, strict=True)
    return np.array([_best_of_one(losses, a, y, float(b)) for a, y, b in columns])


def best_at_zero(losses: ExampleLosses) -> Floats:
    """The same where all other predictions are 0."""
    few = losses.by_label  # examples that stand for all
    chosen = losses if few is None else few
    return best_intercept(chosen, np.zeros(chosen.shape))


def _best_of_one(losses: ExampleLosses, a: Array, y: Array, start: float) -> float:
    """By Newton steps, if they lead there."""
    a, y = np.ascontiguousarray(a), np.ascontiguousarray(y)
    if losses.abilities.smooth and losses.abilities.curvature is not None:
        b, before = start, np.inf
        for _ in range(MOST_STEPS):
            slope, size, bend = losses.shifted_slope(a, y, b)
            if abs(slope) <= FLAT * size:
                return b
            if losses.abilities.quadratic and bend > 0:
                return b - slope / bend
            if abs(slope) <= min(NEARLY_FLAT * size, SHORT * bend):
                return b - slope / bend  # the slope will be flat there: no need to look
            if not abs(slope) < 0.5 * before:
                break
            before = abs(slope)
            b -= slope / max(bend, 1e-300)
    b = losses.shifted_root(a, y, start)
    if np.isnan(b):
        raise ValueError(
            'No finite optimum of intercept="free" was found: the predictions lie between '
            f"{a.min():.3g} and {a.max():.3g}, the targets between {y.min():.3g} and "
            f"{y.max():.3g}, and no shift that was tried takes the slope of the mean "
            f"{type(losses.loss).__name__} loss to 0. "
            'Scale X and y to about 1, raise lam, or use intercept="penalized" or None '
            '(fit_intercept="penalized" or False in estimators).'
        )
    return b


def _best_of_classes(losses: ExampleLosses, predictions: Array, start: Array) -> Array:
    """By Newton steps with the Hessian of softmax, as far as they lead; else quasi-Newton steps."""
    m = len(start)

    def at(b: Array) -> tuple[float, Array]:
        shifted = predictions + b
        return float(np.mean(losses.values(shifted))), losses.gradients(shifted)

    def objective(b: Array) -> tuple[float, Array]:
        value, gradients = at(b)
        return value, gradients.mean(axis=0)

    b, (value, here) = start, at(start)
    for _ in range(MOST_STEPS_OF_CLASSES):
        size = np.abs(here.mean(axis=0)).max()
        points = losses.simplex_points(-here)
        hessian = room_in_simplex(losses, points) / losses.n + 1 / m + 1e-12 * np.eye(m)
        if size <= FLAT_OF_CLASSES:
            return np.asarray(b - b.mean())
        if not np.isfinite(hessian).all():  # predictions that overflow; any b gives a valid P
            return np.asarray(b - b.mean())
        further = b - np.linalg.solve(hessian, here.mean(axis=0))
        lower, there = at(further)
        # The slope alone may be small far away, where a nearly singular Hessian leads.
        if not (lower <= value and np.abs(there.mean(axis=0)).max() < 0.5 * size):
            break
        b, value, here = further, lower, there

    values, vectors = np.linalg.eigh(hessian)
    inverse = (vectors / (np.maximum(values, 0.0) + 1e-6)) @ vectors.T
    options = {
        "gtol": FLAT_OF_CLASSES,
        "maxiter": MOST_STEPS_OF_CLASSES,
        "hess_inv0": 0.5 * (inverse + inverse.T),
    }
    found = minimize(objective, b, jac=True, method="BFGS", options=options)
    best = found.x if np.isfinite(found.x).all() else b
    return np.asarray(best - best.mean())
