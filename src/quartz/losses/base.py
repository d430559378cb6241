"""What a loss must give, and what it may.

A loss is a NamedTuple of parameters with plain functions of *one* example: its prediction
a = A_i' w (a scalar, or a vector of length m for a loss with `vector`), its target y, and its dual
variable. It never sees the data.

Required
    value(a, y)           phi(a)
    gradient(a, y)        grad phi(a), or a subgradient where gamma = 0
    conjugate(u, y)       phi*(u) = sup_a <u, a> - phi(a), infinite outside its domain
    gamma                 phi is (1/gamma)-smooth [ass:loss]; 0 for a loss that is not smooth
Optional
    step(alpha, a, y, q)  the dual variable after Option I of Algorithm 1 (see `LossWithStep`); a
                          scalar loss without it gets a numeric one (:mod:`quartz.losses.numeric`)
    quick_step(...)       the same less accurately, where that is faster; for permuted epochs
    curvature(a, y)       phi''(a) of a scalar loss, at a kink from either side; for Newton steps
    quadratic             True if phi'' is constant: then one Newton step solves the problem
    targets               "real" (default), "sign" (-1 or +1) or "class" (0, ..., m - 1)
    vector                True if phi couples the m outputs (default False)
    simplex               True if the dual variables of a loss over classes are e_y - p with p in
                          the unit simplex, all of it; for free intercepts
    probabilities(a)      for many predictions, the probability of y = +1, or with `vector` those of
                          all classes in the last axis; for `predict_proba`
    validate()            raises ValueError on bad parameters

`value`, `gradient`, `conjugate` and `curvature` of a scalar loss must also work elementwise on
arrays, as NumPy formulas do. With m > 1 outputs a scalar loss is applied to each output and summed:
that is the multitask loss, with the same gamma.

The functions may use NumPy, `self`'s fields and functions of their own module, but not call one
another through `self`: so written, they can be compiled as they stand.

:func:`abilities` is the only place that looks which of the optional parts a loss has.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from quartz.arrays import Array, Floats
from quartz.losses.numeric import numeric_step

Targets = Literal["real", "sign", "class"]


class Loss(Protocol):
    """The required part of a loss; the module docstring lists the optional one."""

    @property
    def gamma(self) -> float:
        """phi is (1/gamma)-smooth."""
        ...

    def value(self, a: Any, y: Any) -> Floats:
        """phi(a)."""
        ...

    def gradient(self, a: Any, y: Any) -> Floats:
        """grad phi(a)."""
        ...

    def conjugate(self, u: Any, y: Any) -> Floats:
        """phi*(u)."""
        ...


class LossWithStep(Loss, Protocol):
    """A loss that can do Option I."""

    def step(self, alpha: Any, a: Any, y: Any, q: float) -> Floats:
        """Return the new dual variable alpha + Delta of Option I.

        Delta = argmax -phi*(-(alpha + Delta)) - <a, Delta> - (q / 2) ||Delta||^2 with
        a = A_i' grad g*(abar) and q = v_i / (lam n). Equivalently alpha + Delta = -grad phi(b) at
        b = prox_{q phi}(a - q alpha). The new value is returned, not Delta, so that it can lie on
        the boundary of the domain exactly.
        """
        ...


Step = Callable[[Any, Any, Any, Any, float], Floats]


@dataclass(frozen=True)
class Abilities:
    """What a loss can do; the functions are those of its class, as kernels take them.

    Attributes
    ----------
    smooth : bool
        Whether gamma > 0.
    step, quick_step : function or None
        Option I, called as ``step(loss, alpha, a, y, q)``; None for a vector loss without one.
    numeric : bool
        Whether the step is the numeric one.
    curvature : function or None
        Called as ``curvature(loss, a, y)``.
    probabilities : function or None
        Called with predictions.
    quadratic, targets, vector, simplex
        As in the module docstring.
    """

    smooth: bool
    step: Step | None
    quick_step: Step | None
    numeric: bool
    curvature: Callable[[Any, Any, Any], Floats] | None
    probabilities: Callable[[Array], Array] | None
    quadratic: bool
    targets: Targets
    vector: bool
    simplex: bool


def abilities(loss: Any) -> Abilities:
    """Look which optional parts a loss has."""
    kind = type(loss)
    vector = bool(getattr(loss, "vector", False))
    own = getattr(kind, "step", None)
    step = own if own is not None or vector else numeric_step
    return Abilities(
        smooth=loss.gamma > 0,
        step=step,
        quick_step=getattr(kind, "quick_step", step),
        numeric=step is numeric_step,
        curvature=getattr(kind, "curvature", None),
        probabilities=getattr(loss, "probabilities", None),
        quadratic=bool(getattr(loss, "quadratic", False)),
        targets=getattr(loss, "targets", "real"),
        vector=vector,
        simplex=bool(getattr(loss, "simplex", False)),
    )


def validate(loss: Any) -> None:
    """Raise ValueError if `loss` lacks a part or has bad parameters."""
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
