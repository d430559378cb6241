"""What an estimator makes of its parameters and data: problems, and how to solve them."""

import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import NotRequired, TypeAlias, TypedDict, TypeVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from quartz.arrays import AnyArray, Array, Floats, SparseMatrix
from quartz.estimators.names import Penalty
from quartz.estimators.threads import in_threads
from quartz.losses.base import Loss
from quartz.methods import Method
from quartz.methods.automatic import Automatic
from quartz.methods.candidates import is_short
from quartz.problem import Problem
from quartz.regularizers.base import abilities
from quartz.run import Result, Status, solve
from quartz.run.loop import Callback
from quartz.run.start import AnyStart
from quartz.samplings import Recipe

T = TypeVar("T")

Matrix: TypeAlias = AnyArray | SparseMatrix
"""Validated X of shape (n_samples, n_features): C-ordered or CSR, float64 or float32."""

Validated: TypeAlias = tuple[Matrix, AnyArray, Array | None]
"""X, y and the weights of the examples, if there are any, after validation."""


class Attributes(TypedDict):
    """What a solution adds to a fitted estimator; the shapes are those of its docstring."""

    coef_: Array
    intercept_: Floats
    loss_: Loss
    classes_: NotRequired[AnyArray]  # of classifiers


@dataclass(frozen=True)
class Conditions:
    """What all runs of one fit, path or search have in common.

    Attributes
    ----------
    name : str
        Name of the estimator, for messages.
    method, tol, max_passes, seed
        Arguments of `solve`.
    ends : float
        Time at which all runs end, in seconds of `time.perf_counter`.
    n_jobs : int or None
        Number of threads, by joblib's rules.
    verbose : bool
        Whether to show a progress bar.
    stop : threading.Event
        Ends all runs when it is set.
    """

    name: str
    method: Method | Recipe
    tol: float
    max_passes: float
    seed: int
    ends: float
    n_jobs: int | None
    verbose: bool
    stop: Event = field(default_factory=Event)

    def solve(
        self,
        problem: Problem,
        start: AnyStart = None,
        callback: Callback | None = None,
        progress: bool = False,
    ) -> Result:
        """Solve one problem."""
        return solve(
            problem,
            self.method,
            tol=self.tol,
            max_passes=self.max_passes,
            max_seconds=max(0.0, self.ends - time.perf_counter()),
            start=start,
            seed=self.seed,
            callback=callback,
            progress=progress,
            stop=self.stop,
        )

    def in_threads(
        self, tasks: Sequence[Callable[[], T]], problem: Problem, shown: bool = False
    ) -> list[T]:
        """Run the tasks in threads; see `quartz.estimators.threads.in_threads`.

        `problem` is one that they solve: for some kinds one thread is as fast as several.
        """
        alone = self.method == Automatic() and is_short(problem)
        return in_threads(tasks, 1 if alone else self.n_jobs, self.stop, shown)

    def are_over(self) -> bool:
        """Whether Ctrl-C or the time limit has ended all runs."""
        return self.stop.is_set() or time.perf_counter() > self.ends

    def warn(self, results: list[Result]) -> None:
        """Warn if the certificate of a result misses `tol`."""
        missed = [r for r in results if not r.certificate.relative_gap <= self.tol]
        if not missed:
            return
        worst = max(missed, key=lambda result: result.certificate.relative_gap)
        which = f" in {len(missed)} of {len(results)} problems" if len(results) > 1 else ""
        remedy = f"Raise max_passes={self.max_passes:g} or max_seconds, loosen"
        if worst.status is Status.ROUNDING:
            remedy = "Rounding hides any further progress: loosen"
        warn_user(
            f"{self.name}: the certified relative duality gap "
            f"{worst.certificate.relative_gap:.1e} misses tol={self.tol:g}{which} "
            f"({worst.status.value} after {worst.trace.passes[-1]:.4g} passes). {remedy} tol, "
            "scale the features, or raise alpha.",
            ConvergenceWarning,
        )


@dataclass(frozen=True)
class Training:
    """The problems that `fit` solves: a single one, or one for each output.

    Attributes
    ----------
    problems : list of Problem
        For :func:`quartz.solve`.
    penalty : Penalty
        The penalty; lam of the problems is `penalty.share` times alpha.
    conditions : Conditions
        How they are solved.
    fitted : callable
        Gives the attributes of a fitted estimator, such as `coef_`, for a list with the primal
        point w of each problem.
    """

    problems: list[Problem]
    penalty: Penalty
    conditions: Conditions
    fitted: Callable[[list[Array]], Attributes]

    def at(self, problem: Problem, alpha: float) -> Problem:
        """One of the problems with another alpha, on the same data."""
        return problem.with_lam(alpha * self.penalty.share)

    def largest_alpha(self) -> float:
        """An alpha at which all coefficients are 0, or nearly 0 if the penalty has no corner."""
        return max(_largest_lam(problem) for problem in self.problems) / self.penalty.share


def stacked_coefficients(problems: list[Problem], points: list[Array]) -> tuple[Array, Array]:
    """Coefficients of shape (outputs, features) and intercepts of shape (outputs,).

    The outputs are those of all problems, one after another.
    """
    rows, intercepts = [], []
    for problem, w in zip(problems, points, strict=True):
        coefficients, b = problem.coefficients(w)
        rows.append(coefficients.reshape(-1, problem.data.m).T)
        intercepts.append(np.broadcast_to(b, problem.data.m))
    return np.vstack(rows), np.concatenate(intercepts)


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the line of the user's code that called Quartz, perhaps through scikit-learn."""
    frame, level = sys._getframe(), 0
    while frame.f_back and frame.f_globals["__name__"].split(".")[0] in ("quartz", "sklearn"):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level + 1)


def _largest_lam(problem: Problem) -> float:
    """The least lam for which w = 0 is optimal, or else the mean of ||A_i||^2 / gamma.

    The latter bounds the curvature of the mean loss: a lam of that size leaves little of w.
    """
    vanishes_at = abilities(problem.regularizer).vanishes_at
    if vanishes_at is not None:
        lam = vanishes_at(problem.slope_at_zero())
        if lam < np.inf:
            return lam
    norms = np.average(problem.data.norms, weights=problem.weights)
    return float(norms) / (problem.loss.gamma or 1.0)
