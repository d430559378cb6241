"""What all estimators share: validation, fits, attributes, and their display in a notebook."""

from __future__ import annotations

import time
from abc import abstractmethod
from copy import copy
from functools import partial
from html import escape
from numbers import Integral
from typing import Any, ClassVar, Self, TypeGuard

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state, estimator_html_repr
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from quartz import checks
from quartz.arrays import AnyArray, Array, Floats, IntArray, quietly
from quartz.certificate import Certificate
from quartz.data import Blocks, Storage
from quartz.data.malformed import as_csr, check_columns
from quartz.estimators.callbacks import CallbackSupportMixin, Task, fit_task
from quartz.estimators.names import (
    AccelerationName,
    FitIntercept,
    MatrixLike,
    Penalty,
    RandomState,
    SamplingLike,
    intercept_of,
    method_of,
    penalty_of,
)
from quartz.estimators.threads import checked_jobs, threads
from quartz.estimators.training import Attributes, Conditions, Matrix, Training, Validated
from quartz.intercept import InterceptName, penalized_columns
from quartz.losses.base import Loss
from quartz.methods.state import State
from quartz.parallel import several_threads
from quartz.problem import Problem
from quartz.run import Result, Trace
from quartz.run.interruption import is_raised
from quartz.signals import deferred_interrupts

TYPES = (np.float64, np.float32)  # of X that the solver reads without a copy
POSITIVE = "Without a penalty there is no certificate by this method; a small one will do."


