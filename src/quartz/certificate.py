"""The certificate: a duality gap recomputed from scratch, in its Fenchel-Young parts.

    P(w) - D(alpha) =  lam (g(w) + g*(abar) - <w, abar>)                                GAP_g
                     + 1/n sum_i (phi_i(A_i'w) + phi_i*(-alpha_i) + <A_i'w, alpha_i>)   GAP_phi_i

Both parts are nonnegative (the paper's Fenchel duality interpretation, section 2), so the gap
bounds how far w is from the optimum of [eq:primal] and alpha from that of [eq:dual]. Rounding is
bounded (:mod:`quartz.rounding`) and counts: it is added to P and subtracted from D.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from quartz import checks
from quartz.arrays import Array, Floats, quietly
from quartz.data import Blocks
from quartz.laws import LawError, blame
from quartz.problem import Problem
from quartz.regularizers.base import abilities
from quartz.rounding import SUMMED, Predicted, norm, of_penalty

Point = Literal["own", "conjugate"]
PrimalPoint = Literal["own", "conjugate", "best"]
"""Which primal point is certified: the method's own w, z = grad g*(abar), or the better one."""

UNTRUE = 1e-9  # by how much P must be below D, relative to both, before a loss is called wrong
LARGE = 1e290  # sizes up to which sums in twice the working precision cannot overflow


@dataclass(frozen=True)
class Certificate:
    """What is known for certain about a primal-dual pair.

    Attributes
    ----------
    primal_value, dual_value : float
        P(w) and D(alpha), with rounding added to the one and subtracted from the other: P(w) is at
        most `primal_value`, and the optimum lies between the two.
    primal_rounding, dual_rounding : float
        How much of them is the bound for rounding.
    regularizer_gap : float
        lam (g(w) + g*(abar) - <w, abar>), without rounding.
    example_gaps : ndarray of shape (n,)
        Fenchel-Young gap of every example, without rounding; their mean is the part of the losses
        in the gap.
    point : {"own", "conjugate"}
        Which w was certified: the method's own, or z = grad g*(abar).
    w : ndarray of shape (d,)
        The certified point.
    abar : ndarray of shape (d,)
        1/(lam n) sum_i A_i alpha_i, computed from scratch.
    duals : ndarray of shape (n,) or (n, m)
        The dual point alpha, exactly inside the domain of the conjugates; with a free intercept,
        the given one moved so that it sums to exactly 0.
    is_accurate : bool
        Whether products with the data were summed in twice the working precision.
    """

    primal_value: float
    dual_value: float
    primal_rounding: float
    dual_rounding: float
    regularizer_gap: float
    example_gaps: Array
    point: Point
    w: Array
    abar: Array
    duals: Array
    is_accurate: bool = False

    @property
    def gap(self) -> float:
        """`primal_value` - `dual_value`, a bound for P(w) - D(alpha) with rounding included."""
        return self.primal_value - self.dual_value

    @property
    def relative_gap(self) -> float:
        """Gap / |P(w)|; infinite if P(w) = 0 and the gap is not, or if either overflows."""
        if self.primal_value == 0 or not np.isfinite(self.gap):
            return 0.0 if self.gap == 0 else np.inf
        return self.gap / abs(self.primal_value)

    @property
    def loss_gap(self) -> float:
        """Mean of the examples' gaps."""
        return float(np.mean(self.example_gaps))

    @property
    def rounding(self) -> float:
        """How much of the gap is the bound for rounding."""
        return self.primal_rounding + self.dual_rounding

    @property
    def is_rounding(self) -> bool:
        """Whether the gap is mostly the bound for rounding, so that no better pair would show."""
        return self.gap <= 2 * self.rounding < np.inf

    def __str__(self) -> str:
        point = "the method's own w" if self.point == "own" else "z = grad g*(abar)"
        return (
            f"certificate: P = {self.primal_value:.9g}, D = {self.dual_value + 0.0:.9g}\n"
            f"  gap {self.gap:.3e} (relative {self.relative_gap:.3e}) = regularizer "
            f"{self.regularizer_gap:.3e} + losses {self.loss_gap:.3e} + rounding "
            f"{self.rounding:.1e}\n"
            f"  primal point: {point}"
        )


