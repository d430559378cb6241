"""Models for many alphas."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from quartz import checks
from quartz.arrays import Array
from quartz.estimators.base import LinearModel
from quartz.estimators.many_alphas import solve_in_levels
from quartz.estimators.training import Conditions


@dataclass(frozen=True)
class Path:
    """What `quartz_path` returns; arrays with a row for each alpha.

    Attributes
    ----------
    alphas : ndarray of shape (n_alphas,)
        From the largest to the smallest.
    coefs : ndarray of shape (n_alphas, ...)
        `coef_` of the estimator for each.
    intercepts : ndarray of shape (n_alphas, ...)
        Likewise.
    objectives, gaps : ndarray of shape (n_alphas,)
        The certificate: optima are between objectives - gaps and objectives.
    converged : ndarray of shape (n_alphas,)
        Whether the relative gaps meet `tol`.
    passes : ndarray of shape (n_alphas,)
        Of the problem that took most.
    """

    alphas: Array
    coefs: Array
    intercepts: Array
    objectives: Array
    gaps: Array
    converged: Array
    passes: Array


def quartz_path(
    estimator: LinearModel,
    X: Any,
    y: Any,
    alphas: Any = 50,
    *,
    eps: float = 1e-4,
    sample_weight: Any = None,
) -> Path:
    """Fit the estimator for many alphas, from the largest to the smallest, with warm starts.

    Parameters
    ----------
    estimator : QuartzClassifier or QuartzRegressor
        Its parameters count, but for alpha; it is not changed. With n_jobs, classes or outputs and
        alphas are solved in threads that share one X; the results are the same for all n_jobs.
    X, y, sample_weight
        As for its `fit`.
    alphas : int or array, default=50
        How many, or which, on the mean loss (also for estimators with C). A number of them is
        spread evenly in the logarithm, from an alpha where the model is nearly or exactly 0.
    eps : float, default=1e-4
        The smallest of them over the largest.

    Returns
    -------
    Path

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
    alphas = alpha_grid(model, validated, conditions, alphas, eps)
    training = model.prepared(*validated, conditions, alpha=middle(alphas))
    results = solve_in_levels(training, alphas)
    conditions.warn([result for row in results for result in row])
    fitted = [training.fitted([result.w for result in row]) for row in results]
    certificates = [[result.certificate for result in row] for row in results]
    return Path(
        alphas,
        np.stack([attributes["coef_"] for attributes in fitted]),
        np.stack([attributes["intercept_"] for attributes in fitted]),
        np.array([sum(c.primal_value for c in row) for row in certificates]),
        np.array([sum(c.gap for c in row) for row in certificates]),
        np.array([all(c.relative_gap <= conditions.tol for c in row) for row in certificates]),
        np.array([max(result.trace.passes[-1] for result in row) for row in results]),
    )


def middle(alphas: Array) -> float:
    """The alpha that suits best what solvers choose once for a path."""
    return float(alphas[len(alphas) // 2])


def alpha_grid(
    model: LinearModel,
    validated: tuple[Any, Any, Array | None],
    conditions: Conditions,
    alphas: Any,
    eps: float,
) -> Array:
    """The alphas, falling."""
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
    largest = training.largest_alpha() or 1.0  # 0 fits best
    return np.geomspace(largest, eps * largest, count)
