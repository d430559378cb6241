"""Stopping rules: when a certificate is good enough."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from quartz import checks
from quartz.certificate import Certificate


class StoppingRule(ABC):
    """Decides by certificates alone; a run also ends by its budget.

    Attributes
    ----------
    worth_a_look : float
        A certificate is due whenever the estimate of the gap has fallen by this factor.
    """

    worth_a_look: float = 1e-3

    @abstractmethod
    def is_met(self, certificate: Certificate) -> bool:
        """Whether the run has converged."""

    @abstractmethod
    def gap(self, primal_value: float) -> float:
        """The gap at which that is so where P is known; 0 where it cannot be told."""

    @abstractmethod
    def measure(self, certificate: Certificate) -> str:
        """What a certificate reaches, in words."""


@dataclass(frozen=True)
class RelativeGap(StoppingRule):
    """gap / |P(w)| is at most tol."""

    tol: float

    def __post_init__(self) -> None:
        checks.nonnegative("tol", self.tol, "It bounds the relative duality gap.")

    def is_met(self, certificate: Certificate) -> bool:
        return certificate.relative_gap <= self.tol

    def gap(self, primal_value: float) -> float:
        return self.tol * abs(primal_value)

    def measure(self, certificate: Certificate) -> str:
        return f"relative gap {certificate.relative_gap:.2e}"

    def __str__(self) -> str:
        return f"tol = {self.tol:g}"


@dataclass(frozen=True)
class AbsoluteGap(StoppingRule):
    """P(w) - D(alpha) is at most tol."""

    tol: float

    def __post_init__(self) -> None:
        checks.nonnegative("tol", self.tol, "It bounds the duality gap.")

    def is_met(self, certificate: Certificate) -> bool:
        return certificate.gap <= self.tol

    def gap(self, primal_value: float) -> float:
        return self.tol

    def measure(self, certificate: Certificate) -> str:
        return f"gap {certificate.gap:.2e}"

    def __str__(self) -> str:
        return f"tol = {self.tol:g}"


@dataclass(frozen=True)
class When(StoppingRule):
    """A function of the certificate returns True.

    Examples
    --------
    >>> from quartz import Problem, When, data, losses, solve
    >>> X, y = data.make_classification(200, 20, density=0.3)
    >>> problem = Problem(X, y, losses.SmoothedHinge(), lam=0.01)
    >>> found = solve(problem, tol=When(lambda certificate: certificate.dual_value > 0.1))
    >>> found.converged, found.certificate.dual_value > 0.1
    (True, True)
    """

    condition: Callable[[Certificate], bool]
    worth_a_look = 0.5

    def is_met(self, certificate: Certificate) -> bool:
        return bool(self.condition(certificate))

    def gap(self, primal_value: float) -> float:
        return 0.0

    def measure(self, certificate: Certificate) -> str:
        return f"relative gap {certificate.relative_gap:.2e}"

    def __str__(self) -> str:
        return "your condition"


def as_rule(tol: float | StoppingRule) -> StoppingRule:
    """A number is a relative gap; a rule stands for itself."""
    return tol if isinstance(tol, StoppingRule) else RelativeGap(tol)


def missing_decades(rule: StoppingRule, certificate: Certificate) -> float | None:
    """log(gap / wanted gap), if both are known and the gap is too large."""
    wanted = rule.gap(certificate.primal_value)
    if 0 < wanted < certificate.gap < np.inf:
        return float(np.log(certificate.gap / wanted))
    return None
