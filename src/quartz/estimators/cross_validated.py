"""The estimators that choose alpha by cross-validation."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from quartz.estimators.classifier import QuartzClassifier
from quartz.estimators.names import (
    AccelerationName,
    Alphas,
    ClassWeight,
    FitIntercept,
    LossLike,
    PenaltyLike,
    RandomState,
    SamplingLike,
)
from quartz.estimators.regressor import QuartzRegressor
from quartz.estimators.search import AlphaSearch


class QuartzClassifierCV(AlphaSearch, QuartzClassifier):
    """QuartzClassifier with alpha chosen by cross-validation.

    Each alpha is scored on held-out folds, and the best one is fitted to all examples. Folds and
    alphas are solved in threads that share one X, each fit with a certificate; the results are the
    same for all `n_jobs`.

    Parameters
    ----------
    loss : str or loss, default="log_loss"
        As for :class:`QuartzClassifier`.
    alphas : int or array, default=20
        The number of alphas, or the alphas themselves; see :func:`quartz_path`.
    eps : float, default=1e-4
        The smallest alpha divided by the largest, if `alphas` is a number.
    cv : int, splitter or iterable, optional
        Folds, as in scikit-learn; by default five, stratified.
    scoring : str or callable, optional
        The score to maximize; accuracy by default. It is given the sample weights, too.
    max_seconds : float, optional
        Limit for the time of the search, and again for that of the final fit.
    n_jobs : int, optional
        Number of threads, for folds and alphas, and in the final fit for the classes of
        one-vs-rest.
    penalty, l1_ratio, groups, smoothing, fit_intercept, tol, max_passes, sampling, acceleration, \
class_weight, random_state, verbose
        As for :class:`QuartzClassifier`.

    Attributes
    ----------
    alpha_ : float
        The alpha with the best mean score; of several the largest.
    best_score_ : float
        Mean score of alpha_ over the folds.
    alphas_ : ndarray of shape (n_alphas,)
        All alphas, from the largest to the smallest.
    scores_ : ndarray of shape (n_alphas, n_folds)
        Scores on the held-out examples; nan where the time limit or Ctrl-C came first, or where
        the scorer gives no number.
    relative_gaps_ : ndarray of shape (n_alphas, n_folds)
        Certified relative duality gaps of the fits; the largest of the classes of one-vs-rest.
    coef_, intercept_, certificate_, ...
        Those of a :class:`QuartzClassifier` with alpha = alpha_, fitted to all examples.

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
        loss: LossLike = "log_loss",
        *,
        alphas: Alphas = 20,
        eps: float = 1e-4,
        cv: Any = None,
        scoring: Any = None,
        penalty: PenaltyLike = "l2",
        l1_ratio: float = 0.5,
        groups: ArrayLike | None = None,
        smoothing: float = 1.0,
        fit_intercept: FitIntercept = True,
        tol: float = 1e-4,
        max_passes: float = 1000,
        max_seconds: float | None = None,
        sampling: SamplingLike = "auto",
        acceleration: AccelerationName = "auto",
        class_weight: ClassWeight = None,
        random_state: RandomState = None,
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

    Each alpha is scored on held-out folds, and the best one is fitted to all examples. Folds and
    alphas are solved in threads that share one X, each fit with a certificate; the results are the
    same for all `n_jobs`.

    Parameters
    ----------
    loss : str or loss, default="squared"
        As for :class:`QuartzRegressor`.
    alphas : int or array, default=20
        The number of alphas, or the alphas themselves; see :func:`quartz_path`.
    eps : float, default=1e-4
        The smallest alpha divided by the largest, if `alphas` is a number.
    cv : int, splitter or iterable, optional
        Folds, as in scikit-learn; by default five, not shuffled.
    scoring : str or callable, optional
        The score to maximize; R^2 by default. It is given the sample weights, too.
    max_seconds : float, optional
        Limit for the time of the search, and again for that of the final fit.
    n_jobs : int, optional
        Number of threads, for folds and alphas, and in the final fit for several targets.
    penalty, l1_ratio, groups, epsilon, smoothing, fit_intercept, tol, max_passes, sampling, \
acceleration, random_state, verbose
        As for :class:`QuartzRegressor`.

    Attributes
    ----------
    alpha_ : float
        The alpha with the best mean score; of several the largest.
    best_score_ : float
        Mean score of alpha_ over the folds.
    alphas_ : ndarray of shape (n_alphas,)
        All alphas, from the largest to the smallest.
    scores_ : ndarray of shape (n_alphas, n_folds)
        Scores on the held-out examples; nan where the time limit or Ctrl-C came first, or where
        the scorer gives no number.
    relative_gaps_ : ndarray of shape (n_alphas, n_folds)
        Certified relative duality gaps of the fits; the largest of several targets.
    coef_, intercept_, certificate_, ...
        Those of a :class:`QuartzRegressor` with alpha = alpha_, fitted to all examples.

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
        loss: LossLike = "squared",
        *,
        alphas: Alphas = 20,
        eps: float = 1e-4,
        cv: Any = None,
        scoring: Any = None,
        penalty: PenaltyLike = "l2",
        l1_ratio: float = 0.5,
        groups: ArrayLike | None = None,
        epsilon: float = 0.1,
        smoothing: float = 1.0,
        fit_intercept: FitIntercept = True,
        tol: float = 1e-4,
        max_passes: float = 1000,
        max_seconds: float | None = None,
        sampling: SamplingLike = "auto",
        acceleration: AccelerationName = "auto",
        random_state: RandomState = None,
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
