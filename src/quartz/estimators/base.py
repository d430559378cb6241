"""What the estimators share: runs, attributes, the certificate in a notebook."""

import time
from abc import abstractmethod
from functools import partial
from html import escape
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state, estimator_html_repr
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from quartz import checks
from quartz.arrays import Array
from quartz.certificate import Certificate
from quartz.estimators.callbacks import CallbackSupportMixin, Task, fit_task
from quartz.estimators.names import Penalty, intercept_of, method_of, penalty_of
from quartz.estimators.training import Conditions, Training
from quartz.intercept import InterceptName
from quartz.methods.state import State
from quartz.problem import Problem
from quartz.run import Result

TYPES = (np.float64, np.float32)
POSITIVE = "Without a penalty there is no certificate by this method; a small one will do."


class LinearModel(CallbackSupportMixin, BaseEstimator):  # type: ignore[misc]
    """Base of all estimators: they differ in their parameters, targets and predictions."""

    coef_: Any
    intercept_: Any
    _targets: ClassVar[dict[str, bool]] = {}  # what scikit-learn's validation is to know of y

    def training(self, X: Any, y: Any, sample_weight: Any = None) -> Training:
        """The problems that `fit` would solve, and how; nothing is solved.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.

        Returns
        -------
        Training
            ``training.problems`` are for :func:`quartz.solve`.
        """
        conditions = self.conditions()
        return self.prepared(*self.validated(X, y, sample_weight), conditions)

    def conditions(self) -> Conditions:
        """How problems are solved, by the parameters; the time runs from now on."""
        seconds = np.inf if self.max_seconds is None else self.max_seconds
        if seconds != np.inf:
            seconds = checks.nonnegative("max_seconds", seconds, "None is no limit.")
        return Conditions(
            name=type(self).__name__,
            method=method_of(self.sampling, self.acceleration),
            tol=self.tol,
            max_passes=self.max_passes,
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
            ends=time.perf_counter() + seconds,
            n_jobs=self.n_jobs,
            verbose=bool(self.verbose),
        )

    def validated(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Array | None]:
        """X in a form that the solver reads without a copy, y, and weights or None."""
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=TYPES, order="C", **self._targets
        )
        if sample_weight is not None:
            sample_weight = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
        return X, y, sample_weight

    @abstractmethod
    def prepared(
        self,
        X: Any,
        y: Any,
        weights: Array | None,
        conditions: Conditions,
        alpha: float | None = None,
    ) -> Training:
        """Make problems of validated data, one or one for each output; with this alpha if given."""

    def scores(self, X: Any) -> Array:
        """X coef_' + intercept_ for validated X, with a column for each output."""
        scores = X @ self.coef_.T
        scores = scores.toarray() if sp.issparse(scores) else np.asarray(scores)
        return np.asarray(scores + self.intercept_)

    def dense_coefficients(self) -> Array:
        """A copy of `coef_` as an array, also after `sparsify`."""
        coef = self.coef_.toarray() if sp.issparse(self.coef_) else self.coef_.copy()
        return np.asarray(coef if np.ndim(self.intercept_) else coef.ravel())

    # What the look-alikes of scikit-learn's classes have in another way

    def _intercept(self) -> InterceptName | None:
        return intercept_of(self.fit_intercept)

    def _alpha(self, total_weight: float) -> float:
        """Strength of the penalty on the mean loss, for examples of that total weight."""
        return checks.positive("alpha", self.alpha, POSITIVE)

    def _penalty(self, features: int, outputs: int) -> Penalty:
        extra = int(self._intercept() == "penalized")
        return penalty_of(self.penalty, self.l1_ratio, self.groups, features, extra, outputs)

    # A fit

    def _fit(self, X: Any, y: Any, sample_weight: Any, whole: Task | None = None) -> Any:
        """Solve all problems, and keep what they tell about the fit; after a search, its refit."""
        training = self.training(X, y, sample_weight)
        problems, conditions = training.problems, training.conditions
        count, starts = len(problems), self._starts(problems)
        points = [np.zeros(problem.data.d) for problem in problems]  # so far, for callbacks

        def run(k: int) -> Result:
            def fitted(certificate: Certificate) -> dict[str, Any]:
                points[k] = certificate.w
                return training.fitted(points)

            with task.run(k, fitted) as callback:
                progress = conditions.verbose and count == 1
                return conditions.solve(
                    problems[k], starts[k], callback=callback, progress=progress
                )

        with whole.part(1, "refit", count) if whole else fit_task(self, X, y, count) as task:
            if count == 1:  # then `solve` minds Ctrl-C, and has all threads of BLAS
                results = [run(0)]
            else:
                tasks = [partial(run, k) for k in range(count)]
                results = conditions.in_threads(tasks, conditions.verbose)
        self._keep(training, results)
        return self

    def _starts(self, problems: list[Problem]) -> list[State | None]:
        """Where the last fit ended, as far as it fits."""
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
        self.support_ = np.flatnonzero(self.dual_coef_.reshape(len(duals[0]), -1).any(axis=1))
        self.objective_ = sum(c.primal_value for c in certificates)
        self.duality_gap_ = sum(c.gap for c in certificates)
        self.converged_ = all(result.converged for result in results)
        passes = max(result.trace.passes[-1] for result in results)
        self.n_iter_ = max(1, int(np.ceil(passes)))
        training.conditions.warn(results)

    def _linear(self, X: Any) -> Array:
        """X coef_' + intercept_."""
        check_is_fitted(self)
        return self.scores(validate_data(self, X, accept_sparse="csr", dtype=TYPES, reset=False))

    def sparsify(self) -> Any:
        """Convert `coef_` to a sparse matrix, which saves memory if most of it is zero."""
        check_is_fitted(self)
        self.coef_ = sp.csr_matrix(self.coef_)
        return self

    def densify(self) -> Any:
        """Convert `coef_` back to an array."""
        check_is_fitted(self)
        self.coef_ = self.dense_coefficients()
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _html_repr(self) -> str:
        """The diagram of scikit-learn, and below it the certificate of a fitted estimator."""
        diagram: str = estimator_html_repr(self)
        if not hasattr(self, "certificate_"):
            return diagram
        verdict = "certified" if self.converged_ else "NOT converged"
        relative = self.duality_gap_ / abs(self.objective_) if self.objective_ else 0.0
        rows = {
            "objective P": f"{self.objective_:.9g}",
            "duality gap": f"{self.duality_gap_:.2e}",
            "relative gap": f"{relative:.2e} (tol {self.tol:g}), {verdict}",
            "passes": str(self.n_iter_),
        }
        cells = "".join(
            f"<tr><th style='text-align:left'>{name}</th><td>{escape(value)}</td></tr>"
            for name, value in rows.items()
        )
        return f"{diagram}<table>{cells}</table>"


def _start(problem: Problem, last: Certificate) -> State | None:
    """That of a warm start; None if the last problem was of another size or loss."""
    try:
        return State.start(problem, last.duals, last.w)
    except ValueError:
        return None