@quietly
def certify(
    problem: Problem,
    duals: Array,
    w: Array | None = None,
    primal: PrimalPoint = "best",
    carried: Array | None = None,
    abar: Array | None = None,
    enough: Callable[[Certificate], bool] = lambda certificate: False,
    reached: Predicted | None = None,
) -> Certificate:
    """Certify a dual point with a primal point.

    Parameters
    ----------
    problem : Problem
    duals : ndarray of shape (n,) or (n, m)
        The dual point alpha; its abar is computed from scratch.
    w : ndarray of shape (d,), optional
        The primal point of a method, such as the averaged one of Algorithm 1, if there is one.
    primal : {"best", "own", "conjugate"}
        Certify `w`, z = grad g*(abar), or the one of the two with the smaller P (see `enough`).
    carried : ndarray, optional
        What a state carries for a free intercept; the search for the best intercept begins there.
    abar : ndarray of shape (d,), optional
        Approximately the abar of `duals`. With a free intercept z is computed from it, which saves
        a pass, because abar has to be computed from scratch after the repair of `duals` anyway.
    enough : callable
        Whether a certificate is good enough; if that of `w` is, "best" does not evaluate z.
    reached : Predicted, optional
        The point to certify as "own" in place of `w`, as it is, with its predictions.

    Raises
    ------
    LawError
        If P < D beyond rounding, which no convex loss with its true conjugate allows; or if a
        function of the loss or of the regularizer returns NaN.
    """
    if primal not in ("best", "own", "conjugate"):
        raise ValueError(f'primal must be "best", "own" or "conjugate", got {primal!r}.')
    if primal == "own" and w is None and reached is None:
        raise ValueError('primal="own" certifies w, so w must be given.')
    losses, intercept = problem.losses, problem.intercept
    duals = checks.finite_array("duals", duals, problem.data.dual_shape)
    inexact = losses.abilities.simplex or losses.has_rounded_bounds
    if inexact and not intercept.repairs_duals:
        duals = losses.rounded_into_domain(duals)
    if reached is not None:
        w = reached.w
    elif w is not None:
        w = _nearest(problem, checks.finite_array("w", w, (problem.data.d,)))
    if abar is None or not intercept.repairs_duals:
        abar = problem.abar(duals)

    def predicted(point: Array) -> tuple[Array, Array]:
        return problem.completed(point.copy(), carried)

    name: Point = "own"
    if w is None or primal == "conjugate":
        name, w, reached = "conjugate", problem.conjugate_point(abar), None
    first = predicted(w) if reached is None else (w, reached.values)
    if intercept.repairs_duals:
        repaired = intercept.repaired(losses, duals, first[1])
        dual = _DualPoint(problem, problem.data, repaired)
    else:
        dual = _DualPoint(problem, problem.data, duals.copy(), abar)  # the method keeps its own
    best = dual.certificate(name, *first, reached)
    if best.dual_value == -np.inf and not intercept.repairs_duals:
        moved = losses.rounded_into_domain(duals)
        if (moved != duals).any():
            dual = _DualPoint(problem, problem.data, moved)
            best = dual.certificate(name, *first, reached)
    if name == "own" and primal == "best" and not enough(best):
        other = dual.certificate("conjugate", *predicted(problem.conjugate_point(dual.abar)))
        best = min(best, other, key=lambda certificate: certificate.primal_value)
    if best.gap < -UNTRUE * (abs(best.primal_value) + abs(best.dual_value)):
        raise LawError(
            f"P = {best.primal_value:.6g} is below D = {best.dual_value:.6g}, which weak duality "
            f"forbids: a value or conjugate is wrong. {blame(problem.loss, problem.regularizer)}"
        )
    return best


@quietly
def certify_accurately(problem: Problem, certificate: Certificate) -> Certificate:
    """Certify the same pair again, with products in twice the working precision.

    It takes several passes. The given certificate is returned if its numbers are so large that
    such products might overflow.
    """
    largest = float(problem.data.lengths.max()) * float(np.abs(certificate.w).max())
    if not largest * problem.data.d < LARGE:
        return certificate
    data = problem.data.accurate()
    dual = _DualPoint(problem, data, certificate.duals, accurate=True)
    return dual.certificate(certificate.point, certificate.w, data.predictions(certificate.w))


