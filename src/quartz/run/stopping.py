"""Stopping rules: when a certificate is good enough."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np

from quartz import checks
from quartz.certificate import Certificate

RELATIVE = "It bounds the relative duality gap; a function of the certificate is When(function)."


class StoppingRule(ABC):
    """Decides by certificates alone; a run also ends by its budget.

    A rule about the gap gives `gap`. Any other rule overrides `is_met`, which is called once for
    each certificate of a run, in order; one with a memory also overrides `begin`.

    Attributes
    ----------
    worth_a_look : float
        A certificate is due when the estimate of the gap has fallen to this share of its value at
        the last certificate.
    """

    worth_a_look: float = 1e-3

    def begin(self) -> Self:
        """The rule for one run: itself, or a fresh copy if it remembers certificates."""
        return self

    @abstractmethod
    def gap(self, primal_value: float) -> float:
        """The gap at which the rule is met, given P; methods aim at it.

        0 if the rule is not about the gap.
        """

    def gap_is_small(self, certificate: Certificate) -> bool:
        """Whether the gap of a certificate is at most `gap`."""
        return certificate.gap <= self.gap(certificate.primal_value)

    def is_met(self, certificate: Certificate) -> bool:
        """Whether the run has converged."""
        return self.gap_is_small(certificate)

    @abstractmethod
    def verdict(self, certificate: Certificate, met: bool) -> str:
        """What a certificate reaches beside what the rule asks for, in words."""


@dataclass(frozen=True)
class RelativeGap(StoppingRule):
    """gap / |P(w)| is at most tol."""

    tol: float

    def __post_init__(self) -> None:
        checks.nonnegative("tol", self.tol, RELATIVE)

    def gap(self, primal_value: float) -> float:
        return self.tol * abs(primal_value)

    def gap_is_small(self, certificate: Certificate) -> bool:
        return certificate.relative_gap <= self.tol

    def verdict(self, certificate: Certificate, met: bool) -> str:
        sign = "<=" if met else ">"
        return f"relative gap {certificate.relative_gap:.2e} {sign} tol = {self.tol:g}"


@dataclass(frozen=True)
class AbsoluteGap(StoppingRule):
    """P(w) - D(alpha) is at most tol."""

    tol: float

    def __post_init__(self) -> None:
        checks.nonnegative("tol", self.tol, "It bounds the duality gap.")

    def gap(self, primal_value: float) -> float:
        return self.tol

    def verdict(self, certificate: Certificate, met: bool) -> str:
        return f"gap {certificate.gap:.2e} {'<=' if met else '>'} tol = {self.tol:g}"


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

    def gap(self, primal_value: float) -> float:
        return 0.0

    def is_met(self, certificate: Certificate) -> bool:
        return bool(self.condition(certificate))

    def verdict(self, certificate: Certificate, met: bool) -> str:
        holds = "holds" if met else "does not hold"
        return f"your condition {holds} at a relative gap of {certificate.relative_gap:.2e}"


def as_rule(tol: float | StoppingRule) -> StoppingRule:
    """The rule for one run; a number is a relative gap."""
    return tol.begin() if isinstance(tol, StoppingRule) else RelativeGap(tol)


def log_of_missing(rule: StoppingRule, certificate: Certificate) -> float | None:
    """log(gap / wanted gap), if both are known and the gap is too large."""
    wanted = rule.gap(certificate.primal_value)
    if 0 < wanted < certificate.gap < np.inf:
        return float(np.log(certificate.gap / wanted))
    return None
