"""What a loss must provide, and what it may provide.

A loss is a NamedTuple of parameters with plain functions of *one* example: its prediction
a = A_i' w (a scalar, or a vector of length m for a loss with `vector`), its target y, and its dual
variable. It never sees the data.

Required
    value(a, y)           phi(a)
    gradient(a, y)        grad phi(a); a subgradient if gamma = 0
    conjugate(u, y)       phi*(u) = sup_a <u, a> - phi(a), infinite outside its domain
    gamma                 phi is (1/gamma)-smooth [ass:loss]; 0 for a loss that is not smooth
Optional
    step(alpha, a, y, q)  the dual variable after Option I of Algorithm 1, see below; a scalar loss
                          without it gets a numeric one (:mod:`quartz.losses.numeric`)
    quick_step(...)       the same, less accurate but faster; for permuted epochs
    curvature(a, y)       phi''(a) of a scalar loss, at a kink that of either side; for Newton steps
    slopes(a, y)          the pair of `gradient` and `curvature`, where they share their work
    values, gradients, conjugates
                          the same as `value`, `gradient`, `conjugate` of a loss with `vector`, for
                          arrays of several examples, (n, m) and (n,): much faster by NumPy
    mean_hessian(a, s)    for a loss with `values`, the mean of s_i times its Hessian over several
                          examples, (m, m); for quasi-Newton steps
    transcendental        True if the formulas have exp or log, which NumPy evaluates faster on an
                          array than a compiled loop does one by one
    covariance            True if the Hessian of a loss with `simplex` is diag(p) - p p', where its
                          gradient is p - e_y; for Newton steps
    smoothed(gamma)       for a scalar loss that is not smooth, its Moreau envelope, the loss whose
                          conjugate is phi* + gamma ||.||^2 / 2; for Newton steps
    quadratic             True if phi'' is constant: then one Newton step solves the problem
    lowest                inf phi, if it is the same for all targets; else it is computed
    targets               "real" (default), "sign" (-1 or +1) or "class" (0, ..., m - 1)
    vector                True if phi couples the m outputs (default False)
    simplex               True if the feasible dual variables of a loss over classes are e_y - p for
                          all p in the unit simplex; for free intercepts
    probabilities(a)      for an array of predictions, the probability of y = +1, or with `vector`
                          those of all classes along the last axis; for `predict_proba`
    validate()            raises ValueError on bad parameters

`value`, `gradient`, `conjugate` and `curvature` of a scalar loss must also work elementwise on
arrays, as NumPy formulas do. With m > 1 outputs a scalar loss is applied to each output and summed:
that is the multitask loss, with the same gamma.

`step` returns alpha + Delta, where Delta maximizes

    -phi*(-(alpha + Delta)) - <a, Delta> - (q / 2) ||Delta||^2,   q = v_i / (lam n),

a = A_i' grad g*(abar). Equivalently alpha + Delta = -grad phi(b) at b = prox_{q phi}(a - q alpha).
The new value is returned, not Delta, so that it can lie exactly on the boundary of the domain.

Certificates rely on this accuracy, with e = 2^-53 and C = 16, for all floats unless the result
overflows or is below 1e-300:

    value       phi(a) (1 + d) with |d| <= C e; with `vector` phi(a') (1 + d), where
                |a'_k - a_k| <= C e |a_k| for each output k
    conjugate   off by at most C e (|phi*(u)| + gamma ||u||^2)
    gradient    off by at most C e (||grad phi(a)|| + ||a|| / gamma); minus it is in the domain
    step        in the domain

The domain is that of the conjugate and exact: at every float outside it the conjugate is infinite.
Only the sum of a dual variable over classes, which is 0, may be off by rounding.

A loss is a tuple, so that losses of different classes with equal fields compare equal: ask for
their type where that matters.

The functions may use NumPy, the fields of `self` and functions of their own module, but not call
one another through `self`: then they can be compiled as they are.

:func:`abilities` is the only place that finds out which of the optional parts a loss has.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

from quartz.arrays import Array, Floats
from quartz.losses.numeric import numeric_step

Targets = Literal["real", "sign", "class"]

Prediction: TypeAlias = Any
"""A prediction, a dual variable or a gradient of one example, in float64.

