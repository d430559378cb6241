"""What a regularizer must give.

A regularizer is a NamedTuple of parameters with plain functions; g must be 1-strongly convex
[ass:reg], so that g* is finite and smooth everywhere.

Required
    value(w)               g(w), infinite outside its domain
    conjugate(u)           g*(u) = sup_w <u, w> - g(w)
    conjugate_gradient(u)  grad g*(u), the maximizing w
Optional
    separable              True if g is a sum over coordinates (default False)
    weakened(t)            for 0 < t <= 1 the regularizer t h + ||.||^2 / 2, where
                           g = h + ||.||^2 / 2; acceleration needs it
    validate()             raises ValueError on bad parameters

The functions of a separable g act on one coordinate, and elementwise on a vector: the caller sums.
Those of any other g take the whole vector, and value and conjugate return a number.
"""

from typing import Any, Protocol

import numpy as np

from quartz.arrays import Floats


class Regularizer(Protocol):
    """The required part of a regularizer; the module docstring lists the optional one."""

    def value(self, w: Floats) -> Floats:
        """g(w)."""
        ...

    def conjugate(self, u: Floats) -> Floats:
        """g*(u)."""
        ...

    def conjugate_gradient(self, u: Floats) -> Floats:
        """Grad g*(u)."""
        ...


def is_separable(regularizer: Regularizer) -> bool:
    """Tell whether g is a sum over coordinates."""
    return bool(getattr(regularizer, "separable", False))


def weakened(regularizer: Any, t: float) -> Regularizer:
    """Return t h + ||.||^2 / 2, where g = h + ||.||^2 / 2."""
    if not hasattr(regularizer, "weakened"):
        raise ValueError(
            f"Acceleration needs {type(regularizer).__name__}.weakened, which it lacks. Write it "
            '(see quartz.regularizers.base), or use acceleration="off".'
        )
    weaker: Regularizer = regularizer.weakened(t)
    return weaker


def validate(regularizer: Any) -> None:
    """Raise ValueError if `regularizer` lacks a part or has bad parameters."""
    for part in ("value", "conjugate", "conjugate_gradient"):
        if not hasattr(regularizer, part) or isinstance(regularizer, type):
            raise ValueError(
                f"The regularizer {regularizer!r} has no {part} of its own. A regularizer is an "
                "instance such as L2(), with value, conjugate and conjugate_gradient; see "
                "quartz.regularizers.base."
            )
    if hasattr(regularizer, "validate"):
        regularizer.validate()


def value(regularizer: Regularizer, w: Floats) -> float:
    """g(w)."""
    return float(np.sum(regularizer.value(w)))


def conjugate(regularizer: Regularizer, u: Floats) -> float:
    """g*(u)."""
    return float(np.sum(regularizer.conjugate(u)))
