"""The dual update of one example under Options I and II, with and without weights.

Dual variable and prediction are numbers, or arrays if there are several outputs.
"""

import numpy as np

from quartz.arrays import Array, Floats
from quartz.kernels.loss import loss_gradient, loss_step
from quartz.kernels.placeholder import NumberOrArray, Opaque, Parts, placeholder


@placeholder
def update(
    loss: Opaque,
    alpha: NumberOrArray,
    a: NumberOrArray,
    y: Floats,
    weight: float,
    q: float,
    theta: float,
    p: float,
) -> NumberOrArray:
    """Placeholder: the new dual variable, where q = v_i / (lam n)."""
    raise NotImplementedError


update_one = update


def update_parts(option: int, weighted: bool, componentwise: bool) -> Parts:
    """Return the functions that replace `update` and `update_one`.

    With `componentwise`, a scalar loss is applied to each of several outputs.
    """
    option_1 = _option_1_weighted if weighted else _option_1
    one = option_1 if option == 1 else _option_2
    return {"update": _each_output, "update_one": one} if componentwise else {"update": one}


def _option_1(
    loss: Opaque,
    alpha: NumberOrArray,
    a: NumberOrArray,
    y: Floats,
    weight: float,
    q: float,
    theta: float,
    p: float,
) -> NumberOrArray:
    return loss_step(loss, alpha, a, y, q)


def _option_1_weighted(
    loss: Opaque,
    alpha: NumberOrArray,
    a: NumberOrArray,
    y: Floats,
    weight: float,
    q: float,
    theta: float,
    p: float,
) -> NumberOrArray:
    if weight == 0.0:
        return 0.0 * alpha
    return weight * loss_step(loss, alpha / weight, a, y, q * weight)


def _option_2(
    loss: Opaque,
    alpha: NumberOrArray,
    a: NumberOrArray,
    y: Floats,
    weight: float,
    q: float,
    theta: float,
    p: float,
) -> NumberOrArray:
    return alpha - theta / p * (alpha + weight * loss_gradient(loss, a, y))


def _each_output(
    loss: Opaque,
    alpha: Array,
    a: Array,
    y: Array,
    weight: float,
    q: float,
    theta: float,
    p: float,
) -> Array:
    new = np.empty_like(alpha)
    for k in range(alpha.size):
        new[k] = update_one(loss, alpha[k], a[k], y[k], weight, q, theta, p)
    return new