class LinearModel(CallbackSupportMixin, BaseEstimator):  # type: ignore[misc]
    """Base of all estimators, which differ in their parameters, targets and predictions."""

    # Parameters that all estimators have, as arguments of their constructors or as class attributes
    alpha: float  # the searches have `alphas` in its place
    penalty: Any  # PenaltyLike; a property in `quartz.compat`, which no other type allows
    l1_ratio: float
    groups: ArrayLike | None
    fit_intercept: FitIntercept
    tol: float
    max_passes: float
    max_seconds: float | None
    sampling: SamplingLike
    acceleration: AccelerationName
    warm_start: bool
    random_state: RandomState
    n_jobs: int | None
    verbose: bool

    # Attributes of a fitted estimator
    coef_: Any  # an array, or a CSR matrix after `sparsify`
    intercept_: Floats
    loss_: Loss
    certificate_: Certificate | list[Certificate]
    trace_: Trace | list[Trace]
    dual_coef_: Array
    support_: IntArray
    objective_: float
    duality_gap_: float
    converged_: bool
    n_iter_: int

    _targets: ClassVar[dict[str, bool]] = {}  # options of scikit-learn's validation that concern y

    def training(
        self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Training:
        """Return the problems that `fit` would solve, and how, without solving them.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.

        Returns
        -------
        Training
            Its attribute `problems` is a list with one problem for :func:`quartz.solve` or one
            for each output.
        """
        model = copy(self)  # what validation remembers of X is not for this estimator
        conditions = model.conditions()
        return model.prepared(*model.validated(X, y, sample_weight), conditions)

    def conditions(self) -> Conditions:
        """How the parameters say that problems are solved; the time limit counts from now on."""
        seconds = np.inf if self.max_seconds is None else self.max_seconds
        if seconds != np.inf:
            seconds = checks.nonnegative("max_seconds", seconds, "None is no limit.")
        return Conditions(
            name=type(self).__name__,
            method=method_of(self.sampling, self.acceleration),
            tol=checks.nonnegative("tol", self.tol, "It bounds the relative duality gap."),
            max_passes=self.max_passes,
            seed=_seed(self.random_state),
            ends=time.perf_counter() + seconds,
            n_jobs=checked_jobs(self.n_jobs),
            verbose=bool(self.verbose),
        )

    def validated(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None) -> Validated:
        """X in a form that the solver reads without a copy, y, and the weights or None."""
        if isinstance(X, Storage | Blocks):
            raise TypeError(
                f"Estimators take matrices and frames, got {type(X).__name__}. Solve it with "
                "quartz.solve(quartz.Problem(X, y, loss, lam))."
            )
        for name, given in (("y", y), ("sample_weight", sample_weight)):
            if given is not None:
                checks.array_like(name, given)
        rows, targets = self._validated_pair(X, y)
        if sample_weight is None:
            return rows, targets, None
        weights = _check_sample_weight(
            sample_weight, rows, dtype=np.float64, ensure_non_negative=True
        )
        return rows, targets, weights

    def _validated_pair(self, X: MatrixLike, y: ArrayLike) -> tuple[Matrix, AnyArray]:
        """X and y after scikit-learn's validation, or as they are where it would change nothing.

        Whether X is finite is left to its storage, which looks at every entry anyway.
        """
        if _is_plain(X, y):
            self.n_features_in_ = X.shape[1]
            self.__dict__.pop("feature_names_in_", None)  # of an earlier fit, to a frame
            return X, np.asarray(y)
        rows, targets = validate_data(
            self,
            _readable(X),
            y,
            accept_sparse="csr",
            dtype=TYPES,
            order="C",
            ensure_all_finite=False,
            **self._targets,
        )
        return rows, targets

    @abstractmethod
    def prepared(
        self,
        X: Matrix,
        y: AnyArray,
        weights: Array | None,
        conditions: Conditions,
        alpha: float | None = None,
    ) -> Training:
        """Make problems of validated data: a single one, or one for each output.

        The strength of the penalty is `alpha`, or by default the parameter of the estimator.
        """

    def raw_scores(self, X: Matrix) -> Array:
        """X coef_' + intercept_ for validated X, with one column for each output."""
        scores = X @ self.coef_.T
        scores = scores.toarray() if sp.issparse(scores) else np.asarray(scores)
        return np.asarray(scores + self.intercept_)

    def dense_coefficients(self) -> Array:
        """A copy of `coef_` as an array, also after `sparsify`."""
        coef = self.coef_.toarray() if sp.issparse(self.coef_) else self.coef_.copy()
        return np.asarray(coef if np.ndim(self.intercept_) else coef.ravel())

    # Parameters that the classes of `quartz.compat` define differently

    def _intercept(self) -> InterceptName | None:
        return intercept_of(self.fit_intercept)

    def _alpha(self, total_weight: float) -> float:
        """The strength of the penalty, relative to the mean loss of examples of `total_weight`."""
        return checks.positive("alpha", self.alpha, POSITIVE)

    def _penalty(self, features: int, outputs: int) -> Penalty:
        extra = penalized_columns(self._intercept())
        return penalty_of(self.penalty, self.l1_ratio, self.groups, features, extra, outputs)

    # A fit

    def _fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        whole: Task | None = None,
    ) -> Self:
        """Solve all problems and set the attributes of a fitted estimator.

        `whole` is the task of a search, if this is its final fit.
        """
        now = self.conditions()
        with several_threads(None if now.n_jobs is None else threads(now.n_jobs)):
            return self._fit_now(X, y, sample_weight, now, whole)

    def _fit_now(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        now: Conditions,
        whole: Task | None,
    ) -> Self:
        training = self.prepared(*self.validated(X, y, sample_weight), now)
        problems, conditions = training.problems, training.conditions
        count, starts = len(problems), self._starts(problems)
        points = [np.zeros(problem.data.d) for problem in problems]  # certified last, for callbacks

        def run(k: int) -> Result:
            def fitted(certificate: Certificate) -> Attributes:
                points[k] = certificate.w
                return training.fitted(points)

            with task.run(k, fitted) as callback:
                progress = conditions.verbose and count == 1
                return conditions.solve(
                    problems[k], starts[k], callback=callback, progress=progress
                )

        results: list[Result] | None = None
        try:
            with whole.part(1, "refit", count) if whole else fit_task(self, X, y, count) as task:
                if count == 1:  # in this thread `solve` handles Ctrl-C
                    results = [run(0)]
                else:
                    tasks = [partial(run, k) for k in range(count)]
                    results = conditions.in_threads(tasks, problems[0], conditions.verbose)
            with deferred_interrupts() as presses:
                self._keep(training, results)
            if presses:
                raise KeyboardInterrupt
        except KeyboardInterrupt as interrupt:
            last = results or getattr(interrupt, "results", None)
            if hasattr(interrupt, "result"):
                last = [interrupt.result]
            if last is not None:  # the model so far is kept
                self._keep(training, last)
            if results is None or is_raised("return"):  # a second one, or one that must raise
                raise
        assert results is not None
        conditions.warn(results)
        return self

    def _starts(self, problems: list[Problem]) -> list[State | None]:
        """Warm starts: the solutions of the last fit, None where there is none that fits."""
        last = getattr(self, "certificate_", []) if self.warm_start else []
        certificates = last if isinstance(last, list) else [last]
        if len(certificates) != len(problems):
            return [None] * len(problems)
        return [_start(*pair) for pair in zip(problems, certificates, strict=True)]

    def _keep(self, training: Training, results: list[Result]) -> None:
        certificates = [result.certificate for result in results]
        self.__dict__.update(training.fitted([c.w for c in certificates]))
        alone = len(results) == 1
        self.certificate_ = certificates[0] if alone else certificates
        self.trace_ = results[0].trace if alone else [result.trace for result in results]
        duals = [result.duals for result in results]
        self.dual_coef_ = duals[0] if alone else np.column_stack(duals)
        counts = self.dual_coef_ != 0
        self.support_ = np.flatnonzero(counts if counts.ndim == 1 else counts.any(axis=1))
        self.objective_ = sum(c.primal_value for c in certificates)
        self.duality_gap_ = sum(c.gap for c in certificates)
        self.converged_ = all(result.converged for result in results)
        passes = max(result.trace.passes[-1] for result in results)
        self.n_iter_ = max(1, int(np.ceil(passes)))

    def _linear(self, X: MatrixLike) -> Array:
        """X coef_' + intercept_, with one column for each output."""
        check_is_fitted(self)
        rows = _readable(X)
        if sp.issparse(rows):
            check_columns(rows)
        return self.raw_scores(
            validate_data(self, rows, accept_sparse="csr", dtype=TYPES, reset=False)
        )

    def sparsify(self) -> Self:
        """Convert `coef_` to a sparse matrix, which saves memory if most entries are zero."""
        check_is_fitted(self)
        self.coef_ = sp.csr_matrix(self.coef_)
        return self

    def densify(self) -> Self:
        """Convert `coef_` back to an array."""
        check_is_fitted(self)
        self.coef_ = self.dense_coefficients()
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _html_repr(self) -> str:
        """scikit-learn's diagram, and below it the certificate if the estimator is fitted."""
        diagram: str = estimator_html_repr(self)
        if not hasattr(self, "certificate_"):
            return diagram
        verdict = "certified" if self.converged_ else "NOT converged"
        last = self.certificate_
        certificates = last if isinstance(last, list) else [last]
        worst = max(certificate.relative_gap for certificate in certificates)
        rows = {
            "objective P": f"{self.objective_:.9g}",
            "duality gap": f"{self.duality_gap_:.2e}",
            "relative gap": f"{worst:.2e} (tol {self.tol:g}), {verdict}",
            "passes": str(self.n_iter_),
        }
        cells = "".join(
            f"<tr><th style='text-align:left'>{name}</th><td>{escape(value)}</td></tr>"
            for name, value in rows.items()
        )
        return f"{diagram}<table>{cells}</table>"


