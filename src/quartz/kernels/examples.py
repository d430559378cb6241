"""Functions of a loss over all examples, in one loop each without temporary vectors.

`weights` are the s_i of shape (n,), and None stands for s_i = 1. Inside the kernels an empty array
takes the place of None.
"""

from typing import Any

import numpy as np

from quartz.arrays import AnyArray, Array, Floats, IntArray
from quartz.kernels.compile import specialize
from quartz.kernels.error_free import two_sum
from quartz.kernels.loss import loss_conjugate, loss_curvature
from quartz.kernels.placeholder import Opaque, placeholder

# The search for the root of a sum of slopes
LEVEL = 1e-13  # a sum that counts as 0, relative to the sum of the terms' absolute values
MOST_STEPS = 500  # widenings of the bracket, and likewise divisions of it

LANES = 128  # sums that are kept side by side

_UNWEIGHTED = np.empty(0)


def evaluate(
    loss: Any, x: Array, y: AnyArray, weights: Array | None, out: Array, method: str
) -> Array:
    """out_i = s_i times the method of the loss with that name, at x_i."""
    kernel = specialize(_evaluate, {"loss_function": getattr(type(loss), method)})
    kernel(loss, np.ascontiguousarray(x), y, _UNWEIGHTED if weights is None else weights, out)
    return out


def conjugates(loss: Any, u: Array, y: AnyArray, weights: Array) -> Array:
    """(s_i phi_i)*(u_i) for every i."""
    out = np.empty(len(u))
    kernel = specialize(_conjugates, {"loss_function": type(loss).conjugate})
    kernel(loss, np.ascontiguousarray(u), y, weights, out)
    return out


def fenchel_young(
    loss: Any, a: Array, alpha: Array, y: AnyArray, weights: Array | None
) -> tuple[Array, float, float, float, float]:
    """The Fenchel-Young gaps of all examples, and four means over the examples.

    These are the means of the losses and of the conjugates, and those of their absolute values, the
    latter with gamma s_i (alpha_i / s_i)^2 added.
    """
    methods = {"loss_function": type(loss).value, "loss_conjugate": type(loss).conjugate}
    gaps = np.empty(len(a))
    weights = _UNWEIGHTED if weights is None else weights
    sums = specialize(_fenchel_young, methods)(loss, a, alpha, y, weights, float(loss.gamma), gaps)
    value, conjugate, value_size, conjugate_size = (float(total) / len(a) for total in sums)
    return gaps, value, conjugate, value_size, conjugate_size


def shifted_slope(
    loss: Any, a: Array, y: AnyArray, weights: Array | None, shift: float
) -> tuple[float, float, float]:
    """The sums of s_i phi_i', of its absolute value, and of s_i phi_i'', at a_i + shift."""
    methods = {"loss_function": type(loss).gradient, "loss_curvature": type(loss).curvature}
    weights = _UNWEIGHTED if weights is None else weights
    slope, size, bend = specialize(_slope_and_bend, methods)(loss, a, y, weights, shift)
    return float(slope), float(size), float(bend)


def shifted_root(loss: Any, a: Array, y: AnyArray, weights: Array | None, start: float) -> float:
    """The shift where the sum of s_i phi_i'(a_i + shift) changes its sign; nan if it never does."""
    kernel = specialize(_shifted_root, {"loss_function": type(loss).gradient})
    weights = _UNWEIGHTED if weights is None else weights
    return float(kernel(loss, a, y, weights, start, np.arange(a.size)))


def repair(
    loss: Any,
    alpha: Array,
    a: Array,
    y: AnyArray,
    weights: Array | None,
    ends: tuple[Array, Array],
    close: float,
) -> Array:
    """Dual variables near alpha that nearly sum to 0, as in `quartz.intercept.repair`, one output.

    `ends` are the lower and upper bounds of the dual variables.
    """
    out = np.empty(len(alpha))
    kernel = specialize(_repair, {"loss_function": type(loss).gradient})
    weights = _UNWEIGHTED if weights is None else weights
    kernel(loss, alpha, a, y, weights, *ends, close, float(alpha.sum()), out)
    return out


@placeholder
def loss_function(loss: Opaque, x: Floats, y: Floats) -> Any:
    """Placeholder: value, gradient or conjugate; a gradient is of the same kind as x."""
    raise NotImplementedError


def _evaluate(loss: Opaque, x: Array, y: AnyArray, weights: Array, out: Array) -> None:
    for i in range(out.shape[0]):
        s = weights[i] if weights.size else 1.0
        if s == 0.0:
            out[i] = 0.0
        else:
            out[i] = s * loss_function(loss, x[i], y[i])


def _conjugates(loss: Opaque, u: Array, y: AnyArray, weights: Array, out: Array) -> None:
    for i in range(out.shape[0]):
        if weights[i] > 0.0:
            out[i] = weights[i] * loss_function(loss, u[i] / weights[i], y[i])
        else:
            out[i] = np.inf if np.any(u[i] != 0.0) else 0.0


