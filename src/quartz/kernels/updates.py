"""The dual update of one example under Options I and II, with and without weights."""

from typing import Any

import numpy as np

from quartz.arrays import Floats
from quartz.kernels.placeholder import placeholder


def update_parts(option: int, weighted: bool, componentwise: bool) -> dict[str, Any]:
    """Return what `update` stands for.

    `componentwise` is for a scalar loss with several outputs.
    """
    if option == 2:
        one: Any = _option_2
    else:
        one = _option_1_weighted if weighted else _option_1
    return {"update": _each_output, "update_one": one} if componentwise else {"update": one}


@placeholder
def loss_step(loss: Any, alpha: Floats, a: Floats, y: Floats, q: float) -> Floats:
    """Placeholder: the loss's step."""
    raise NotImplementedError


@placeholder
def loss_gradient(loss: Any, a: Floats, y: Floats) -> Floats:
    """Placeholder: the loss's gradient."""
    raise NotImplementedError


@placeholder
def update(
    loss: Any, alpha: Floats, a: Floats, y: Floats, weight: float, q: float, theta: float, p: float
) -> Floats:
    """Placeholder: the new dual variable, q being v_i / (lam n)."""
    raise NotImplementedError


update_one = update


def _option_1(
    loss: Any, alpha: Floats, a: Floats, y: Floats, weight: float, q: float, theta: float, p: float
) -> Floats:
    return loss_step(loss, alpha, a, y, q)


def _option_1_weighted(
    loss: Any, alpha: Floats, a: Floats, y: Floats, weight: float, q: float, theta: float, p: float
) -> Floats:
    if weight == 0.0:
        return 0.0 * alpha
    return weight * loss_step(loss, alpha / weight, a, y, q * weight)


def _option_2(
    loss: Any, alpha: Floats, a: Floats, y: Floats, weight: float, q: float, theta: float, p: float
) -> Floats:
    return alpha - theta / p * (alpha + weight * loss_gradient(loss, a, y))


def _each_output(
    loss: Any, alpha: Floats, a: Floats, y: Floats, weight: float, q: float, theta: float, p: float
) -> Floats:
    new = np.empty_like(alpha)
    for k in range(alpha.size):
        new[k] = update_one(loss, alpha[k], a[k], y[k], weight, q, theta, p)
    return new