def _seed(random_state: RandomState) -> int:
    """A seed for NumPy's generators, by scikit-learn's rules."""
    if isinstance(random_state, Integral) and 0 <= random_state < 2**32:
        return int(random_state)  # a RandomState would take 60 microseconds
    return int(check_random_state(random_state).randint(2**31 - 1))


def _is_plain(X: Any, y: Any) -> TypeGuard[AnyArray]:
    """Whether X and y are arrays as the solver reads them, of the same length."""
    return (
        type(X) is type(y) is np.ndarray
        and X.ndim == 2
        and y.shape == X.shape[:1]
        and X.size > 0
        and X.dtype in TYPES
        and X.flags.c_contiguous
        and y.dtype.kind in "fiub"
        and bool(np.isfinite(_sum(y)))
    )


@quietly  # numbers may overflow
def _sum(y: AnyArray) -> float:
    return float(np.sum(y, dtype=np.float64))


def _readable(X: Any) -> Any:
    """X as scikit-learn's validation can read it; otherwise refused here, by its name."""
    if sp.issparse(X):
        return as_csr(X) if X.ndim == 2 else X
    checks.array_like("X", X)
    return X


def _start(problem: Problem, last: Certificate) -> State | None:
    """The state of a warm start; None if the last problem had another size or loss."""
    try:
        return State.start(problem, last.duals, last.w)
    except ValueError:
        return None
