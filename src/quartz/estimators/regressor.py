"""Linear regression."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import MultiOutputMixin, RegressorMixin

from quartz.arrays import AnyArray, Array
from quartz.data import KroneckerBlocks, RowBlocks
from quartz.estimators.base import LinearModel
from quartz.estimators.callbacks import with_callbacks
from quartz.estimators.names import (
    REGRESSORS,
    AccelerationName,
    FitIntercept,
    LossLike,
    MatrixLike,
    PenaltyLike,
    RandomState,
    SamplingLike,
    couples_outputs,
    loss_of,
)
from quartz.estimators.training import (
    Attributes,
    Conditions,
    Matrix,
    Training,
    Validated,
    stacked_coefficients,
)
from quartz.intercept import penalized_columns
from quartz.losses.base import abilities
from quartz.problem import Problem

if TYPE_CHECKING:
    from sklearn.linear_model import LinearRegression


class QuartzRegressor(MultiOutputMixin, RegressorMixin, LinearModel):  # type: ignore[misc]
    """Linear regression with a certified duality gap.

    Minimizes the (weighted) mean loss plus alpha times the penalty, until the relative duality gap,
    recomputed from scratch, is at most `tol`. ``training(X, y).problems`` are the problems that
    ``fit(X, y)`` solves, for :func:`quartz.solve`.

    Parameters
    ----------
    loss : str or loss, default="squared"
        A name, or a loss of :mod:`quartz.losses` or of your own. With the residual
        r = x'w + b - y:

        - "squared": r^2 / 2
        - "huber": r^2 / (2 s) for |r| <= s, else |r| - s / 2, where s is `smoothing`
        - "epsilon_insensitive": max(0, |r| - epsilon)
        - "absolute": |r|
    alpha : float, default=1e-4
        Strength of the penalty relative to the mean loss; that of scikit-learn's Ridge is n times
        as large.
    penalty : {"l2", "elasticnet", "nonnegative", "group"} or regularizer, default="l2"
        A name, or an object of :mod:`quartz.regularizers` or of your own:

        - "l2": ||w||^2 / 2
        - "elasticnet": (1 - l1_ratio) ||w||^2 / 2 + l1_ratio ||w||_1
        - "nonnegative": ||w||^2 / 2 with w >= 0
        - "group": the elastic net with the norms of groups of features in place of absolute
          values; with several targets a group holds the coefficients of all of them
    l1_ratio : float, default=0.5
        For "elasticnet" and "group"; at least 0 and below 1.
    groups : array of shape (n_features,), optional
        The group of each feature, for "group".
    epsilon : float, default=0.1
        For "epsilon_insensitive"; 0 or more.
    smoothing : float, default=1.0
        For "huber"; positive.
    fit_intercept : bool or "penalized", default=True
        True leaves the intercept out of the penalty; "penalized" treats it as the coefficient of
        one more feature that is always 1.
    tol : float, default=1e-4
        Relative duality gap at which a fit ends.
    max_passes : float, default=1000
        Limit for the number of passes; one pass visits n examples.
    max_seconds : float, optional
        Limit for the time of a fit.
    sampling : str, sampling or method, default="auto"
        "auto", "permuted", "uniform", "importance", "nice" (mini-batches of at most 32), an
        object of :mod:`quartz.samplings` or a method of :mod:`quartz.methods`.
    acceleration : {"auto", "on", "off"}, default="auto"
        Whether to accelerate the steps of `sampling`; "auto" decides during the run, and with
        sampling="auto" also takes Newton steps where these are cheaper. A method other than
        ``Permuted()`` decides for itself.
    warm_start : bool, default=False
        Whether to start from the solution of the last fit, if the problems have the same sizes and
        the old dual variables are feasible for the loss.
    random_state : int, RandomState or None, default=None
        Seed of the order in which examples are visited.
    n_jobs : int, optional
        Number of threads, for several targets, or for parts of a large dense X. None is as many as
        BLAS has.
    verbose : bool, default=False
        Whether to show a progress bar; without tqdm, lines on stderr.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Coefficients; a matrix if y is a matrix.
    intercept_ : float or ndarray of shape (n_targets,)
        Intercepts; 0 without an intercept.
    loss_ : Loss
        The loss as an object.
    objective_, duality_gap_ : float
        Certified: the optimum lies between objective_ - duality_gap_ and objective_. If there is
        one problem for each target, both are sums over the targets.
    converged_ : bool
        Whether the certificates meet `tol`.
    certificate_ : Certificate or list of Certificate
        The duality gap in its parts; a list if there is one problem for each of several targets.
    dual_coef_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        Dual variables.
    support_ : ndarray of int
        Indices of the examples with a dual variable that is not zero.
    n_iter_ : int
        Number of passes, rounded up; of several problems the largest.
    trace_ : Trace or list of Trace
        The certificates during the run; a list like `certificate_`.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had names.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from quartz import QuartzRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = QuartzRegressor("huber", alpha=1e-6, smoothing=10.0, random_state=0).fit(X, y)
    >>> model.converged_, bool(model.duality_gap_ <= 1e-4 * model.objective_)
    (True, True)
    >>> round(model.score(X, y), 2)
    0.51
    """

    _targets: ClassVar[dict[str, bool]] = {"multi_output": True}

    def __init__(
        self,
        loss: LossLike = "squared",
        *,
        alpha: float = 1e-4,
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
        warm_start: bool = False,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.loss = loss
        self.alpha = alpha
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
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)
            The features.
        y : array of shape (n_samples,) or (n_samples, n_targets)
            The targets.
        sample_weight : array of shape (n_samples,), optional
            Weight 2 counts an example twice, weight 0 leaves it out.

        Returns
        -------
        self
            Fitted also after `max_seconds` or Ctrl-C; the certificate tells the gap that is left.
        """
        return self._fit(X, y, sample_weight)

    def validated(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None) -> Validated:
        rows, targets, weights = super().validated(X, y, sample_weight)
        try:
            return rows, targets.astype(np.float64, copy=False), weights
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"y must hold numbers, got an array of {targets.dtype}: {error}. Encode it first; "
                "for classes use QuartzClassifier."
            ) from error

    def prepared(
        self,
        X: Matrix,
        y: AnyArray,
        weights: Array | None,
        conditions: Conditions,
        alpha: float | None = None,
    ) -> Training:
        loss = loss_of(self.loss, REGRESSORS, epsilon=self.epsilon, smoothing=self.smoothing)
        several = y.ndim == 2
        targets = y.reshape(len(y), -1)
        outputs = targets.shape[1]
        coordinates = X.shape[1] + penalized_columns(self._intercept())
        together = outputs > 1 and (
            abilities(loss).vector or couples_outputs(self.penalty, coordinates, outputs)
        )
        if alpha is None:
            alpha = self._alpha(len(y) if weights is None else weights.sum())
        penalty = self._penalty(X.shape[1], outputs if together else 1)
        lam, g = alpha * penalty.share, penalty.regularizer
        common = (loss, lam, g, weights, self._intercept())
        if together:
            problems = [Problem(KroneckerBlocks(X, outputs), targets, *common)]
        else:
            rows = RowBlocks(X)
            problems = [Problem(rows, column, *common) for column in targets.T]

        def fitted(points: list[Array]) -> Attributes:
            coef, intercept = stacked_coefficients(problems, points)
            if several:
                return {"coef_": coef, "intercept_": intercept, "loss_": loss}
            return {"coef_": coef[0], "intercept_": float(intercept[0]), "loss_": loss}

        return Training(problems, penalty, conditions, fitted)

    def predict(self, X: MatrixLike) -> Array:
        """Predictions x'w + b, of shape (n_samples,) or (n_samples, n_targets)."""
        predictions = self._linear(X)
        return predictions if np.ndim(self.intercept_) else predictions.ravel()

    def to_sklearn(self) -> LinearRegression:
        """A scikit-learn estimator with the same coefficients, for tools that know only those."""
        from quartz.estimators.export import regressor

        return regressor(self)
