"""Linear regression."""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from quartz.arrays import Array
from quartz.data import KroneckerBlocks, RowBlocks
from quartz.estimators.base import LinearModel
from quartz.estimators.callbacks import with_callbacks
from quartz.estimators.names import REGRESSORS, couples_outputs, loss_of
from quartz.estimators.training import Attributes, Conditions, Training, stacked_coefficients
from quartz.losses.base import abilities
from quartz.problem import Problem


class QuartzRegressor(MultiOutputMixin, RegressorMixin, LinearModel):  # type: ignore[misc]
    """Linear regression with a certified duality gap.

    Minimizes the (weighted) mean loss plus alpha times the penalty, until the relative duality gap,
    recomputed from scratch, is at most `tol`.

    Parameters
    ----------
    loss : str or loss, default="squared"
        With the residual r = x'w + b - y:

        - "squared": r^2 / 2
        - "huber": r^2 / (2 s) for |r| <= s, else |r| - s / 2, s being `smoothing`
        - "epsilon_insensitive": max(0, |r| - epsilon)
        - "absolute": |r|

        or a loss of :mod:`quartz.losses` or of your own.
    alpha : float, default=1e-4
        Strength of the penalty on the mean loss: alpha / n of scikit-learn's Ridge.
    penalty : {"l2", "elasticnet", "nonnegative", "group"} or regularizer, default="l2"
        ||w||^2 / 2; (1 - l1_ratio) ||w||^2 / 2 + l1_ratio ||w||_1; ||w||^2 / 2 with w >= 0; or the
        elastic net with the norms of groups of features in place of absolute values. With several
        targets a group holds the coefficients of all of them.
    l1_ratio : float, default=0.5
        For "elasticnet" and "group"; below 1.
    groups : array of shape (n_features,), optional
        The group of each feature, for "group".
    epsilon : float, default=0.1
        Of "epsilon_insensitive".
    smoothing : float, default=1.0
        Of "huber".
    fit_intercept : bool or "penalized", default=True
        True leaves the intercept out of the penalty; "penalized" treats it as one more feature.
    tol : float, default=1e-4
        Relative duality gap at which a fit ends.
    max_passes : float, default=1000
        Limit for visits of examples, over n.
    max_seconds : float, optional
        Limit for the time of a fit.
    sampling : str or sampling, default="auto"
        "auto", "permuted", "uniform", "importance", "nice" (mini-batches of 32) or an object of
        :mod:`quartz.samplings`.
    acceleration : {"auto", "on", "off"}, default="auto"
        See :func:`quartz.solve`.
    warm_start : bool, default=False
        Whether to start from the dual variables of the last fit, if it had as many examples.
    random_state : int, RandomState or None, default=None
        Of the order in which examples are visited.
    n_jobs : int, optional
        Threads, for several targets.
    verbose : bool, default=False
        Whether to show a progress bar (needs tqdm).

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
    intercept_ : float or ndarray of shape (n_targets,)
    objective_, duality_gap_ : float
        Certified: the optimum is between objective_ - duality_gap_ and objective_. Sums over the
        targets, if these are independent.
    converged_ : bool
        Whether the certificate meets `tol`.
    certificate_ : Certificate
        In parts; a list for several targets.
    dual_coef_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        Dual variables.
    support_ : ndarray
        Examples with a dual variable that is not zero.
    n_iter_ : int
        Passes, rounded up.
    trace_ : Trace
        The certificates on the way; a list for several targets.
    loss_ : Loss
        The loss as an object.
    n_features_in_ : int
    feature_names_in_ : ndarray
        If the features had names.

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

    _targets: ClassVar[dict[str, bool]] = {"multi_output": True, "y_numeric": True}

    def __init__(
        self,
        loss: Any = "squared",
        *,
        alpha: float = 1e-4,
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
        warm_start: bool = False,
        random_state: Any = None,
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
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "QuartzRegressor":
        """Fit the model.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)
        y : array of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array of shape (n_samples,), optional
            Weight 2 is the example twice, weight 0 leaves it out.

        Returns
        -------
        self
            Also after `max_seconds` or Ctrl-C, with an honest certificate.
        """
        return self._fit(X, y, sample_weight)

    def prepared(
        self,
        X: Any,
        y: Any,
        weights: Array | None,
        conditions: Conditions,
        alpha: float | None = None,
    ) -> Training:
        loss = loss_of(self.loss, REGRESSORS, epsilon=self.epsilon, smoothing=self.smoothing)
        several = y.ndim == 2
        targets = y.astype(np.float64, copy=False).reshape(len(y), -1)
        outputs = targets.shape[1]
        together = outputs > 1 and (abilities(loss).vector or couples_outputs(self.penalty))
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

    def predict(self, X: Any) -> Array:
        """x'w + b."""
        predictions = self._linear(X)
        return predictions if np.ndim(self.intercept_) else predictions.ravel()

    def to_sklearn(self) -> Any:
        """A scikit-learn estimator with the same coefficients, for exporters and such."""
        from quartz.estimators.export import regressor

        return regressor(self)
