"""Points of another solver, CVXPY with Clarabel, whose P no certificate may exceed from below.

Any point will do, however inaccurate. A loss or regularizer that is not in the tables here has no
reference, which only makes the harness weaker.
"""

import warnings
from importlib import import_module
from typing import Any

import numpy as np

from fuzz.exact import OVER_CLASSES, Objective

cp: Any = import_module("cvxpy")  # so that its annotations, which lack most names, do not count


def _bent(excess: Any, gamma: float) -> Any:
    """x^2 / (2 gamma) up to gamma, then x - gamma / 2, of x >= 0."""
    return cp.huber(excess, gamma) / (2 * gamma)


def _multiclass_hinge(loss: Any, z: Any, y: Any) -> Any:
    """By duality the least over t of max_k t_k - t_y + ||v - t||^2 / (2 gamma), v = z + 1 - e_y."""
    v, t = z + 1 - y, cp.Variable(z.shape)
    squares = cp.sum(cp.square(v - t), axis=1) / (2 * loss.gamma)
    return cp.max(t, axis=1) - cp.sum(cp.multiply(y, t), axis=1) + squares


# phi of every output of every example; y is one-hot for losses over classes.
LOSSES: dict[str, Any] = {
    "Absolute": lambda loss, z, y: cp.abs(z - y),
    "EpsilonInsensitive": lambda loss, z, y: cp.pos(cp.abs(z - y) - loss.epsilon),
    "Hinge": lambda loss, z, y: cp.pos(1 - cp.multiply(y, z)),
    "Huber": lambda loss, z, y: _bent(z - y, loss.gamma),
    "Logistic": lambda loss, z, y: cp.logistic(-cp.multiply(y, z)),
    "SmoothedEpsilonInsensitive": lambda loss, z, y: _bent(
        cp.pos(cp.abs(z - y) - loss.epsilon), loss.gamma
    ),
    "SmoothedHinge": lambda loss, z, y: _bent(cp.pos(1 - cp.multiply(y, z)), loss.gamma),
    "SmoothedMulticlassHinge": _multiclass_hinge,
    "Softmax": lambda loss, z, y: cp.log_sum_exp(z, axis=1) - cp.sum(cp.multiply(y, z), axis=1),
    "Squared": lambda loss, z, y: cp.square(z - y) / 2,
    "SquaredHinge": lambda loss, z, y: cp.square(cp.pos(1 - cp.multiply(y, z))) / (2 * loss.gamma),
}
# What g has besides ||w||^2 / 2.
REGULARIZERS: dict[str, Any] = {
    "BoxL2": lambda g, w: 0.0,
    "ElasticNet": lambda g, w: g.mu * cp.norm1(w),
    "GroupL2": lambda g, w: g.mu * sum(cp.norm2(w[g.groups == k]) for k in np.unique(g.groups)),
    "L2": lambda g, w: 0.0,
    "NonnegativeL2": lambda g, w: 0.0,
}
BOUNDS: dict[str, Any] = {
    "BoxL2": lambda g: (g.lower, g.upper),
    "NonnegativeL2": lambda g: (0.0, np.inf),
}


class Fields:
    """The fields of a loss or a regularizer."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self.__dict__.update(fields)


def solved(objective: Objective) -> tuple[Any, Any] | None:
    """(coef, intercept) of about the least P; None if there is no formula or no solution."""
    if objective.loss not in LOSSES or objective.regularizer not in REGULARIZERS:
        return None
    n, m = objective.n, objective.outputs
    g = Fields(objective.regularizer_fields)
    low, high = BOUNDS.get(objective.regularizer, lambda g: (-np.inf, np.inf))(g)
    w = cp.Variable(objective.X.shape[1] * (1 if objective.stacked else m))
    b: Any = np.zeros(m) if objective.intercept is None else cp.Variable(m)
    s = np.ones(n) if objective.weights is None else objective.weights
    penalized = cp.hstack([w, b]) if objective.intercept == "penalized" else w
    value = cp.sum_squares(penalized) / 2 + REGULARIZERS[objective.regularizer](g, penalized)
    bounds = [penalized >= low] * (low > -np.inf) + [penalized <= high] * (high < np.inf)
    total = s @ _losses(objective, w, b) / n + objective.lam * value
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of an inaccurate solution, which will do
            cp.Problem(cp.Minimize(total), bounds).solve(solver=cp.CLARABEL)
    except cp.error.SolverError:
        return None
    if w.value is None:
        return None
    intercept = b if objective.intercept is None else b.value
    if objective.intercept == "penalized":
        intercept = np.clip(intercept, low, high)
    return np.clip(w.value, low, high), intercept


def _losses(objective: Objective, w: Any, b: Any) -> Any:
    """phi of every example, as expressions."""
    X, n, m = objective.X.astype(np.float64), objective.n, objective.outputs
    if objective.stacked:
        z = cp.reshape(X @ w, (n, m), order="C")
    else:
        constant = np.ones((n, 1)) @ cp.reshape(b, (1, m), order="C")
        z = X @ cp.reshape(w, (X.shape[1], m), order="C") + constant
    y = np.eye(m)[objective.y] if objective.loss in OVER_CLASSES else objective.y.reshape(n, m)
    each = LOSSES[objective.loss](Fields(objective.loss_fields), z, y)
    return each if each.ndim == 1 else cp.sum(each, axis=1)
