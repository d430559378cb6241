"""The certificate: a duality gap recomputed from scratch, in its Fenchel-Young parts.

    P(w) - D(alpha) =  lam (g(w) + g*(abar) - <w, abar>)                                GAP_g
                     + 1/n sum_i (phi_i(A_i'w) + phi_i*(-alpha_i) + <A_i'w, alpha_i>)   GAP_phi_i

Both parts are nonnegative (the paper's Fenchel duality interpretation, section 2), so the gap
bounds how far w is from the optimum of [eq:primal] and alpha from that of [eq:dual].
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from quartz import checks
from quartz.arrays import Array, Floats
from quartz.feasible import repaired
from quartz.intercept import rounding
from quartz.laws import LawError
from quartz.problem import Problem
from quartz.regularizers import base as regularizers

PrimalPoint = Literal["quartz", "conjugate", "best"]


@dataclass(frozen=True)
class Certificate:
    """What is known for certain about a primal-dual pair.

    Attributes
    ----------
    primal, dual : float
        P(w) and D(alpha); the optimum lies between them.
    regularizer_gap : float
        lam (g(w) + g*(abar) - <w, abar>).
    example_gaps : ndarray of shape (n,)
        Fenchel-Young gap of every example; their mean is the losses' part of the gap.
    point : {"quartz", "conjugate"}
        Which w was certified: the averaged one of Algorithm 1, or z = grad g*(abar).
    w : ndarray of shape (d,)
        That point.
    abar : ndarray of shape (d,)
        1/(lam n) sum_i A_i alpha_i, from scratch.
    alpha : ndarray
        The dual point; with a free intercept, duals near the given ones that sum to 0.
    """

    primal: float
    dual: float
    regularizer_gap: float
    example_gaps: Array
    point: Literal["quartz", "conjugate"]
    w: Array
    abar: Array
    alpha: Array

    @property
    def gap(self) -> float:
        """P(w) - D(alpha), never cut off at zero: rounding may show."""
        return self.primal - self.dual

    @property
    def relative_gap(self) -> float:
        """Gap / |P(w)|; infinite if P(w) = 0 and the gap is not."""
        if self.primal == 0:
            return 0.0 if self.gap == 0 else np.inf
        return self.gap / abs(self.primal)

    @property
    def loss_gap(self) -> float:
        """Mean of the examples' gaps."""
        return float(np.mean(self.example_gaps))

    def __str__(self) -> str:
        return (
            f"certificate: P = {self.primal:.9g}, D = {self.dual + 0.0:.9g}\n"
            f"  gap {self.gap:.3e} (relative {self.relative_gap:.3e}) = "
            f"regularizer {self.regularizer_gap:.3e} + losses {self.loss_gap:.3e}\n"
            f"  primal point: {self.point}"
        )


def certify(
    problem: Problem,
    alpha: Array,
    w: Array | None = None,
    primal: PrimalPoint = "best",
    multiplier: Floats | None = None,
    abar: Array | None = None,
    enough: float = -np.inf,
) -> Certificate:
    """Certify the dual point `alpha` with a primal point.

    Parameters
    ----------
    problem : Problem
    alpha : ndarray
        Dual point; its abar is computed from scratch.
    w : ndarray of shape (d,), optional
        The averaged primal point of Algorithm 1, if there is one.
    primal : {"best", "quartz", "conjugate"}
        Certify `w`, z = grad g*(abar), or the one of the two with the smaller P (see `enough`).
    multiplier : float or ndarray of shape (m,), optional
        Where the search for the best free intercept begins, that of centred rows.
    abar : ndarray of shape (d,), optional
        Roughly that of `alpha`. With a free intercept z is taken from it, which saves a pass: the
        duals are yet to be repaired.
    enough : float
        A relative gap that is small enough: if `w` has it, "best" does not look at z.

    Raises
    ------
    LawError
        If P < D beyond rounding, which no convex loss with its true conjugate allows.
    """
    if primal not in ("best", "quartz", "conjugate"):
        raise ValueError(f'primal must be "best", "quartz" or "conjugate", got {primal!r}.')
    if primal == "quartz" and w is None:
        raise ValueError('primal="quartz" certifies w, so w must be given.')
    alpha = checks.finite_array("alpha", alpha, problem.data.dual_shape)
    if w is not None:
        w = checks.finite_array("w", w, (problem.data.d,))
    free = problem.intercept == "free"
    if abar is None or not free:
        abar = problem.abar(alpha)

    def predicted(point: Array) -> tuple[Array, Array]:
        return problem.completed(point.copy(), multiplier)

    name: Literal["quartz", "conjugate"] = "quartz"
    if w is None or primal == "conjugate":
        name, w = "conjugate", problem.conjugate_point(abar)
    first = predicted(w)
    if free:
        alpha = repaired(problem, alpha, first[1])
        abar = problem.abar(alpha)
    else:
        alpha = alpha.copy()  # solvers go on with theirs
    reg_conjugate = regularizers.conjugate(problem.regularizer, abar)

    def at(name: Literal["quartz", "conjugate"], point: Array, predictions: Array) -> Certificate:
        terms = problem.fenchel_young(predictions, alpha)
        reg_value = regularizers.value(problem.regularizer, point)
        dual = -problem.lam * reg_conjugate - terms.conjugate
        return Certificate(
            primal=terms.loss + problem.lam * reg_value,
            dual=dual - rounding(problem, alpha, abar, terms.size, point),
            regularizer_gap=problem.lam * (reg_value + reg_conjugate - float(point @ abar)),
            example_gaps=terms.gaps,
            point=name,
            w=point,
            abar=abar,
            alpha=alpha,
        )

    best = at(name, *first)
    if name == "quartz" and primal == "best" and not best.relative_gap <= enough:
        other = at("conjugate", *predicted(problem.conjugate_point(abar)))
        best = min(best, other, key=lambda certificate: certificate.primal)
    if best.gap < -1e-9 * (abs(best.primal) + abs(best.dual)):
        raise LawError(
            f"P = {best.primal:.6g} is below D = {best.dual:.6g}, which weak duality forbids: a "
            "value or conjugate is wrong. Run check_loss and check_regularizer on yours."
        )
    return best
