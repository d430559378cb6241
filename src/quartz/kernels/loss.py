"""The functions of a loss and a regularizer that kernels call: placeholders for one example.

Uncompiled they call the object itself, so that a function written with them runs both ways. What
they take and give is a number for a scalar loss, and an array for one over classes.
"""

from quartz.kernels.placeholder import Opaque, placeholder


@placeholder
def loss_value(loss: Opaque, a: Opaque, y: Opaque) -> float:
    """phi(a)."""
    return float(loss.value(a, y))


@placeholder
def loss_gradient(loss: Opaque, a: Opaque, y: Opaque) -> Opaque:
    """Grad phi(a)."""
    return loss.gradient(a, y)


@placeholder
def loss_curvature(loss: Opaque, a: float, y: float) -> float:
    """phi''(a)."""
    return float(loss.curvature(a, y))


@placeholder
def loss_conjugate(loss: Opaque, u: Opaque, y: Opaque) -> float:
    """phi*(u)."""
    return float(loss.conjugate(u, y))


@placeholder
def loss_step(loss: Opaque, alpha: Opaque, a: Opaque, y: Opaque, q: float) -> Opaque:
    """The dual variable after Option I."""
    return loss.step(alpha, a, y, q)


@placeholder
def conjugate_gradient(g: Opaque, u: Opaque) -> Opaque:
    """Grad g*(u), of a coordinate of a separable g, else of the vector."""
    return g.conjugate_gradient(u)
