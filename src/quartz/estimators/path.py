"""Regularization paths: the models of one estimator for many alphas."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from quartz import checks
from quartz.arrays import Array, Mask
from quartz.estimators.base import LinearModel
from quartz.estimators.many_alphas import solve_in_levels
from quartz.estimators.names import Alphas, MatrixLike
from quartz.estimators.training import Conditions, Validated


@dataclass(frozen=True)
class Path:
    """What `quartz_path` returns: arrays with one row for each alpha.

    Attributes
    ----------
    alphas : ndarray of shape (n_alphas,)
        From the largest to the smallest.
    coefs : ndarray of shape (n_alphas, ...)
        `coef_` of the estimator for each alpha.
    intercepts : ndarray of shape (n_alphas, ...)
        `intercept_` of the estimator for each alpha.
    objectives, gaps : ndarray of shape (n_alphas,)
        Certified: the optima lie between objectives - gaps and objectives.
    converged : ndarray of bool of shape (n_alphas,)
        Whether the certificates meet `tol`.
    passes : ndarray of shape (n_alphas,)
        Number of passes; if there are several problems, the largest.
    """

    alphas: Array
    coefs: Array
    intercepts: Array
    objectives: Array
    gaps: Array
    converged: Mask
    passes: Array


def quartz_path(
    estimator: LinearModel,
    X: MatrixLike,
    y: ArrayLike,
    alphas: Alphas = 50,
    *,
    eps: float = 1e-4,
    sample_weight: ArrayLike | None = None,
) -> Path:
    """Fit an estimator for many alphas, with warm starts.

    Parameters
    ----------
    estimator : QuartzClassifier or QuartzRegressor
        Has all parameters but alpha; it is not changed. Its `n_jobs` is the number of threads,
        which share one X; the results do not depend on it.
    X, y, sample_weight
        As for `fit` of the estimator.
    alphas : int or array, default=50
        The number of alphas, or the alphas themselves: strengths of the penalty relative to the
        mean loss, also for estimators that have C. A number of alphas is spaced evenly in log
        alpha, from an alpha where the model is 0 or nearly so.
    eps : float, default=1e-4
        The smallest alpha divided by the largest, if `alphas` is a number.

    Returns
    -------
    Path
        The models and their certificates.

    Examples
    --------
    >>> from quartz import QuartzClassifier, data, quartz_path
    >>> X, y = data.make_classification(300, 20, density=0.5)
    >>> path = quartz_path(QuartzClassifier(random_state=0), X, y, alphas=10)
    >>> path.coefs.shape, bool(path.converged.all())
    ((10, 1, 20), True)
    """
    model = clone(estimator)
    conditions = model.conditions()
    validated = model.validated(X, y, sample_weight)
    grid = alpha_grid(model, validated, conditions, alphas, eps)
    training = model.prepared(*validated, conditions, alpha=middle(grid))
    results = solve_in_levels(training, grid)
    conditions.warn([result for row in results for result in row])
    fitted = [training.fitted([result.w for result in row]) for row in results]
    certificates = [[result.certificate for result in row] for row in results]
    return Path(
        grid,
        np.stack([attributes["coef_"] for attributes in fitted]),
        np.stack([attributes["intercept_"] for attributes in fitted]),
        np.array([sum(c.primal_value for c in row) for row in certificates]),
        np.array([sum(c.gap for c in row) for row in certificates]),
        np.array([all(c.relative_gap <= conditions.tol for c in row) for row in certificates]),
        np.array([max(result.trace.passes[-1] for result in row) for row in results]),
    )


def middle(alphas: Array) -> float:
    """The middle alpha, for what a problem chooses once, such as the constant of an intercept."""
    return float(alphas[len(alphas) // 2])


def alpha_grid(
    model: LinearModel,
    validated: Validated,
    conditions: Conditions,
    alphas: Alphas,
    eps: float,
) -> Array:
    """The alphas themselves, from the largest to the smallest."""
    if np.ndim(alphas) == 1:
        try:
            grid = np.sort(np.asarray(alphas, dtype=np.float64))[::-1]
        except (TypeError, ValueError):
            grid = np.empty(0)
        if not grid.size or not grid[-1] > 0 or not np.isfinite(grid).all():
            raise ValueError(f"alphas must be positive numbers, got {alphas!r}.")
        return grid
    count = checks.count("alphas", alphas, 2, None, "Or give the alphas themselves.")
    remedy = "It is the smallest alpha over the largest."
    eps = checks.share("eps", checks.positive("eps", eps, remedy), remedy)
    training = model.prepared(*validated, conditions, alpha=1.0)
    largest = training.largest_alpha() or 1.0  # 0 if w = 0 is optimal without any penalty
    return np.geomspace(largest, eps * largest, count)
