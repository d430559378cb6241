"""What a regularizer must provide, and what it may provide.

A regularizer is a NamedTuple of parameters with plain functions; g must be 1-strongly convex
[ass:reg], so that g* is finite and smooth everywhere.

Required
    value(w)               g(w), infinite outside its domain
    conjugate(u)           g*(u) = sup_w <u, w> - g(w)
    conjugate_gradient(u)  grad g*(u), the maximizing w
Optional
    separable              True if g is a sum of the same function of each coordinate (default
                           False); any other g costs O(d) a step
    quadratic              True if g = ||.||^2 / 2 (default False); for Newton steps and centred
                           rows
    weakened(t)            for 0 < t <= 1 the regularizer t h + ||.||^2 / 2, where
                           g = h + ||.||^2 / 2; acceleration needs it
    conjugate_curvature(u) for a separable, piecewise quadratic g, where grad g* moves with u: its
                           slope, 1 or 0; for Newton steps. `weakened` must then take a t for each
                           coordinate, too
    length                 the length of w, if the parameters of g fix it (default None)
    vanishes_at(slope)     the least lam for which w = 0 is optimal, where `slope` is the gradient
                           of the mean loss at w = 0; paths begin there
    nearest(w)             the nearest point of g's domain, if that is not everything; rounding may
                           put the averaged w of Algorithm 1 outside
    validate()             raises ValueError on bad parameters

The functions of a separable g act on one coordinate, and elementwise on a vector; the caller sums.
Those of any other g take the whole vector, and `value` and `conjugate` return a number.

Certificates rely on this accuracy, with e = 2^-53 and C = 16, for all floats unless the result
overflows or is below 1e-300: each term of `value` is off by a factor of at most 1 + C e, and each
term of `conjugate` is the one at a u' with ||u' - u|| <= C e ||u||, up to such a factor. For a g
that is not separable d + C takes the place of C. The domain is exact: `value` is infinite at
every float outside it, and `conjugate_gradient` lies inside it.

:func:`abilities` is the only place that finds out which of the optional parts a regularizer has.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from quartz.arrays import Array, Floats, quietly


class Regularizer(Protocol):
    """The required parts of a regularizer; the module docstring lists the optional ones."""

    def value(self, w: Array) -> Floats:
        """g(w); for a separable g the terms of all coordinates."""
        ...

    def conjugate(self, u: Array) -> Floats:
        """g*(u); for a separable g the terms of all coordinates."""
        ...

    def conjugate_gradient(self, u: Array) -> Floats:
        """Grad g*(u), an array of the shape of u."""
        ...


@dataclass(frozen=True)
class Abilities:
    """Which optional parts a regularizer has; see the module docstring."""

    separable: bool
    quadratic: bool
    weakened: Callable[[float], Regularizer] | None
    conjugate_curvature: Callable[[Array], Floats] | None
    length: int | None
    vanishes_at: Callable[[Array], float] | None
    nearest: Callable[[Array], Array] | None


def abilities(regularizer: Regularizer) -> Abilities:
    """Find out which optional parts a regularizer has."""
    return Abilities(
        separable=bool(getattr(regularizer, "separable", False)),
        quadratic=bool(getattr(regularizer, "quadratic", False)),
        weakened=getattr(regularizer, "weakened", None),
        conjugate_curvature=getattr(regularizer, "conjugate_curvature", None),
        length=getattr(regularizer, "length", None),
        vanishes_at=getattr(regularizer, "vanishes_at", None),
        nearest=getattr(regularizer, "nearest", None),
    )


def weakened(regularizer: Regularizer, t: float) -> Regularizer:
    """Return t h + ||.||^2 / 2, where g = h + ||.||^2 / 2."""
    function = abilities(regularizer).weakened
    if function is None:
        raise ValueError(
            f"Acceleration needs {type(regularizer).__name__}.weakened, which it lacks. Write it "
            "(see quartz.regularizers.base), or use a method without acceleration."
        )
    return function(t)


def validate(regularizer: Regularizer) -> None:
    """Raise ValueError if `regularizer` lacks a required part or has bad parameters."""
    for part in ("value", "conjugate", "conjugate_gradient"):
        if not hasattr(regularizer, part) or isinstance(regularizer, type):
            raise ValueError(
                f"The regularizer {regularizer!r} has no {part} of its own. A regularizer is an "
                "instance such as L2(), with value, conjugate and conjugate_gradient; see "
                "quartz.regularizers.base."
            )
    if hasattr(regularizer, "validate"):
        regularizer.validate()


@quietly
def value(regularizer: Regularizer, w: Array) -> float:
    """g(w) as a number, also for a separable g."""
    return float(np.sum(regularizer.value(w)))


@quietly
def conjugate(regularizer: Regularizer, u: Array) -> float:
    """g*(u) as a number, also for a separable g."""
    return float(np.sum(regularizer.conjugate(u)))
