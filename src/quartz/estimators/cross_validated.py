"""The estimators that choose alpha by cross-validation."""

from typing import Any

from quartz.estimators.classifier import QuartzClassifier
from quartz.estimators.regressor import QuartzRegressor
from quartz.estimators.search import AlphaSearch


class QuartzClassifierCV(AlphaSearch, QuartzClassifier):
    """QuartzClassifier with alpha chosen by cross-validation.

    Folds and alphas are spread over threads that share one X; each fit has its certificate. The
    same results come out for all `n_jobs`.

    Parameters
    ----------
    loss : str or loss, default="log_loss"
        As of :class:`QuartzClassifier`.
    alphas : int or array, default=20
        How many alphas, or which; see :func:`quartz_path`.
    eps : float, default=1e-4
        The smallest alpha over the largest, if `alphas` is a number.
    cv : int, splitter or iterable, optional
        Folds, as in scikit-learn; five, stratified, by default.
    scoring : str or callable, optional
        Accuracy by default. Sample weights go to it, too.
    max_seconds : float, optional
        Limit for the search, and once more for the last fit.
    n_jobs : int, optional
        Threads, for folds, alphas and the classes of one-vs-rest.
    penalty, l1_ratio, groups, smoothing, fit_intercept, tol, max_passes, sampling, acceleration, \
class_weight, random_state, verbose
        As of :class:`QuartzClassifier`.

    Attributes
    ----------
    alpha_ : float
        The best; of equal ones the largest.
    best_score_ : float
        Its mean score.
    alphas_ : ndarray of shape (n_alphas,)
        All that were tried, from the largest to the smallest.
    scores_ : ndarray of shape (n_alphas, n_folds)
        On the examples held out; nan where a limit or Ctrl-C came first.
    relative_gaps_ : ndarray of shape (n_alphas, n_folds)
        Certified, the worst of the classes of one-vs-rest.
    coef_, intercept_, certificate_, ...
        Of a :class:`QuartzClassifier` with the best alpha, fitted to all examples.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from quartz import QuartzClassifierCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = QuartzClassifierCV("multinomial", alphas=[1, 1e-2, 1e-4], random_state=0)
    >>> model.fit(X, y).alpha_
    0.0001
    >>> model.scores_.shape, bool((model.relative_gaps_ <= 1e-4).all()), model.converged_
    ((3, 5), True, True)
    """

    def __init__(
        self,
        loss: Any = "log_loss",
        *,
        alphas: Any = 20,
        eps: float = 1e-4,
        cv: Any = None,
        scoring: Any = None,
        penalty: Any = "l2",
        l1_ratio: float = 0.5,
        groups: Any = None,
        smoothing: float = 1.0,
        fit_intercept: Any = True,
        tol: float = 1e-4,
        max_passes: float = 1000,
        max_seconds: float | None = None,
        sampling: Any = "auto",
        acceleration: str = "auto",
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.loss = loss
        self.alphas = alphas
        self.eps = eps
        self.cv = cv
        self.scoring = scoring
        self.penalty = penalty
        self.l1_ratio = l1_ratio
        self.groups = groups
        self.smoothing = smoothing
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_passes = max_passes
        self.max_seconds = max_seconds
        self.sampling = sampling
        self.acceleration = acceleration
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class QuartzRegressorCV(AlphaSearch, QuartzRegressor):
    """QuartzRegressor with alpha chosen by cross-validation.

    Folds and alphas are spread over threads that share one X; each fit has its certificate. The
    same results come out for all `n_jobs`.

    Parameters
    ----------
    loss : str or loss, default="squared"
        As of :class:`QuartzRegressor`.
    alphas : int or array, default=20
        How many alphas, or which; see :func:`quartz_path`.
    eps : float, default=1e-4
        The smallest alpha over the largest, if `alphas` is a number.
    cv : int, splitter or iterable, optional
        Folds, as in scikit-learn; five by default, not shuffled.
    scoring : str or callable, optional
        R^2 by default. Sample weights go to it, too.
    max_seconds : float, optional
        Limit for the search, and once more for the last fit.
    n_jobs : int, optional
        Threads, for folds, alphas and targets.
    penalty, l1_ratio, groups, epsilon, smoothing, fit_intercept, tol, max_passes, sampling, \
acceleration, random_state, verbose
        As of :class:`QuartzRegressor`.

    Attributes
    ----------
    alpha_ : float
        The best; of equal ones the largest.
    best_score_ : float
        Its mean score.
    alphas_ : ndarray of shape (n_alphas,)
        All that were tried, from the largest to the smallest.
    scores_ : ndarray of shape (n_alphas, n_folds)
        On the examples held out; nan where a limit or Ctrl-C came first.
    relative_gaps_ : ndarray of shape (n_alphas, n_folds)
        Certified, the worst of the targets.
    coef_, intercept_, certificate_, ...
        Of a :class:`QuartzRegressor` with the best alpha, fitted to all examples.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from quartz import QuartzRegressorCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = QuartzRegressorCV(alphas=[1e-1, 1e-3, 1e-5], random_state=0).fit(X, y)
    >>> model.alpha_, model.scores_.shape, model.converged_
    (1e-05, (3, 5), True)
    """

    def __init__(
        self,
        loss: Any = "squared",
        *,
        alphas: Any = 20,
        eps: float = 1e-4,
        cv: Any = None,
        scoring: Any = None,
        penalty: Any = "l2",
        l1_ratio: float = 0.5,
        groups: Any = None,
        epsilon: float = 0.1,
        smoothing: float = 1.0,
        fit_intercept: Any = True,
        tol: float = 1e-4,
        max_passes: float = 1000,
        max_seconds: float | None = None,
        sampling: Any = "auto",
        acceleration: str = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.loss = loss
        self.alphas = alphas
        self.eps = eps
        self.cv = cv
        self.scoring = scoring
        self.penalty = penalty
        self.l1_ratio = l1_ratio
        self.groups = groups
        self.epsilon = epsilon
        self.smoothing = smoothing
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_passes = max_passes
        self.max_seconds = max_seconds
        self.sampling = sampling
        self.acceleration = acceleration
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