def _fenchel_young(
    loss: Opaque, a: Array, alpha: Array, y: AnyArray, weights: Array, bend: float, gaps: Array
) -> tuple[float, float, float, float]:
    """Sums for `fenchel_young`, in lanes that the processor adds at once.

    What rounding loses of the first two is summed separately.
    """
    values, conjugates, lost = np.zeros(LANES), np.zeros(LANES), np.zeros((2, LANES))
    sizes, new = np.zeros((2, LANES)), np.zeros((3, LANES))
    for start in range(0, gaps.size, LANES):
        width = min(LANES, gaps.size - start)
        for k in range(width):
            i = start + k
            s = weights[i] if weights.size else 1.0
            if s > 0.0:
                value = s * loss_function(loss, a[i], y[i])
                conjugate = s * loss_conjugate(loss, -alpha[i] / s, y[i])
                curved = bend * alpha[i] * (alpha[i] / s)
            else:
                value, conjugate, curved = 0.0, np.inf if alpha[i] != 0.0 else 0.0, 0.0
            gaps[i] = value + conjugate + a[i] * alpha[i]
            new[0, k], new[1, k], new[2, k] = value, conjugate, curved
        for k in range(width):
            values[k], rest = two_sum(values[k], new[0, k])
            lost[0, k] += rest
            conjugates[k], rest = two_sum(conjugates[k], new[1, k])
            lost[1, k] += rest
            sizes[0, k] += abs(new[0, k])
            sizes[1, k] += abs(new[1, k]) + new[2, k]
    return (
        _total(values, lost[0]),
        _total(conjugates, lost[1]),
        np.sum(sizes[0]),
        np.sum(sizes[1]),
    )


def _total(sums: Array, lost: Array) -> float:
    total, rest = 0.0, np.sum(lost)
    for k in range(len(sums)):
        total, more = two_sum(total, sums[k])
        rest += more
    return total + rest if np.isfinite(total) else total


def _slope_and_bend(
    loss: Opaque, a: Array, y: AnyArray, weights: Array, shift: float
) -> tuple[float, float, float]:
    slope = size = bend = 0.0
    for i in range(a.size):
        s = weights[i] if weights.size else 1.0
        if s == 0.0:
            continue
        gradient = s * loss_function(loss, a[i] + shift, y[i])
        slope += gradient
        size += abs(gradient)
        bend += s * loss_curvature(loss, a[i] + shift, y[i])
    return slope, size, bend


def _shifted_root(
    loss: Opaque, a: Array, y: AnyArray, weights: Array, start: float, bent: IntArray
) -> float:
    """Find a bracket of the root, and divide it in turn by its middle and by the secant.

    A term with equal slopes at both ends of the bracket is constant inside it. The sum of these
    terms is kept, and `bent` lists the examples of the others. For a loss with linear pieces only,
    all terms become constant in the end.
    """
    here, _ = _shifted_slope(loss, a, y, weights, start, bent)
    if here == 0.0:
        return start
    ends, slopes = _bracket(loss, a, y, weights, start, here, bent)
    low, high = ends
    below, above = slopes
    constant = 0.0
    for k in range(MOST_STEPS):
        middle = 0.5 * (low + high)
        if k % 2 and below < 0.0 < above:
            secant = low - below * ((high - low) / (above - below))
            middle = secant if low < secant < high else middle
        if not low < middle < high:
            break
        slope, size = _shifted_slope(loss, a, y, weights, middle, bent)
        slope += constant
        if abs(slope) <= LEVEL * size:
            return middle
        if slope < 0.0:
            low, below = middle, slope
        else:
            high, above = middle, slope
        count = 0
        for i in bent:
            left = loss_function(loss, a[i] + low, y[i])
            if left == loss_function(loss, a[i] + high, y[i]):
                constant += (weights[i] if weights.size else 1.0) * left
            else:
                bent[count] = i
                count += 1
        bent = bent[:count]
    return high


def _bracket(
    loss: Opaque,
    a: Array,
    y: AnyArray,
    weights: Array,
    start: float,
    here: float,
    examples: IntArray,
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Two shifts between which the sum of slopes changes its sign, and the sums at both.

    `here` is the sum at the start.
    """
    near, width = start, -1.0 if here > 0.0 else 1.0
    for _ in range(MOST_STEPS):
        far = start + width
        there, _ = _shifted_slope(loss, a, y, weights, far, examples)
        if (there > 0.0) != (here > 0.0):  # a product of the two may underflow
            if width > 0.0:
                return (near, far), (here, there)
            return (far, near), (there, here)
        near, here, width = far, there, 4.0 * width
    return (np.nan, np.nan), (np.nan, np.nan)


def _shifted_slope(
    loss: Opaque, a: Array, y: AnyArray, weights: Array, shift: float, examples: IntArray
) -> tuple[float, float]:
    """The sums of s_i phi_i' and of its absolute value over these examples."""
    slope = size = 0.0
    for i in examples:
        s = weights[i] if weights.size else 1.0
        gradient = s * loss_function(loss, a[i] + shift, y[i])
        slope += gradient
        size += abs(gradient)
    return slope, size


def _repair(
    loss: Opaque,
    alpha: Array,
    a: Array,
    y: AnyArray,
    weights: Array,
    low: Array,
    high: Array,
    close: float,
    total: float,
    out: Array,
) -> None:
    rooms = 0.0
    for i in range(out.size):
        out[i] = 0.0
        if low[i] < alpha[i] < high[i]:
            s = weights[i] if weights.size else 1.0
            near = close * (1.0 + abs(a[i]))
            corner = alpha[i] == -s * loss_function(loss, a[i] + near, y[i])
            if corner:
                corner = alpha[i] == -s * loss_function(loss, a[i] - near, y[i])
            if not corner:
                out[i] = (alpha[i] - low[i]) / (high[i] - low[i]) * (high[i] - alpha[i])
        rooms += out[i]
    if abs(total) > rooms:
        rooms = 0.0
        for i in range(out.size):
            out[i] = alpha[i] - (low[i] if total > 0.0 else high[i])
            rooms += out[i]
    delta = total / rooms if rooms != 0.0 else 0.0
    for i in range(out.size):
        out[i] = min(max(alpha[i] - delta * out[i], low[i]), high[i])
