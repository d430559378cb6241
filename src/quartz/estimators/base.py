"""What the estimators share: runs, attributes, the certificate in a notebook."""

import sys
import time
import warnings
from functools import partial
from html import escape
from threading import Event
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, estimator_html_repr
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from quartz import checks
from quartz.arrays import Array, Matrix
from quartz.certificate import Certificate
from quartz.estimators.callbacks import CallbackSupportMixin, Task, fit_task
from quartz.estimators.names import intercept_of, penalty_of, sampling_of
from quartz.estimators.threads import in_threads
from quartz.problem import Problem
from quartz.solvers import Result, State, solve

TYPES = (np.float64, np.float32)
POSITIVE = "Without a penalty there is no certificate by this method; a small one will do."


class LinearModel(CallbackSupportMixin, BaseEstimator):  # type: ignore[misc]
    """Base of all estimators: they differ in their parameters, targets and predictions."""

    coef_: Any
    intercept_: Any
    _targets: ClassVar[dict[str, bool]] = {}  # what scikit-learn's validation is to know of y

    def _validated(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """X in a form that the solver reads without a copy, y, and weights or None."""
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=TYPES, order="C", **self._targets
        )
        if sample_weight is not None:
            sample_weight = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
        return X, y, sample_weight

    def _intercept(self) -> Any:
        return intercept_of(self.fit_intercept)

    def _alpha(self, total_weight: float) -> float:
        """Strength of the penalty on the mean loss, for examples of that total weight."""
        return checks.positive("alpha", self.alpha, POSITIVE)

    def _penalty(self, alpha: float, features: int, outputs: int) -> tuple[float, Any]:
        extra = int(self._intercept() == "penalized")
        return penalty_of(self.penalty, alpha, self.l1_ratio, self.groups, features, extra, outputs)

    def _fit(self, X: Any, y: Any, sample_weight: Any, whole: Task | None = None) -> Any:
        """Solve all problems, and keep what they tell about the fit; after a search, its refit."""
        ends = self._deadline()
        problems = self._problems(*self._validated(X, y, sample_weight))
        seed, starts, stop, count = self._seed(), self._starts(problems), Event(), len(problems)
        points = [np.zeros(problem.data.d) for problem in problems]  # so far, for callbacks

        def run(k: int) -> Result:
            def fitted(certificate: Any) -> Any:
                points[k] = certificate.w
                return self._coefficients(problems, points)

            with task.run(k, fitted) as callback:
                options = {"callback": callback, "progress": bool(self.verbose) and count == 1}
                return self._solve(problems[k], starts[k], seed, stop, ends, **options)

        with whole.part(1, "refit", count) if whole else fit_task(self, X, y, count) as task:
            runs = [partial(run, k) for k in range(count)]
            alone = count == 1  # then `solve` minds Ctrl-C, and has all threads of BLAS
            results = [run(0)] if alone else in_threads(runs, self.n_jobs, stop, bool(self.verbose))
        self._keep(problems, results)
        return self

    def _deadline(self) -> float:
        seconds = np.inf if self.max_seconds is None else self.max_seconds
        if seconds != np.inf:
            seconds = checks.nonnegative("max_seconds", seconds, "None is no limit.")
        return time.perf_counter() + seconds

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _solve(
        self, problem: Problem, start: Any, seed: int, stop: Event, ends: float, **options: Any
    ) -> Result:
        """Solve one problem as the parameters say."""
        return solve(
            problem,
            sampling_of(self.sampling),
            tol=self.tol,
            max_passes=self.max_passes,
            max_seconds=max(0.0, ends - time.perf_counter()),
            acceleration=self.acceleration,
            start=start,
            seed=seed,
            stop=stop,
            **options,
        )

    def _starts(self, problems: list[Problem]) -> list[State | None]:
        """Where the last fit ended, as far as it fits."""
        last = getattr(self, "certificate_", []) if self.warm_start else []
        certificates = last if isinstance(last, list) else [last]
        if len(certificates) != len(problems):
            return [None] * len(problems)
        return [_start(*pair) for pair in zip(problems, certificates, strict=True)]

    def _keep(self, problems: list[Problem], results: list[Result]) -> None:
        certificates = [result.certificate for result in results]
        for name, value in self._coefficients(problems, [c.w for c in certificates]).items():
            setattr(self, name, value)
        alone = len(results) == 1
        self.certificate_ = certificates[0] if alone else certificates
        self.trace_ = results[0].trace if alone else [result.trace for result in results]
        duals = [result.alpha for result in results]
        self.dual_coef_ = duals[0] if alone else np.column_stack(duals)
        self.support_ = np.flatnonzero(self.dual_coef_.reshape(len(duals[0]), -1).any(axis=1))
        self.objective_ = sum(c.primal for c in certificates)
        self.duality_gap_ = sum(c.gap for c in certificates)
        self.converged_ = all(result.converged for result in results)
        passes = max(result.trace.passes[-1] for result in results)
        self.n_iter_ = max(1, int(np.ceil(passes)))
        self._warn(results)

    def _warn(self, results: list[Result]) -> None:
        """Tell if a certificate misses `tol`."""
        missed = [r for r in results if not r.certificate.relative_gap <= self.tol]
        if not missed:
            return
        worst = max(missed, key=lambda result: result.certificate.relative_gap)
        which = f" in {len(missed)} of {len(results)} problems" if len(results) > 1 else ""
        warn_user(
            f"{type(self).__name__}: the certified relative duality gap "
            f"{worst.certificate.relative_gap:.1e} misses tol={self.tol:g}{which} "
            f"({worst.status.value} after {worst.trace.passes[-1]:.4g} passes). Raise max_passes="
            f"{self.max_passes:g} or max_seconds, loosen tol, scale the features, or raise alpha.",
            ConvergenceWarning,
        )

    def _problems(
        self, X: Any, y: Any, weights: Array | None, alpha: float | None = None
    ) -> list[Problem]:
        """Make problems of validated data, one or one for each output; with this alpha if given."""
        raise NotImplementedError

    def _coefficients(self, problems: list[Problem], points: list[Array]) -> dict[str, Any]:
        """coef_ and intercept_ for these points."""
        raise NotImplementedError

    def _linear(self, X: Any) -> Array:
        """X coef_' + intercept_."""
        check_is_fitted(self)
        return self._scores(validate_data(self, X, accept_sparse="csr", dtype=TYPES, reset=False))

    def _scores(self, X: Any) -> Array:
        """The same for validated X."""
        scores = X @ self.coef_.T
        scores = scores.toarray() if sp.issparse(scores) else np.asarray(scores)
        return np.asarray(scores + self.intercept_)

    def sparsify(self) -> Any:
        """Convert `coef_` to a sparse matrix, which saves memory if most of it is zero."""
        check_is_fitted(self)
        self.coef_ = sp.csr_matrix(self.coef_)
        return self

    def densify(self) -> Any:
        """Convert `coef_` back to an array."""
        check_is_fitted(self)
        self.coef_ = self._dense_coefficients()
        return self

    def _dense_coefficients(self) -> Array:
        coef = self.coef_.toarray() if sp.issparse(self.coef_) else self.coef_.copy()
        return np.asarray(coef if np.ndim(self.intercept_) else coef.ravel())

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


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn where the user's code called ours, perhaps through scikit-learn."""
    frame, level = sys._getframe(), 0
    while frame.f_back and frame.f_globals["__name__"].split(".")[0] in ("quartz", "sklearn"):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level + 1)


def _start(problem: Problem, last: Certificate) -> State | None:
    """That of a warm start; None if the last problem was of another size or loss."""
    try:
        return State.start(problem, last.alpha, last.w)
    except ValueError:
        return None


def stacked_coefficients(problems: list[Problem], points: list[Array]) -> tuple[Matrix, Array]:
    """The coefficients with a row for each output of all problems, and the intercepts."""
    rows, intercepts = [], []
    for problem, w in zip(problems, points, strict=True):
        coefficients, b = problem.coefficients(w)
        rows.append(coefficients.reshape(-1, problem.data.m).T)
        intercepts.append(np.broadcast_to(b, problem.data.m))
    return np.vstack(rows), np.concatenate(intercepts)
