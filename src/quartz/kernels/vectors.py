"""How a kernel keeps z = grad g*(abar) and the averaged w of Algorithm 1.

For a separable g an iteration touches no vector of length d. z_j is computed from abar_j when it
is read, and w = z + scale * lag, where

    w <- (1 - theta) w + theta z      is   scale *= 1 - theta          (z stays)
    z_j <- z_j + dz                   is   lag_j -= dz / scale         (w stays)

For a g that is not separable, z and w are stored and updated, at O(d) an iteration.
"""

from typing import NamedTuple

from quartz.arrays import Array
from quartz.kernels.loss import conjugate_gradient
from quartz.kernels.placeholder import Opaque, Parts, Position, placeholder

TINY = 1e-100  # scale below which it is multiplied into the lag, before it underflows


class LazyVectors(NamedTuple):
    """For a separable g; `lag` is empty if w is not tracked."""

    abar: Array
    lag: Array


class DenseVectors(NamedTuple):
    """For any g; `w` is empty if it is not tracked."""

    abar: Array
    z: Array
    w: Array


def vector_parts(separable: bool, option: int, tracked: bool) -> Parts:
    """Return the functions that replace the placeholders below.

    `tracked` says whether w is needed at the end, besides z.
    """
    if not separable:
        return {
            "coordinate": _dense_z if option == 1 else _dense_w,
            "add_to": _dense_add,
            "begin": _dense_begin,
        }
    return {
        "coordinate": _lazy_z if option == 1 else _lazy_w,
        "add_to": _lazy_add_tracked if tracked else _lazy_add,
        "begin": lazy_begin,
    }


@placeholder
def coordinate(vectors: Opaque, j: Position, scale: float, g: Opaque) -> float:
    """Placeholder: z_j for Option I, w_j for Option II."""
    raise NotImplementedError


@placeholder
def add_to(vectors: Opaque, j: Position, delta: float, scale: float, g: Opaque) -> None:
    """Placeholder: add delta to abar_j while w stays what it is."""


@placeholder
def begin(vectors: Opaque, scale: float, decay: float, g: Opaque) -> float:
    """Placeholder: do the primal update that begins an iteration; returns the new scale."""
    raise NotImplementedError


def _lazy_z(vectors: LazyVectors, j: Position, scale: float, g: Opaque) -> float:
    return conjugate_gradient(g, vectors.abar[j])


def _lazy_w(vectors: LazyVectors, j: Position, scale: float, g: Opaque) -> float:
    return conjugate_gradient(g, vectors.abar[j]) + scale * vectors.lag[j]


def _lazy_add(vectors: LazyVectors, j: Position, delta: float, scale: float, g: Opaque) -> None:
    vectors.abar[j] += delta


def _lazy_add_tracked(
    vectors: LazyVectors, j: Position, delta: float, scale: float, g: Opaque
) -> None:
    before = vectors.abar[j]
    after = before + delta
    vectors.abar[j] = after
    change = conjugate_gradient(g, after) - conjugate_gradient(g, before)
    vectors.lag[j] -= change / scale


def lazy_begin(vectors: LazyVectors, scale: float, decay: float, g: Opaque) -> float:
    """Move w towards z, by shrinking the scale of their difference scale * lag."""
    scale *= decay
    if scale < TINY:
        for j in range(vectors.lag.size):
            vectors.lag[j] *= scale
        scale = 1.0
    return scale


def _dense_z(vectors: DenseVectors, j: Position, scale: float, g: Opaque) -> float:
    return vectors.z[j]


def _dense_w(vectors: DenseVectors, j: Position, scale: float, g: Opaque) -> float:
    return vectors.w[j]


def _dense_add(vectors: DenseVectors, j: Position, delta: float, scale: float, g: Opaque) -> None:
    vectors.abar[j] += delta


def _dense_begin(vectors: DenseVectors, scale: float, decay: float, g: Opaque) -> float:
    vectors.z[:] = conjugate_gradient(g, vectors.abar)
    for j in range(vectors.w.size):
        vectors.w[j] = decay * vectors.w[j] + (1.0 - decay) * vectors.z[j]
    return scale
