"""The certificate: a duality gap recomputed from scratch, in its Fenchel-Young parts.

    P(w) - D(alpha) =  lam (g(w) + g*(abar) - <w, abar>)                                GAP_g
                     + 1/n sum_i (phi_i(A_i'w) + phi_i*(-alpha_i) + <A_i'w, alpha_i>)   GAP_phi_i

Both parts are nonnegative (the paper's Fenchel duality interpretation, section 2), so the gap
bounds how far w is from the optimum of [eq:primal] and alpha from that of [eq:dual].
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from quartz import checks
from quartz.arrays import Array
from quartz.laws import LawError
from quartz.problem import Problem

Point = Literal["own", "conjugate"]
PrimalPoint = Literal["own", "conjugate", "best"]
"""Which primal point is certified: the method's own w, z = grad g*(abar), or the better one."""


@dataclass(frozen=True)
class Certificate:
    """What is known for certain about a primal-dual pair.

    Attributes
    ----------
    primal_value, dual_value : float
        P(w) and D(alpha); the optimum lies between them.
    regularizer_gap : float
        lam (g(w) + g*(abar) - <w, abar>).
    example_gaps : ndarray of shape (n,)
        Fenchel-Young gap of every example; their mean is the part of the losses in the gap.
    point : {"own", "conjugate"}
        Which w was certified: the method's own, or z = grad g*(abar).
    w : ndarray of shape (d,)
        The certified point.
    abar : ndarray of shape (d,)
        1/(lam n) sum_i A_i alpha_i, computed from scratch.
    duals : ndarray of shape (n,) or (n, m)
        The dual point alpha; with a free intercept, the given one moved so that it sums to 0.
    """

    primal_value: float
    dual_value: float
    regularizer_gap: float
    example_gaps: Array
    point: Point
    w: Array
    abar: Array
    duals: Array

    @property
    def gap(self) -> float:
        """P(w) - D(alpha); it is not clipped at 0, so rounding may make it negative."""
        return self.primal_value - self.dual_value

    @property
    def relative_gap(self) -> float:
        """Gap / |P(w)|; infinite if P(w) = 0 and the gap is not."""
        if self.primal_value == 0:
            return 0.0 if self.gap == 0 else np.inf
        return self.gap / abs(self.primal_value)

    @property
    def loss_gap(self) -> float:
        """Mean of the examples' gaps."""
        return float(np.mean(self.example_gaps))

    def __str__(self) -> str:
        point = "the method's own w" if self.point == "own" else "z = grad g*(abar)"
        return (
            f"certificate: P = {self.primal_value:.9g}, D = {self.dual_value + 0.0:.9g}\n"
            f"  gap {self.gap:.3e} (relative {self.relative_gap:.3e}) = "
            f"regularizer {self.regularizer_gap:.3e} + losses {self.loss_gap:.3e}\n"
            f"  primal point: {point}"
        )


def certify(
    problem: Problem,
    duals: Array,
    w: Array | None = None,
    primal: PrimalPoint = "best",
    carried: Array | None = None,
    abar: Array | None = None,
    enough: Callable[[Certificate], bool] = lambda certificate: False,
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

    Raises
    ------
    LawError
        If P < D beyond rounding, which no convex loss with its true conjugate allows.
    """
    if primal not in ("best", "own", "conjugate"):
        raise ValueError(f'primal must be "best", "own" or "conjugate", got {primal!r}.')
    if primal == "own" and w is None:
        raise ValueError('primal="own" certifies w, so w must be given.')
    duals = checks.finite_array("duals", duals, problem.data.dual_shape)
    if w is not None:
        w = checks.finite_array("w", w, (problem.data.d,))
    intercept = problem.intercept
    if abar is None or not intercept.repairs_duals:
        abar = problem.abar(duals)

    def predicted(point: Array) -> tuple[Array, Array]:
        return problem.completed(point.copy(), carried)

    name: Point = "own"
    if w is None or primal == "conjugate":
        name, w = "conjugate", problem.conjugate_point(abar)
    first = predicted(w)
    duals = intercept.repaired(problem.losses, duals, first[1])  # a copy; the method keeps its own
    if intercept.repairs_duals:
        abar = problem.abar(duals)
    conjugate = problem.regularizer_conjugate(abar)

    def at(name: Point, point: Array, predictions: Array) -> Certificate:
        terms = problem.losses.fenchel_young(predictions, duals)
        value = problem.regularizer_value(point)
        rounding = intercept.rounding(duals, abar, terms.size, point)
        return Certificate(
            primal_value=terms.loss + problem.lam * value,
            dual_value=-problem.lam * conjugate - terms.conjugate - rounding,
            regularizer_gap=problem.lam * (value + conjugate - float(point @ abar)),
            example_gaps=terms.gaps,
            point=name,
            w=point,
            abar=abar,
            duals=duals,
        )

    best = at(name, *first)
    if name == "own" and primal == "best" and not enough(best):
        other = at("conjugate", *predicted(problem.conjugate_point(abar)))
        best = min(best, other, key=lambda certificate: certificate.primal_value)
    if best.gap < -1e-9 * (abs(best.primal_value) + abs(best.dual_value)):
        raise LawError(
            f"P = {best.primal_value:.6g} is below D = {best.dual_value:.6g}, which weak duality "
            "forbids: a value or conjugate is wrong. Run check_loss and check_regularizer on yours."
        )
    return best
