"""What a run returns, in numbers and in words."""

from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from quartz.arrays import Array, Floats
from quartz.certificate import Certificate
from quartz.methods.plan import Plan
from quartz.run.stopping import StoppingRule, log_of_missing
from quartz.theory import iterations


class Status(Enum):
    """Why a run ended."""

    CONVERGED = "converged"
    PASS_LIMIT = "pass limit"
    TIME_LIMIT = "time limit"
    STOPPED = "stopped by callback"
    INTERRUPTED = "interrupted"
    DIVERGED = "diverged"
    ROUNDING = "as far as float64 goes"
    FAILED = "an exception"


@dataclass
class Trace:
    """One row for each certificate of a run.

    Attributes
    ----------
    iterations : list of int
        Index sets used so far.
    passes : list of float
        Examples visited so far, over n; certificates are not counted.
    seconds : list of float
        Since the start, certificates included.
    primal_values, dual_values, gaps : list of float
        P(w), D(alpha) and their difference.
    """

    iterations: list[int] = field(default_factory=list)
    passes: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    primal_values: list[float] = field(default_factory=list)
    dual_values: list[float] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.iterations)

    def record(
        self, iteration: int, passes: float, seconds: float, certificate: Certificate
    ) -> None:
        """Append a row."""
        self.iterations.append(iteration)
        self.passes.append(passes)
        self.seconds.append(seconds)
        self.primal_values.append(certificate.primal_value)
        self.dual_values.append(certificate.dual_value)
        self.gaps.append(certificate.gap)

    def decay_per_pass(self) -> float:
        """How much log(gap) fell per pass over the last half of the run; NaN if unknown."""
        gaps, passes = np.array(self.gaps), np.array(self.passes)
        known = np.flatnonzero(np.isfinite(gaps) & (gaps > 0))
        if known.size < 2:
            return np.nan
        last, first = known[-1], known[np.searchsorted(passes[known], passes[known[-1]] / 2)]
        if first == last:
            first = known[-2]
        if passes[first] == passes[last]:
            return np.nan
        return float(np.log(gaps[first] / gaps[last]) / (passes[last] - passes[first]))

    def __repr__(self) -> str:
        if not len(self):
            return "Trace(no certificates)"
        return (
            f"Trace({len(self)} certificates, {self.passes[-1]:.4g} passes, "
            f"{self.seconds[-1]:.3g} s, gap {self.gaps[0]:.2e} to {self.gaps[-1]:.2e})"
        )


@dataclass(frozen=True, repr=False)
class Result:
    """A certified primal-dual pair and how it was found.

    Attributes
    ----------
    coef : ndarray of shape (features,) or (features, m)
        Coefficients of the features: predictions are X coef + intercept.
    intercept : float or ndarray of shape (m,)
        0 if the problem has none.
    w : ndarray of shape (d,)
        The certified primal point, in the problem's own coordinates.
    duals : ndarray
        The dual point.
    certificate : Certificate
    status : Status
    message : str
        The status as a sentence, with what to do if the run did not converge.
    trace : Trace
    plan : Plan or None
        Sampling, v, theta and options of Algorithm 1; None for a method that is none.
    """

    coef: Array
    intercept: Floats
    certificate: Certificate
    status: Status
    message: str
    trace: Trace
    plan: Plan | None

    @property
    def w(self) -> Array:
        """The certified primal point."""
        return self.certificate.w

    @property
    def duals(self) -> Array:
        """The dual point."""
        return self.certificate.duals

    @property
    def converged(self) -> bool:
        """Whether the certificate meets the stopping rule."""
        return self.status is Status.CONVERGED

    def __repr__(self) -> str:
        shown = f"{self.intercept:.6g}" if np.ndim(self.intercept) == 0 else _short(self.intercept)
        certificate = str(self.certificate).replace("\n", "\n  ")
        return (
            f"Result: {self.message}\n"
            f"  coef of shape {self.coef.shape}, {np.count_nonzero(self.coef)} not zero; "
            f"intercept {shown}\n"
            f"  {certificate}"
        )


def _short(numbers: Floats) -> str:
    return np.array2string(np.asarray(numbers), precision=4, threshold=6)


def describe(
    status: Status, best: Certificate, rule: StoppingRule, trace: Trace, promise: Plan | None
) -> str:
    """Say how the run ended, and for one that did not converge what it would still take.

    With a plan that the theorem covers also what this promises.
    """
    passes = f"{trace.passes[-1]:.4g} passes"
    verdict = rule.verdict(best, met=status is Status.CONVERGED)
    if status is Status.CONVERGED:
        return f"Converged: {verdict}, certified after {passes}."
    if status is Status.DIVERGED:
        return (
            f"Diverged: the iterates overflowed after {passes}; of the best pair, {verdict}. "
            "The ESO v of the sampling is too small for the data, the loss breaks its laws (try "
            "verify_eso and check_loss), or v / (lam n) overflows (scale X, or increase lam)."
        )
    if status is Status.ROUNDING:
        return (
            f"As far as float64 goes: {verdict} after {passes}; {best.rounding / best.gap:.0%} of "
            "the gap is the bound for rounding. Loosen tol, increase lam, or centre and scale the "
            "columns of X and the targets."
        )
    sentences = [f"Not converged ({status.value}): {verdict} after {passes}."]
    missing = log_of_missing(rule, best)
    if missing is not None:
        rate = trace.decay_per_pass()
        if rate > 0:
            sentences.append(f"At the observed rate {missing / rate:.3g} more passes are needed.")
        if promise is not None and promise.theta > 0:
            steps = iterations(promise.theta, best.gap, rule.gap(best.primal_value))
            bound = steps * promise.sampling.expected_size / promise.problem.n
            sentences.append(f"The theorem promises {bound:.3g} in expectation.")
    if not np.isfinite(best.primal_value):
        sentences.append("P overflows at the best point: scale the targets, or X.")
    if status is Status.INTERRUPTED:
        sentences.append("A second Ctrl-C within a second raises KeyboardInterrupt.")
    else:
        sentences.append("Raise the limit, loosen tol, or increase lam.")
    return " ".join(sentences)
