"""The functions of a loss and a regularizer that kernels call: placeholders for one example.

Uncompiled they call the methods of the object, so that a function written with them also runs
without Numba. Arguments and results are numbers for a scalar loss, and arrays for a loss over
classes.
"""

from typing import Any

from quartz.arrays import Floats
from quartz.kernels.placeholder import NumberOrArray, placeholder


@placeholder
def loss_value(loss: Any, a: Floats, y: Floats) -> float:
    """phi(a)."""
    return float(loss.value(a, y))


@placeholder
def loss_gradient(loss: Any, a: NumberOrArray, y: Floats) -> NumberOrArray:
    """Grad phi(a)."""
    return loss.gradient(a, y)


@placeholder
def loss_curvature(loss: Any, a: float, y: float) -> float:
    """phi''(a)."""
    return float(loss.curvature(a, y))


@placeholder
def loss_conjugate(loss: Any, u: Floats, y: Floats) -> float:
    """phi*(u)."""
    return float(loss.conjugate(u, y))


@placeholder
def loss_step(
    loss: Any, alpha: NumberOrArray, a: NumberOrArray, y: Floats, q: float
) -> NumberOrArray:
    """The dual variable after Option I."""
    return loss.step(alpha, a, y, q)


@placeholder
def conjugate_gradient(g: Any, u: NumberOrArray) -> NumberOrArray:
    """Grad g*(u), of one coordinate if g is separable, otherwise of the whole vector."""
    return g.conjugate_gradient(u)
