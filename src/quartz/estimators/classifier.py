"""Linear classifiers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if

from quartz import checks
from quartz.arrays import AnyArray, Array, IntArray
from quartz.data import Blocks, KroneckerBlocks, RowBlocks
from quartz.estimators.base import LinearModel
from quartz.estimators.callbacks import with_callbacks
from quartz.estimators.labels import encoded
from quartz.estimators.names import (
    CLASSIFIERS,
    AccelerationName,
    ClassWeight,
    FitIntercept,
    LossLike,
    MatrixLike,
    PenaltyLike,
    RandomState,
    SamplingLike,
    loss_of,
)
from quartz.estimators.training import (
    Attributes,
    Conditions,
    Matrix,
    Training,
    stacked_coefficients,
)
from quartz.intercept import may_run_away
from quartz.losses.base import Loss, abilities
from quartz.problem import Problem

if TYPE_CHECKING:
    from quartz.estimators.export import SklearnClassifier


def _has_probabilities(estimator: QuartzClassifier) -> bool:
    loss = estimator.loss_ if hasattr(estimator, "loss_") else estimator._loss(2)
    if abilities(loss).probabilities is None:
        raise AttributeError(
            'predict_proba needs a loss with probabilities, such as "log_loss" or "multinomial", '
            f"not {estimator.loss!r}. CalibratedClassifierCV makes probabilities of the others."
        )
    return True


class QuartzClassifier(ClassifierMixin, LinearModel):  # type: ignore[misc]
    """Linear classifier with a certified duality gap.

    Minimizes the (weighted) mean loss plus alpha times the penalty, until the relative duality gap,
    recomputed from scratch, is at most `tol`. ``training(X, y).problems`` are the problems that
    ``fit(X, y)`` solves, for :func:`quartz.solve`.

    Parameters
    ----------
    loss : str or loss, default="log_loss"
        A name, or a loss of :mod:`quartz.losses` or of your own. With the margin t = y (x'w + b),
        y = -1 or +1, and one problem for each class (one-vs-rest) if there are more than two:

        - "log_loss": log(1 + exp(-t))
        - "hinge": max(0, 1 - t)
        - "squared_hinge": max(0, 1 - t)^2
        - "smoothed_hinge": the hinge, quadratic for 1 - smoothing <= t <= 1

        With the scores a_k = x'w_k + b_k of all classes, in one problem:

        - "multinomial": log sum_k exp(a_k) - a_y
        - "multiclass_hinge": max(0, 1 + max_{k != y} a_k - a_y), smoothed by `smoothing`
    alpha : float, default=1e-4
        Strength of the penalty relative to the mean loss; 1 / (C n) for scikit-learn's C.
    penalty : {"l2", "elasticnet", "nonnegative", "group"} or regularizer, default="l2"
        A name, or an object of :mod:`quartz.regularizers` or of your own:

        - "l2": ||w||^2 / 2
        - "elasticnet": (1 - l1_ratio) ||w||^2 / 2 + l1_ratio ||w||_1
        - "nonnegative": ||w||^2 / 2 with w >= 0
        - "group": the elastic net with the norms of groups of features in place of absolute
          values; for a loss of all classes a group holds the coefficients of all classes
    l1_ratio : float, default=0.5
        For "elasticnet" and "group"; at least 0 and below 1.
    groups : array of shape (n_features,), optional
        The group of each feature, for "group".
    smoothing : float, default=1.0
        Positive, for "smoothed_hinge" and "multiclass_hinge".
    fit_intercept : bool or "penalized", default=True
        True leaves the intercept out of the penalty; "penalized" treats it as the coefficient of
        one more feature that is always 1, as LIBLINEAR does.
    tol : float, default=1e-4
        Relative duality gap at which a fit ends.
    max_passes : float, default=1000
        Limit for the number of passes; one pass visits n examples.
    max_seconds : float, optional
        Limit for the time of a fit.
    sampling : str, sampling or method, default="auto"
        "auto", "permuted", "uniform", "importance", "nice" (mini-batches of at most 32), an
        object of
        :mod:`quartz.samplings` or a method of :mod:`quartz.methods`.
    acceleration : {"auto", "on", "off"}, default="auto"
        Whether to accelerate the steps of `sampling`; "auto" decides during the run, and with
        sampling="auto" also takes Newton steps where these are cheaper. A method other than
        ``Permuted()`` decides for itself.
    class_weight : dict or "balanced", optional
        Weights of the classes, multiplied by those of the examples.
    warm_start : bool, default=False
        Whether to start from the solution of the last fit, if the problems have the same sizes and
        the old dual variables are feasible for the loss.
    random_state : int, RandomState or None, default=None
        Seed of the order in which examples are visited.
    n_jobs : int, optional
        Number of threads, for the classes of one-vs-rest, or for parts of a large dense X. None is
        as many as BLAS has.
    verbose : bool, default=False
        Whether to show a progress bar; without tqdm, lines on stderr.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients; one row for two classes.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts; 0 without an intercept.
    classes_ : ndarray of shape (n_classes,)
        Labels of the classes that have an example of positive weight.
    loss_ : Loss
        The loss as an object.
    objective_, duality_gap_ : float
        Certified: the optimum lies between objective_ - duality_gap_ and objective_. For
        one-vs-rest both are sums over the classes.
    converged_ : bool
        Whether the certificates meet `tol`.
    certificate_ : Certificate or list of Certificate
        The duality gap in its parts; a list with one for each class of one-vs-rest.
    dual_coef_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Dual variables.
    support_ : ndarray of int
        Indices of the examples with a dual variable that is not zero.
    n_iter_ : int
        Number of passes, rounded up; for one-vs-rest the largest.
    trace_ : Trace or list of Trace
        The certificates during the run; a list with one trace for each class of one-vs-rest.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from quartz import QuartzClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = QuartzClassifier("multinomial", alpha=0.01, random_state=0).fit(X, y)
    >>> model.converged_, bool(model.duality_gap_ <= 1e-4 * model.objective_)
    (True, True)
    >>> round(model.score(X, y), 2)
    0.97
    """

    intercept_: Array
    classes_: AnyArray

    def __init__(
        self,
        loss: LossLike = "log_loss",
        *,
        alpha: float = 1e-4,
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
        self.smoothing = smoothing
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_passes = max_passes
        self.max_seconds = max_seconds
        self.sampling = sampling
        self.acceleration = acceleration
        self.class_weight = class_weight
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
        y : array of shape (n_samples,)
            The classes, as numbers or strings.
        sample_weight : array of shape (n_samples,), optional
            Weight 2 counts an example twice, weight 0 leaves it out.

        Returns
        -------
        self
            Fitted also after `max_seconds` or Ctrl-C; the certificate tells the gap that is left.
        """
        return self._fit(X, y, sample_weight)

    def prepared(
        self,
        X: Matrix,
        y: AnyArray,
        weights: Array | None,
        conditions: Conditions,
        alpha: float | None = None,
    ) -> Training:
        classes, codes = encoded(y, weights)
        loss = self._loss(len(classes))
        together = abilities(loss).vector
        penalty = self._penalty(X.shape[1], len(classes) if together else 1)
        each = self._class_weights(classes, codes, weights)
        self._check_classes_remain(classes, each, codes, weights)

        def problem(data: Blocks, targets: AnyArray, positive: int | None = None) -> Problem:
            s = self._with_class_weights(weights, each, codes, positive)
            strength = self._alpha(len(y) if s is None else s.sum()) if alpha is None else alpha
            lam = strength * penalty.share
            return Problem(data, targets, loss, lam, penalty.regularizer, s, self._intercept())

        if together:
            problems = [problem(KroneckerBlocks(X, len(classes)), codes)]
        else:
            rows = RowBlocks(X)
            positives = [1] if len(classes) == 2 else range(len(classes))
            problems = [problem(rows, 2.0 * (codes == k) - 1.0, k) for k in positives]

        def fitted(points: list[Array]) -> Attributes:
            coef, intercept = stacked_coefficients(problems, points)
            if len(classes) == 2 and len(coef) == 2:  # only the difference of the scores matters
                coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
            return {"coef_": coef, "intercept_": intercept, "classes_": classes, "loss_": loss}

        return Training(problems, penalty, conditions, fitted)

    def _loss(self, classes: int) -> Loss:
        """The loss, given the number of classes."""
        return loss_of(self.loss, CLASSIFIERS, smoothing=self.smoothing)

    def _class_weights(
        self, classes: AnyArray, codes: IntArray, weights: Array | None
    ) -> Array | None:
        """The weight of each class; None if all are 1."""
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            totals = np.bincount(codes, weights)  # weight 2 counts an example twice
            return np.asarray(totals.mean() / totals)
        if self.class_weight is None:
            return None
        if isinstance(self.class_weight, dict):
            for label, weight in self.class_weight.items():
                remedy = "It multiplies the weights of the examples."
                checks.nonnegative(f"class_weight[{label!r}]", weight, remedy)
        each = compute_class_weight(self.class_weight, classes=classes, y=classes)
        return np.asarray(each)

    def _check_classes_remain(
        self, classes: AnyArray, each: Array | None, codes: IntArray, weights: Array | None
    ) -> None:
        """Refuse class weights that leave no example, or too few for the intercept."""
        if each is None:
            return
        totals = np.bincount(codes, each[codes] if weights is None else weights * each[codes])
        gone = classes[totals == 0].tolist()
        if len(gone) == len(classes):
            raise ValueError(
                f"class_weight={self.class_weight!r} leaves no example a weight above 0. Give two "
                "classes or more a weight above 0."
            )
        if gone and may_run_away(self._intercept()):
            raise ValueError(
                f"class_weight={self.class_weight!r} leaves the examples of class {gone[0]!r} the "
                "weight 0, but without them its intercept would run away. Give the class a weight "
                "above 0, leave out its examples (sample_weight 0 does it, too), or use "
                'fit_intercept="penalized" or False.'
            )

    def _with_class_weights(
        self, weights: Array | None, each: Array | None, codes: IntArray, positive: int | None
    ) -> Array | None:
        """Weights of the examples times those of their classes.

        `positive` is the class that a problem of one-vs-rest separates from the others, None in a
        problem of all classes; only `quartz.compat.LinearSVC` depends on it.
        """
        if each is None:
            return weights
        return np.asarray(each[codes] if weights is None else weights * each[codes])

    def decision_function(self, X: MatrixLike) -> Array:
        """Scores x'w + b, of shape (n_samples,) for two classes, else (n_samples, n_classes)."""
        scores = self._linear(X)
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X: MatrixLike) -> AnyArray:
        """The class with the largest score for each example."""
        return self.labels(self._linear(X))

    def labels(self, scores: Array) -> AnyArray:
        """The class with the largest score, given what `raw_scores` returns."""
        codes = scores.argmax(axis=1) if scores.shape[1] > 1 else (scores[:, 0] > 0).astype(int)
        return np.asarray(self.classes_[codes])

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: MatrixLike) -> Array:
        """Probabilities of shape (n_samples, n_classes); one-vs-rest scales them to sum 1."""
        scores, can = self._linear(X), abilities(self.loss_)
        assert can.probabilities is not None
        if can.vector:
            if scores.shape[1] == 1:  # the score of the second class minus that of the first
                scores = np.column_stack([np.zeros(len(scores)), scores])
            return can.probabilities(scores)
        positive = can.probabilities(scores)
        if scores.shape[1] == 1:
            negative = can.probabilities(-scores)  # more digits than 1 - positive, where it fits
            fits = np.abs(negative + positive - 1) <= 1e-12
            return np.hstack([np.where(fits, negative, 1 - positive), positive])
        return np.asarray(positive / np.maximum(positive.sum(axis=1, keepdims=True), 1e-300))

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: MatrixLike) -> Array:
        """Logarithms of `predict_proba`."""
        return np.log(self.predict_proba(X))

    def to_sklearn(self) -> SklearnClassifier:
        """A scikit-learn estimator with the same coefficients, for tools that know only those."""
        from quartz.estimators.export import classifier

        return classifier(self)
