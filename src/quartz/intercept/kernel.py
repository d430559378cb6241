"""How the kernels see an intercept: as one more column.

A penalized intercept is a coordinate like the others, of a column of ones. A free one has the
column s, its own coordinate z_b, and a multiplier beta; the prediction is

    (x_i - c)' z + s z_b + beta,

with rows centred by c. x_i stays as it is stored: within a call z = raw - t c, so that a step costs
O(1) more than without an intercept,

    x_i' raw - t x_i' c - (c' raw - t c'c) + s z_b + beta.

This needs z = abar, that is L2; for any other g, c = 0. With m outputs each has its own z, z_b and
beta.

The rows of a storage are wrapped together with what belongs to the intercept; `inside` lets the
storage's own functions see the rows only.
"""

from typing import NamedTuple

import numpy as np

from quartz.arrays import Array
from quartz.data import KernelView
from quartz.kernels.passes import subtract_outer
from quartz.kernels.placeholder import Opaque, Parts, Position, placeholder
from quartz.kernels.vectors import add_to, coordinate

Z_B, T, PRODUCT, BETA = 0, 1, 2, 3  # rows of `moving`


class PenalizedRows(NamedTuple):
    """Rows with a penalized intercept."""

    rows: Opaque
    first: np.uint64  # its coordinate, that of the first output


class FreeRows(NamedTuple):
    """Rows with a free intercept."""

    rows: Opaque
    moving: Array  # z_b, t, c' raw and beta of each output
    constant: float  # s
    products: Array  # x_i' c
    square: float  # c' c


class FreeView(KernelView):
    """The examples with a free intercept, as a kernel sees them.

    Parameters
    ----------
    plain : KernelView
        Of the rows.
    constant, products, centre, outputs, centred
        s, x_i' c, c, m, and whether c counts.
    """

    def __init__(
        self,
        plain: KernelView,
        constant: float,
        products: Array,
        centre: Array,
        outputs: int,
        centred: bool,
    ) -> None:
        self._m, self._centre = outputs, centre
        self._moving = np.zeros((4, outputs))
        rows = FreeRows(plain.rows, self._moving, constant, products, float(centre @ centre))
        super().__init__(rows, inside(plain.parts, CENTRED if centred else UNCENTRED))

    def open(self, abar: Array, carried: Array) -> Array:
        features, moving = abar[: -self._m], self._moving
        moving[Z_B], moving[T], moving[BETA] = abar[-self._m :], 0.0, carried
        moving[PRODUCT] = self._centre @ features.reshape(-1, self._m)
        return features

    def close(self, abar: Array, carried: Array) -> None:
        moving = self._moving
        abar[-self._m :] = moving[Z_B]
        subtract_outer(abar[: -self._m], self._centre, moving[T])
        carried[:] = moving[BETA]


def inside(storage: Parts, intercept: Parts) -> Parts:
    """The storage's functions, applied to the rows inside the wrapped ones."""
    outer: Parts = {
        "row_start": _start,
        "column": _column,
        "value": _value,
        "prefetch_row": _prefetch,
    }
    inner = {f"inner_{name}": storage[name] for name in outer if name in storage}
    return {**storage, **outer, **inner, **intercept}


@placeholder
def inner_row_start(rows: Opaque, i: Position) -> Position:
    """Placeholder: `row_start` of the storage."""
    raise NotImplementedError


@placeholder
def inner_column(rows: Opaque, k: Position, start: Position) -> Position:
    """Placeholder: `column` of the storage."""
    raise NotImplementedError


@placeholder
def inner_value(rows: Opaque, k: Position) -> float:
    """Placeholder: `value` of the storage."""
    raise NotImplementedError


@placeholder
def inner_prefetch_row(rows: Opaque, i: Position) -> None:
    """Placeholder: `prefetch_row` of the storage."""


def _start(wrapped: FreeRows, i: Position) -> Position:
    return inner_row_start(wrapped.rows, i)


def _column(wrapped: FreeRows, k: Position, start: Position) -> Position:
    return inner_column(wrapped.rows, k, start)


def _value(wrapped: FreeRows, k: Position) -> float:
    return inner_value(wrapped.rows, k)


def _prefetch(wrapped: FreeRows, i: Position) -> None:
    inner_prefetch_row(wrapped.rows, i)


def _penalized_part(
    wrapped: PenalizedRows,
    i: Position,
    output: Position,
    vectors: Opaque,
    scale: float,
    g: Opaque,
) -> float:
    return coordinate(vectors, wrapped.first + output, scale, g)


def _add_penalized(
    wrapped: PenalizedRows,
    i: Position,
    output: Position,
    delta: float,
    vectors: Opaque,
    scale: float,
    g: Opaque,
) -> None:
    add_to(vectors, wrapped.first + output, delta, scale, g)


def _uncentred_part(
    wrapped: FreeRows, i: Position, output: Position, vectors: Opaque, scale: float, g: Opaque
) -> float:
    return wrapped.constant * wrapped.moving[Z_B, output] + wrapped.moving[BETA, output]


def _add_uncentred(
    wrapped: FreeRows,
    i: Position,
    output: Position,
    delta: float,
    vectors: Opaque,
    scale: float,
    g: Opaque,
) -> None:
    wrapped.moving[Z_B, output] += wrapped.constant * delta


def _centred_part(
    wrapped: FreeRows, i: Position, output: Position, vectors: Opaque, scale: float, g: Opaque
) -> float:
    moving = wrapped.moving
    t = moving[T, output]
    centred = t * wrapped.products[i] + moving[PRODUCT, output] - t * wrapped.square
    return wrapped.constant * moving[Z_B, output] + moving[BETA, output] - centred


def _add_centred(
    wrapped: FreeRows,
    i: Position,
    output: Position,
    delta: float,
    vectors: Opaque,
    scale: float,
    g: Opaque,
) -> None:
    moving = wrapped.moving
    moving[Z_B, output] += wrapped.constant * delta
    moving[T, output] += delta
    moving[PRODUCT, output] += delta * wrapped.products[i]


def _move_multiplier(wrapped: FreeRows) -> None:
    moving = wrapped.moving
    for output in range(moving.shape[1]):
        moving[BETA, output] += wrapped.constant * moving[Z_B, output]


PENALIZED: Parts = {"intercept_part": _penalized_part, "add_intercept_part": _add_penalized}
UNCENTRED: Parts = {
    "intercept_part": _uncentred_part,
    "add_intercept_part": _add_uncentred,
    "end_epoch": _move_multiplier,
}
CENTRED: Parts = {
    "intercept_part": _centred_part,
    "add_intercept_part": _add_centred,
    "end_epoch": _move_multiplier,
}
