"""What must be true of every result."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from fuzz import exact
from fuzz.case import Case, feasible_duals
from quartz import Certificate, Problem, Result, certify

SLACK = Fraction(1, 10**300)  # underflow is not promised
MOST = 2**1023  # which a float can be
ROUNDING = 1e-10  # relative errors below it look like rounding, for the reader of a report


@dataclass(frozen=True)
class Violation:
    """A claim that is false.

    Attributes
    ----------
    law : str
        Which, in a few words; reports count by it.
    detail : str
        The numbers.
    """

    law: str
    detail: str


class Pair(NamedTuple):
    """A point with its certificate, as a result has it."""

    coef: Any
    intercept: Any
    certificate: Certificate


def certified_pair(problem: Problem, result: Result, rng: np.random.Generator) -> Pair:
    """A certificate of any w and duals, near those of a result or not."""
    noise = 10.0 ** rng.uniform(-17, 1)
    with np.errstate(over="ignore"):
        size = noise * (np.abs(result.w).max() + 1e-3)
        w = result.w + size * rng.normal(size=result.w.shape)
        duals = result.duals * (1 + noise * rng.normal(size=result.duals.shape))
    if rng.random() < 0.5:
        duals = feasible_duals(problem, rng)
    certificate = certify(problem, duals, w, "own")
    return Pair(*problem.coefficients(certificate.w), certificate)


def check(case: Case, problem: Problem, result: Result) -> list[Violation]:
    """All violations of a result."""
    pair = check_pair(case.objective(problem), result)
    return [*pair, *_check_status(case, result), *_check_finite_ends(case, result)]


def check_pair(objective: exact.Objective, result: Result | Pair) -> list[Violation]:
    """The coefficients are finite, and both ends are true."""
    points = result.coef, result.intercept, result.certificate.duals
    if not all(bool(np.isfinite(point).all()) for point in points):
        return [Violation("coefficients are finite", f"{result.coef} {result.intercept}")]
    return [*check_primal(objective, result), *check_dual(objective, result)]


def check_primal(objective: exact.Objective, result: Result | Pair) -> list[Violation]:
    """P(coef, intercept) is at most the upper end."""
    claimed = result.certificate.primal_value
    law = "P is at most the upper end"
    if math.isnan(claimed):
        return [Violation(law, "the upper end is nan")]
    try:
        truth = exact.primal(objective, result.coef, result.intercept)
    except exact.OutsideError as error:
        return [Violation("w is in the domain of g", str(error))]
    return _at_most(law, truth, claimed, objective)


def check_dual(objective: exact.Objective, result: Result | Pair) -> list[Violation]:
    """The duals are feasible without slack, and D is at least the lower end."""
    claimed = result.certificate.dual_value
    law = "D is at least the lower end"
    if math.isnan(claimed):
        return [Violation(law, "the lower end is nan")]
    if claimed == -math.inf:
        return []  # nothing is claimed, and the duals need not be feasible
    try:
        truth = exact.minus_dual(objective, result.certificate.duals)
    except exact.OutsideError as error:
        return [Violation("duals are in the domain", str(error))]
    return _at_most(law, truth, -claimed, objective)


def check_reference(objective: exact.Objective, result: Result, point: Any) -> list[Violation]:
    """The lower end is at most P of a point that another solver found."""
    lower = result.certificate.dual_value
    if lower <= 0:
        return []  # P is not negative
    # That is rounded down in its last of 60 digits, and to a float.
    above = exact.primal(objective, *point) * (1 + Fraction(1, 10**15))
    law = "the lower end is at most P of any point"
    return _at_most(law, Fraction(lower), float(above), objective)


def _at_most(
    law: str, truth: Fraction, claimed: float, objective: exact.Objective
) -> list[Violation]:
    """The truth is at most what is claimed; if not, by what share of the objective."""
    if math.isinf(claimed):
        return [] if claimed > 0 else [Violation(law, f"{claimed} is claimed")]
    excess = truth - Fraction(claimed)
    if excess <= SLACK:
        return []
    size = max(abs(truth), abs(Fraction(claimed)), exact.loss_at_zero(objective))
    share = float(excess / size)
    looks = "by rounding" if share < ROUNDING else "FAR"
    shown = f"{float(size):.17g}" if size < MOST else "more than a float"
    return [Violation(f"{law} ({looks})", f"off by {share:.3g} of {shown}")]


def _check_finite_ends(case: Case, result: Result) -> list[Violation]:
    """Where all scales are ordinary, something is claimed."""
    ends = result.certificate.primal_value, result.certificate.dual_value
    if not case.ordinary or np.isfinite(ends).all():
        return []
    return [Violation("ends are finite at ordinary scales", f"they are {ends[0]} and {ends[1]}")]


def _check_status(case: Case, result: Result) -> list[Violation]:
    """Converged means that the rule is met, and every other status has its reason."""
    status, certificate, passes = result.status, result.certificate, result.trace.passes[-1]
    reasons = {
        "CONVERGED": case.meets_rule(result),
        "PASS_LIMIT": passes >= case.max_passes,
        "TIME_LIMIT": case.max_seconds < np.inf,
        "ROUNDING": bool(getattr(certificate, "is_rounding", False)),
        "STOPPED": case.callback == "stops",
        "INTERRUPTED": case.callback == "interrupts",
        "FAILED": case.callback == "raises",
        "DIVERGED": not case.ordinary,
    }
    if status.name not in reasons:
        raise NotImplementedError(f"Add the reason of {status} to fuzz/check.py.")
    if reasons[status.name]:
        return []
    return [
        Violation(
            f"status {status.value!r} has its reason",
            f"gap {certificate.gap:.3g}, P {certificate.primal_value:.3g}, tol {case.tol:.3g}, "
            f"{passes:.3g} of {case.max_passes:.3g} passes",
        )
    ]
