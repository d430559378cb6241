"""What a run returns."""

from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from quartz.arrays import Array
from quartz.certificate import Certificate
from quartz.solvers.plan import Plan


class Status(Enum):
    """Why a run ended."""

    CONVERGED = "converged"
    PASS_LIMIT = "pass limit"
    TIME_LIMIT = "time limit"
    STOPPED = "stopped by callback"
    INTERRUPTED = "interrupted"
    DIVERGED = "diverged"


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
    primal, dual, gap : list of float
        P(w), D(alpha) and their difference.
    """

    iterations: list[int] = field(default_factory=list)
    passes: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    primal: list[float] = field(default_factory=list)
    dual: list[float] = field(default_factory=list)
    gap: list[float] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.iterations)

    def record(
        self, iteration: int, passes: float, seconds: float, certificate: Certificate
    ) -> None:
        """Append a row."""
        self.iterations.append(iteration)
        self.passes.append(passes)
        self.seconds.append(seconds)
        self.primal.append(certificate.primal)
        self.dual.append(certificate.dual)
        self.gap.append(certificate.gap)

    def decay_per_pass(self) -> float:
        """How much log(gap) fell per pass over the last half of the run; NaN if unknown."""
        gaps, passes = np.array(self.gap), np.array(self.passes)
        known = np.flatnonzero(np.isfinite(gaps) & (gaps > 0))
        if known.size < 2:
            return np.nan
        last, first = known[-1], known[np.searchsorted(passes[known], passes[known[-1]] / 2)]
        if first == last:
            first = known[-2]
        if passes[first] == passes[last]:
            return np.nan
        return float(np.log(gaps[first] / gaps[last]) / (passes[last] - passes[first]))


@dataclass(frozen=True)
class Result:
    """A certified primal-dual pair and how it was found.

    Attributes
    ----------
    w : ndarray of shape (d,)
        The certified primal point.
    alpha : ndarray
        The dual point.
    certificate : Certificate
    status : Status
    message : str
        The status as a sentence, with what to do if the run did not converge.
    trace : Trace
    plan : Plan or None
        Sampling, v, theta and options of the steps; None for a method that has no plan.
    """

    w: Array
    alpha: Array
    certificate: Certificate
    status: Status
    message: str
    trace: Trace
    plan: Plan | None

    @property
    def converged(self) -> bool:
        """Whether the certificate meets the tolerance."""
        return self.status is Status.CONVERGED

    def __repr__(self) -> str:
        return f"Result({self.status.value}, {self.message})"
