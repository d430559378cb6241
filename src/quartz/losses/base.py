"""What a loss must give.

A loss is a NamedTuple of parameters with plain functions of *one* example: its prediction
a = A_i' w (a scalar, or a vector of length m for a loss with `vector`), its target y, and its dual
variable. It never sees the data.

Required
    value(a, y)           phi(a)
    gradient(a, y)        grad phi(a), or a subgradient where gamma = 0
    conjugate(u, y)       phi*(u) = sup_a <u, a> - phi(a), infinite outside its domain
    gamma                 phi is (1/gamma)-smooth [ass:loss]; 0 for a loss that is not smooth
Optional
    step(alpha, a, y, q)  the dual variable after Option I of Algorithm 1 (see `LossWithStep`)
    quick_step(...)       the same less accurately, where that is faster; for the practical mode
    curvature(a, y)       phi''(a) of a scalar loss, at a kink from either side; for Newton steps
    targets               "real" (default), "sign" (-1 or +1) or "class" (0, ..., m - 1)
    vector                True if phi couples the m outputs (default False)
    simplex               True if the dual variables of a loss over classes are e_y - p with p in
                          the unit simplex, all of it; for free intercepts
    validate()            raises ValueError on bad parameters

`value`, `gradient`, `conjugate` and `curvature` of a scalar loss must also work elementwise on
arrays, as NumPy formulas do. With m > 1 outputs a scalar loss is applied to each output and summed:
that is the multitask loss, with the same gamma.

The functions may use NumPy, `self`'s fields and functions of their own module, but not call one
another through `self`: so written, they can be compiled as they stand.
"""

from typing import Any, Protocol

import numpy as np

from quartz.arrays import Floats


class Loss(Protocol):
    """The required part of a loss; the module docstring lists the optional one."""

    @property
    def gamma(self) -> float:
        """phi is (1/gamma)-smooth."""
        ...

    def value(self, a: Floats, y: Floats) -> Floats:
        """phi(a)."""
        ...

    def gradient(self, a: Floats, y: Floats) -> Floats:
        """grad phi(a)."""
        ...

    def conjugate(self, u: Floats, y: Floats) -> Floats:
        """phi*(u)."""
        ...


class LossWithStep(Loss, Protocol):
    """A loss that can do Option I."""

    def step(self, alpha: Floats, a: Floats, y: Floats, q: float) -> Floats:
        """Return the new dual variable alpha + Delta of Option I.

        Delta = argmax -phi*(-(alpha + Delta)) - <a, Delta> - (q / 2) ||Delta||^2 with
        a = A_i' grad g*(abar) and q = v_i / (lam n). Equivalently alpha + Delta = -grad phi(b) at
        b = prox_{q phi}(a - q alpha). The new value is returned, not Delta, so that it can lie on
        the boundary of the domain exactly.
        """
        ...


def target_kind(loss: Loss) -> str:
    """Return "real", "sign" or "class"."""
    return str(getattr(loss, "targets", "real"))


def is_vector(loss: Loss) -> bool:
    """Tell whether phi couples the m outputs of an example."""
    return bool(getattr(loss, "vector", False))


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
