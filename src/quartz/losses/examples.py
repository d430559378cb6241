"""A loss over all examples at once, with their weights s_i.

Where there are many examples this is one compiled loop: it has no temporary vectors, and the many
short operations of NumPy would hold up other threads.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq

from quartz.arrays import Array
from quartz.losses.base import Loss, is_vector

_MANY = 100  # examples of a loss over classes, above which compiling its functions pays
_LARGE = 10_000  # examples of a scalar loss, likewise
_PART = 8192  # examples of a scalar loss, evaluated together
_not_compilable: set[tuple[Any, ...]] = set()  # types of losses, and kernels


def values(loss: Loss, a: Array, y: Array, weights: Array | None = None) -> Array:
    """s_i phi_i(a_i) for every example."""
    return _evaluated(loss, "value", a, y, weights, np.empty(len(a)))


def gradients(loss: Loss, a: Array, y: Array, weights: Array | None = None) -> Array:
    """s_i grad phi_i(a_i) for every example."""
    if is_vector(loss) or a.ndim == 1:
        return _evaluated(loss, "gradient", a, y, weights, np.empty(a.shape))
    return _weighted(loss.gradient(a, y), weights)


def conjugates(loss: Loss, u: Array, y: Array, weights: Array | None = None) -> Array:
    """(s_i phi_i)*(u_i) = s_i phi_i*(u_i / s_i) for every example.

    With s_i = 0 that is 0 at u_i = 0 and infinite elsewhere.
    """
    if weights is None:
        return _evaluated(loss, "conjugate", u, y, None, np.empty(len(u)))
    found: Array | None = compiled("conjugates", loss, u, y, weights)
    if found is not None:
        return found
    nonzero = u != 0
    each = np.where(nonzero if u.ndim == 1 else nonzero.any(axis=1), np.inf, 0.0)
    kept = np.flatnonzero(weights)
    s = weights[kept]
    scaled = u[kept] / (s if u.ndim == 1 else s[:, None])
    each[kept] = _evaluated(loss, "conjugate", scaled, y[kept], s, np.empty(len(s)))
    return each


class FenchelYoung(NamedTuple):
    """s_i phi_i(a_i) + (s_i phi_i)*(-alpha_i) + <a_i, alpha_i> of every example, and means."""

    gaps: Array
    loss: float
    conjugate: float
    size: float  # of the conjugates


def fenchel_young(
    loss: Loss, a: Array, alpha: Array, y: Array, weights: Array | None = None
) -> FenchelYoung:
    """Losses against conjugates."""
    if not is_vector(loss):
        found = compiled("fenchel_young", loss, a, alpha, y, weights)
        if found is not None:
            return FenchelYoung(*found)
    terms, minus = values(loss, a, y, weights), conjugates(loss, -alpha, y, weights)
    mean_loss = float(np.mean(terms))
    products = a * alpha
    terms += minus
    terms += products if a.ndim == 1 else products.sum(axis=1)
    return FenchelYoung(terms, mean_loss, float(np.mean(minus)), float(np.mean(np.abs(minus))))


def shifted_slope(
    loss: Any, a: Array, y: Array, weights: Array, shift: float
) -> tuple[float, float, float]:
    """Sums of s_i phi_i', of its size, and of s_i phi_i'' at all a_i + shift, of a scalar loss."""
    found: tuple[float, float, float] | None = compiled("shifted_slope", loss, a, y, weights, shift)
    if found is not None:
        return found
    slopes = weights * loss.gradient(a + shift, y)
    bend = weights @ loss.curvature(a + shift, y)
    return float(slopes.sum()), float(np.abs(slopes).sum()), float(bend)


def shifted_root(loss: Loss, a: Array, y: Array, weights: Array, start: float) -> float:
    """The shift where the sum of s_i phi_i'(a_i + shift) changes its sign; nan if there is none."""
    found: float | None = compiled("shifted_root", loss, a, y, weights, start)
    if found is not None:
        return found
    return _root(lambda shift: float(weights @ loss.gradient(a + shift, y)), start)


def _root(rising: Callable[[float], float], start: float) -> float:
    """Where a function that does not fall vanishes, or jumps across 0."""
    here = rising(start)
    if here == 0:
        return start
    low, width = start, -1.0 if here > 0 else 1.0
    for _ in range(200):
        high = start + width
        if rising(high) * here <= 0:
            return float(brentq(rising, low, high, xtol=1e-300, rtol=1e-15, maxiter=500))
        low, width = high, 4 * width
    return np.nan


def _evaluated(
    loss: Loss, method: str, x: Array, y: Array, weights: Array | None, out: Array
) -> Array:
    """Fill `out` with s_i times a method of the loss for every example."""
    found: Array | None = compiled("evaluate", loss, x, y, weights, out, method=method)
    if found is not None:
        return found
    function = getattr(loss, method)
    if is_vector(loss):
        for i, pair in enumerate(zip(x, y, strict=True)):
            out[i] = function(*pair)
    else:
        for start in range(0, len(x), _PART):  # temporaries that fit the cache
            part = slice(start, start + _PART)
            terms = function(x[part], y[part])
            out[part] = terms if terms.ndim < 2 else terms.sum(axis=1)
    return _weighted(out, weights)


def _weighted(each: Array, weights: Array | None) -> Array:
    if weights is None:
        return each
    return each * (weights if each.ndim == 1 else weights[:, None])


def compiled(kernel: str, loss: Loss, x: Array, *arguments: Any, **choice: str) -> Any:
    """What that function of `quartz.kernels.examples` gives.

    None if there are few examples, several outputs of a scalar loss, or no way to compile it.
    """
    key = type(loss), kernel, *choice.values()
    vector = is_vector(loss)
    if len(x) <= (_MANY if vector else _LARGE) or x.ndim > 1 + vector or key in _not_compilable:
        return None
    from quartz.kernels import examples as kernels

    try:
        return getattr(kernels, kernel)(loss, x, *arguments, **choice)
    except (TypeError, AttributeError):  # a loss for the reference implementation only
        _not_compilable.add(key)
        return None