A number for a scalar loss, which also takes arrays elementwise; an array of shape (m,) for a loss
with `vector`. No type is accepted by the functions of both kinds, hence Any.
"""

Target: TypeAlias = Any
"""The target of one example: a float for "sign", an int for "class", and for "real" a float or,
with `vector`, an array of shape (m,). A scalar loss also takes arrays elementwise."""


class Loss(Protocol):
    """The required parts of a loss; the module docstring lists the optional ones."""

    @property
    def gamma(self) -> float:
        """phi is (1/gamma)-smooth."""
        ...

    def value(self, a: Prediction, y: Target) -> Floats:
        """phi(a)."""
        ...

    def gradient(self, a: Prediction, y: Target) -> Floats:
        """grad phi(a)."""
        ...

    def conjugate(self, u: Prediction, y: Target) -> Floats:
        """phi*(u)."""
        ...


Step: TypeAlias = Callable[[Loss, Prediction, Prediction, Target, float], Floats]
"""Option I as kernels need it: a function of the class, called as step(loss, alpha, a, y, q)."""


@dataclass(frozen=True)
class Abilities:
    """Which optional parts a loss has.

    Attributes
    ----------
    smooth : bool
        Whether gamma > 0.
    step, quick_step : function or None
        Option I, called as ``step(loss, alpha, a, y, q)``; None for a vector loss without one.
    step_iterates : bool
        Whether a step takes several evaluations: the numeric one, or one with a `quick_step`.
    curvature : function or None
        Called as ``curvature(loss, a, y)``.
    mean_hessian : function or None
        Called as ``mean_hessian(a, s)``.
    plural : bool
        Whether a loss with `vector` has `values`, `gradients` and `conjugates`.
    slopes : function or None
        The pair of gradient and curvature, called as ``slopes(loss, a, y)``.
    smoothed : function or None
        Called as ``smoothed(gamma)``.
    lowest : float or None
        inf phi.
    probabilities : function or None
        Called as ``probabilities(a)`` with the predictions of all examples.
    transcendental, quadratic, targets, vector, simplex, covariance
        As in the module docstring.
    """

    smooth: bool
    step: Step | None
    quick_step: Step | None
    step_iterates: bool
    curvature: Callable[[Loss, Floats, Floats], Floats] | None
    slopes: Callable[[Loss, Floats, Floats], tuple[Floats, Floats]] | None
    mean_hessian: Callable[[Array, Array], Array] | None
    plural: bool
    transcendental: bool
    smoothed: "Callable[[float], Loss] | None"
    lowest: float | None
    probabilities: Callable[[Array], Array] | None
    quadratic: bool
    targets: Targets
    vector: bool
    simplex: bool
    covariance: bool


PLURALS = ("values", "gradients", "conjugates")


def abilities(loss: Loss) -> Abilities:
    """Find out which optional parts a loss has."""
    kind = type(loss)
    vector = bool(getattr(loss, "vector", False))
    own = getattr(kind, "step", None)
    step = own if own is not None or vector else numeric_step
    return Abilities(
        smooth=loss.gamma > 0,
        step=step,
        quick_step=getattr(kind, "quick_step", step),
        step_iterates=step is numeric_step or hasattr(kind, "quick_step"),
        curvature=getattr(kind, "curvature", None),
        slopes=getattr(kind, "slopes", None),
        mean_hessian=getattr(loss, "mean_hessian", None),
        plural=vector and all(hasattr(kind, name) for name in PLURALS),
        transcendental=bool(getattr(loss, "transcendental", False)),
        smoothed=getattr(loss, "smoothed", None),
        lowest=getattr(loss, "lowest", None),
        probabilities=getattr(loss, "probabilities", None),
        quadratic=bool(getattr(loss, "quadratic", False)),
        targets=getattr(loss, "targets", "real"),
        vector=vector,
        simplex=bool(getattr(loss, "simplex", False)),
        covariance=bool(getattr(loss, "covariance", False)),
    )


def validate(loss: Loss) -> None:
    """Raise ValueError if `loss` lacks a required part or has bad parameters."""
    for part in ("value", "gradient", "conjugate", "gamma"):
        if not hasattr(loss, part) or isinstance(loss, type):
            raise ValueError(
                f"The loss {loss!r} has no {part} of its own. A loss is an instance such as "
                "Logistic(), with value, gradient, conjugate and gamma; see quartz.losses.base."
            )
    if hasattr(loss, "validate"):
        loss.validate()
    if not 0 <= loss.gamma < np.inf:
        raise ValueError(f"gamma of {loss!r} must be finite and not negative, got {loss.gamma!r}.")