class _DualPoint:
    """A dual point with its part of the certificate.

    Parameters
    ----------
    problem : Problem
    data : Blocks
        Those of the problem, or the same with accurate products.
    duals : ndarray
        Exactly inside the domain, and with exact sums for free columns.
    abar : ndarray of shape (d,), optional
        That of the duals, from scratch.
    accurate : bool
        Whether the products of `data` are.
    """

    def __init__(
        self,
        problem: Problem,
        data: Blocks,
        duals: Array,
        abar: Array | None = None,
        accurate: bool = False,
    ) -> None:
        self._problem, self._accurate = problem, accurate
        lam, g, penalized = problem.lam, problem.regularizer, problem.intercept.penalized
        if abar is None:
            abar = data.balanced_combination(duals) / (lam * problem.n)
        self.duals, self.abar = duals, abar
        terms = np.asarray(g.conjugate(penalized(abar)))
        self._conjugate = float(np.sum(terms))
        error = problem.rounding.of_abar(duals, abar, lam, accurate)
        self._terms = SUMMED if abilities(g).separable else SUMMED + problem.data.d
        error += of_penalty(norm(abar), self._terms)
        z = norm(penalized(problem.conjugate_point(abar)))
        moved = z * error + 0.5 * error * error
        self._rounding = lam * (moved + of_penalty(float(np.sum(np.abs(terms))), self._terms))

    def certificate(
        self, name: Point, w: Array, predictions: Array, reached: Predicted | None = None
    ) -> Certificate:
        """The certificate of this dual point with a primal point and its predictions.

        `reached` says how they were found, if not from scratch.
        """
        problem, bounds = self._problem, self._problem.rounding
        lam, intercept = problem.lam, problem.intercept
        terms = problem.losses.fenchel_young(predictions, self.duals)
        penalty = np.asarray(problem.regularizer.value(intercept.penalized(w)))
        value = float(np.sum(penalty))
        features, b = intercept.coefficients(w)
        constant = not features.any()
        primal_rounding = bounds.of_losses(
            terms.loss, terms.loss_size, w, predictions, b, constant, self._accurate, reached
        )
        primal_rounding += lam * of_penalty(float(np.sum(np.abs(penalty))), self._terms)
        dual_rounding = self._rounding + bounds.of_conjugates(terms.conjugate_size)
        primal = terms.loss + lam * value + primal_rounding
        dual = -lam * self._conjugate - terms.conjugate - dual_rounding
        if np.isnan(primal) or np.isnan(dual):
            self._raise_for_nan(w, predictions)
        return Certificate(
            primal_value=np.inf if np.isnan(primal) else primal,
            dual_value=-np.inf if np.isnan(dual) else dual,
            primal_rounding=primal_rounding,
            dual_rounding=dual_rounding,
            regularizer_gap=lam * (value + self._conjugate - float(w @ self.abar)),
            example_gaps=terms.gaps,
            point=name,
            w=w,
            abar=self.abar,
            duals=self.duals,
            is_accurate=self._accurate,
        )

    def _raise_for_nan(self, w: Array, predictions: Array) -> None:
        """Say which function is broken if one returned NaN; else numbers were too large."""
        problem, penalized = self._problem, self._problem.intercept.penalized
        if not (np.isfinite(predictions).all() and np.isfinite(self.abar).all()):
            return
        g = problem.regularizer
        found: list[tuple[object, str, Floats]] = [
            (problem.loss, "value", problem.losses.values(predictions)),
            (problem.loss, "conjugate", problem.losses.conjugates(self.duals)),
            (g, "value", g.value(penalized(w))),
            (g, "conjugate", g.conjugate(penalized(self.abar))),
        ]
        for subject, function, numbers in found:
            if np.isnan(numbers).any():
                raise LawError(
                    f"{type(subject).__name__}.{function} returned NaN for finite arguments. "
                    f"{blame(subject)}"
                )


def _nearest(problem: Problem, w: Array) -> Array:
    """The point of g's domain next to w, which rounding may have put outside."""
    nearest = abilities(problem.regularizer).nearest
    if nearest is None:
        return w
    w = w.copy()
    problem.intercept.penalized(w)[:] = nearest(problem.intercept.penalized(w))
    return w
