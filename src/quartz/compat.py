"""Classes with the names, parameters and objectives of scikit-learn's, and a certificate.

Change the import, and leave out `solver`, `dual` and all other parameters of a solver::

    from quartz.compat import LogisticRegression  # was: from sklearn.linear_model

`tol` is the relative duality gap here, and `max_iter` limits the passes over the data.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from quartz import checks
from quartz.arrays import Array, IntArray
from quartz.estimators import QuartzClassifier, QuartzRegressor
from quartz.estimators.base import POSITIVE
from quartz.estimators.names import AccelerationName, ClassWeight, RandomState, SamplingLike
from quartz.intercept import InterceptName
from quartz.losses import Logistic, Loss, Softmax

__all__ = ["ElasticNet", "LinearSVC", "LogisticRegression", "Ridge"]


class _Defaults:
    """Parameters of Quartz's estimators that scikit-learn's do not have, as constants."""

    penalty: Any = "l2"  # a property in some of the classes
    l1_ratio: float = 0.0
    groups: None = None
    smoothing: float = 1.0
    epsilon: float = 0.0
    max_seconds: float | None = None
    sampling: SamplingLike = "auto"
    acceleration: AccelerationName = "auto"
    class_weight: ClassWeight = None
    max_iter: float

    @property
    def max_passes(self) -> float:
        return self.max_iter


class LogisticRegression(_Defaults, QuartzClassifier):  # type: ignore[misc, override]
    """Logistic regression, multinomial for more than two classes.

    Minimizes C sum_i s_i log-loss_i + r ||w||_1 + (1 - r) ||w||^2 / 2, where r is `l1_ratio` and
    s_i are the weights of the examples times those of their classes; the intercept is not
    penalized.

    Parameters
    ----------
    C : float, default=1.0
        Inverse strength of the penalty; alpha of QuartzClassifier is 1 / (C sum_i s_i).
    l1_ratio : float, default=0.0
        Share of the 1-norm in the penalty; at least 0 and below 1.
    tol : float, default=1e-4
        Relative duality gap at which a fit ends.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    class_weight : dict or "balanced", optional
        Weights of the classes, multiplied by those of the examples.
    random_state : int, RandomState or None, default=None
        Seed of the order in which examples are visited.
    max_iter : float, default=1000
        Limit for the number of passes.
    verbose : bool, default=False
        Whether to show a progress bar; without tqdm, lines on stderr.
    warm_start : bool, default=False
        Whether to start from the solution of the last fit.
    n_jobs : int, optional
        Number of threads, for parts of a large dense X; None is as many as BLAS has.

    Attributes
    ----------
    coef_, intercept_, classes_, n_iter_, certificate_, ...
        As for :class:`quartz.QuartzClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from quartz.compat import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression(C=10, random_state=0).fit(X, y)
    >>> round(model.score(X, y), 2), model.converged_
    (0.98, True)
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        l1_ratio: float = 0.0,
        tol: float = 1e-4,
        fit_intercept: bool = True,
        class_weight: ClassWeight = None,
        random_state: RandomState = None,
        max_iter: float = 1000,
        verbose: bool = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.l1_ratio = l1_ratio
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.random_state = random_state
        self.max_iter = max_iter
        self.verbose = verbose
        self.warm_start = warm_start
        self.n_jobs = n_jobs

    loss = "log_loss"

    def _loss(self, classes: int) -> Loss:
        return Softmax() if classes > 2 else Logistic()

    @property
    def penalty(self) -> str:
        """The elastic net; for l1_ratio=0 plain L2, which is the same but has faster steps."""
        return "elasticnet" if self.l1_ratio else "l2"

    def _alpha(self, total_weight: float) -> float:
        return _from_inverse(self.C, total_weight)


class LinearSVC(_Defaults, QuartzClassifier):  # type: ignore[misc, override]
    """Linear support vector classification, one-vs-rest for more than two classes.

    Minimizes C sum_i s_i loss_i + (||w||^2 + b^2) / 2, where s_i are the weights of the examples
    times those of their classes; as in LIBLINEAR, the intercept is penalized.

    Parameters
    ----------
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        As for :class:`quartz.QuartzClassifier`.
    C : float, default=1.0
        Inverse strength of the penalty; alpha of QuartzClassifier is 1 / (C sum_i s_i).
    tol : float, default=1e-4
        Relative duality gap at which a fit ends.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    class_weight : dict or "balanced", optional
        With more than two classes, the weight of a class counts only in the problem that
        separates it from the rest, where the rest has weight 1, as in LIBLINEAR.
    random_state : int, RandomState or None, default=None
        Seed of the order in which examples are visited.
    max_iter : float, default=1000
        Limit for the number of passes.
    verbose : bool, default=False
        Whether to show a progress bar; without tqdm, lines on stderr.
    n_jobs : int, optional
        Number of threads, for the classes of one-vs-rest.

    Attributes
    ----------
    coef_, intercept_, classes_, n_iter_, certificate_, ...
        As for :class:`quartz.QuartzClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from quartz.compat import LinearSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearSVC(C=0.1, random_state=0).fit(X, y)
    >>> model.coef_.shape, model.converged_
    ((3, 4), True)
    """

    warm_start = False

    def __init__(
        self,
        loss: Literal["squared_hinge", "hinge"] = "squared_hinge",
        *,
        C: float = 1.0,
        tol: float = 1e-4,
        fit_intercept: bool = True,
        class_weight: ClassWeight = None,
        random_state: RandomState = None,
        max_iter: float = 1000,
        verbose: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.loss = loss
        self.C = C
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.random_state = random_state
        self.max_iter = max_iter
        self.verbose = verbose
        self.n_jobs = n_jobs

    def _intercept(self) -> InterceptName | None:
        return "penalized" if self.fit_intercept else None

    def _with_class_weights(
        self, weights: Array | None, each: Array | None, codes: IntArray, positive: int | None
    ) -> Array | None:
        if each is not None and len(each) > 2:
            each = np.where(np.arange(len(each)) == positive, each, 1.0)
        return super()._with_class_weights(weights, each, codes, positive)

    def _alpha(self, total_weight: float) -> float:
        if self.loss not in ("squared_hinge", "hinge"):
            raise ValueError(f'loss must be "squared_hinge" or "hinge", got {self.loss!r}.')
        return _from_inverse(self.C, total_weight)


class Ridge(_Defaults, QuartzRegressor):  # type: ignore[misc, override]
    """Ridge regression.

    Minimizes sum_i s_i (x_i'w + b - y_i)^2 + alpha ||w||^2, where s_i are the weights of the
    examples.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty, positive; alpha of QuartzRegressor is alpha / sum_i s_i.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    max_iter : float, default=1000
        Limit for the number of passes.
    tol : float, default=1e-4
        Relative duality gap at which a fit ends.
    positive : bool, default=False
        Whether to keep the coefficients nonnegative.
    random_state : int, RandomState or None, default=None
        Seed of the order in which examples are visited.

    Attributes
    ----------
    coef_, intercept_, n_iter_, certificate_, ...
        As for :class:`quartz.QuartzRegressor`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from quartz.compat import Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = Ridge(alpha=0.1, random_state=0).fit(X, y)
    >>> round(model.score(X, y), 2), model.converged_
    (0.51, True)
    """

    loss = "squared"
    warm_start = verbose = False
    n_jobs = None

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        fit_intercept: bool = True,
        max_iter: float = 1000,
        tol: float = 1e-4,
        positive: bool = False,
        random_state: RandomState = None,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.positive = positive
        self.random_state = random_state

    @property
    def penalty(self) -> str:
        """The penalty that `positive` means."""
        return "nonnegative" if self.positive else "l2"

    def _alpha(self, total_weight: float) -> float:
        return checks.positive("alpha", self.alpha, POSITIVE) / total_weight


class ElasticNet(_Defaults, QuartzRegressor):  # type: ignore[misc, override]
    """Linear regression with an elastic net penalty.

    Minimizes 1/(2 n) sum_i (x_i'w + b - y_i)^2 + alpha (r ||w||_1 + (1 - r) ||w||^2 / 2), where r
    is `l1_ratio`. With weights of the examples, the mean over them is the weighted one.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty, the same as that of QuartzRegressor.
    l1_ratio : float, default=0.5
        Share of the 1-norm in the penalty; at least 0 and below 1.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    max_iter : float, default=1000
        Limit for the number of passes.
    tol : float, default=1e-4
        Relative duality gap at which a fit ends.
    warm_start : bool, default=False
        Whether to start from the solution of the last fit.
    random_state : int, RandomState or None, default=None
        Seed of the order in which examples are visited.

    Attributes
    ----------
    coef_, intercept_, n_iter_, certificate_, ...
        As for :class:`quartz.QuartzRegressor`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from quartz.compat import ElasticNet
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ElasticNet(alpha=0.01, l1_ratio=0.9, random_state=0).fit(X, y)
    >>> round(model.score(X, y), 2), model.converged_
    (0.49, True)
    """

    loss = "squared"
    penalty = "elasticnet"
    verbose = False
    n_jobs = None

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        max_iter: float = 1000,
        tol: float = 1e-4,
        warm_start: bool = False,
        random_state: RandomState = None,
    ) -> None:
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state


def _from_inverse(C: float, total_weight: float) -> float:
    with np.errstate(all="ignore"):  # what overflows is refused below
        alpha = 1 / np.multiply(checks.positive("C", C, POSITIVE), total_weight, dtype=np.float64)
    if not 0 < alpha < np.inf:
        raise ValueError(
            f"C={C:g} makes 1 / (C times the sum of all weights) {alpha:g}, but it must be a "
            "finite number above 0. Choose a C closer to 1."
        )
    return float(alpha)
