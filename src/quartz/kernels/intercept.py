"""How the kernels see an intercept: as one more column.

A penalized intercept is a coordinate like the others, of a column of ones. A free one has the
column s, its own place z_b, and a multiplier beta; the prediction is

    (x_i - c)' z + s z_b + beta,

with rows centred by c. x_i stays as it is stored: within a call z = raw - t c, so that a step costs
O(1) more than without an intercept,

    x_i' raw - t x_i' c - (c' raw - t c'c) + s z_b + beta.

This needs z = abar, that is L2; for any other g, c = 0. With m outputs each has its own z, z_b and
beta.
"""

from typing import Any, NamedTuple

import numpy as np

from quartz.arrays import Array, Floats
from quartz.data import Blocks
from quartz.data.intercept import InterceptBlocks
from quartz.kernels.passes import subtract_outer
from quartz.kernels.rows import (
    CsrRows,
    CsrRowsWithIntercept,
    DenseRowsWithIntercept,
    as_rows,
    row_parts,
)
from quartz.kernels.vectors import add_to, coordinate

Z_B, T, PRODUCT, BETA = 0, 1, 2, 3  # rows of `moving`


class Column(NamedTuple):
    """A penalized intercept."""

    first: np.uint64  # its coordinate, that of the first output


class Free(NamedTuple):
    """A free intercept."""

    moving: Array  # z_b, t, c' raw and beta of each output
    constant: float  # s
    products: Array  # x_i' c
    square: float  # c' c


class KernelData:
    """The rows for a kernel, and abar without and with what belongs to a free intercept.

    Attributes
    ----------
    rows : NamedTuple
    parts : dict
        What the placeholders of the rows stand for.
    """

    def __init__(self, data: Blocks) -> None:
        plain = as_rows(data.matrix)
        self.rows: Any = plain
        self.parts = row_parts(plain)
        self._free: Free | None = None
        if not isinstance(data, InterceptBlocks):
            return
        self._m, self._centre = data.m, data.centre
        if data.free:
            square = float(data.centre @ data.centre)
            self._free = Free(np.zeros((4, data.m)), data.constant, data.products, square)
            self.parts |= _CENTRED if data.centred else _UNCENTRED
        else:
            self.parts |= _COLUMN
        kind: Any = CsrRowsWithIntercept if isinstance(plain, CsrRows) else DenseRowsWithIntercept
        self.rows = kind(*plain, self._free or Column(np.uint64(data.d - data.m)))

    def open(self, abar: Array, multiplier: Floats) -> Array:
        """Return the part of abar that the kernel calls so, a view."""
        if self._free is None:
            return abar
        features, moving = abar[: -self._m], self._free.moving
        moving[Z_B], moving[T], moving[BETA] = abar[-self._m :], 0.0, multiplier
        moving[PRODUCT] = self._centre @ features.reshape(-1, self._m)
        return features

    def close(self, abar: Array) -> Floats:
        """Bring abar up to date after a call; returns the multiplier."""
        if self._free is None:
            return 0.0
        moving = self._free.moving
        abar[-self._m :] = moving[Z_B]
        subtract_outer(abar[: -self._m], self._centre, moving[T])
        return moving[BETA].copy() if self._m > 1 else float(moving[BETA, 0])


def _column(rows: Any, i: Any, output: Any, vectors: Any, scale: float, g: Any) -> float:
    return coordinate(vectors, rows.intercept.first + output, scale, g)


def _add_column(
    rows: Any, i: Any, output: Any, delta: float, vectors: Any, scale: float, g: Any
) -> None:
    add_to(vectors, rows.intercept.first + output, delta, scale, g)


def _offset(rows: Any, i: Any, output: Any, vectors: Any, scale: float, g: Any) -> float:
    it = rows.intercept
    return it.constant * it.moving[Z_B, output] + it.moving[BETA, output]


def _add_offset(
    rows: Any, i: Any, output: Any, delta: float, vectors: Any, scale: float, g: Any
) -> None:
    it = rows.intercept
    it.moving[Z_B, output] += it.constant * delta


def _centred_offset(rows: Any, i: Any, output: Any, vectors: Any, scale: float, g: Any) -> float:
    it = rows.intercept
    t = it.moving[T, output]
    centred = t * it.products[i] + it.moving[PRODUCT, output] - t * it.square
    return it.constant * it.moving[Z_B, output] + it.moving[BETA, output] - centred


def _add_centred(
    rows: Any, i: Any, output: Any, delta: float, vectors: Any, scale: float, g: Any
) -> None:
    it = rows.intercept
    it.moving[Z_B, output] += it.constant * delta
    it.moving[T, output] += delta
    it.moving[PRODUCT, output] += delta * it.products[i]


def _move_multiplier(rows: Any) -> None:
    it = rows.intercept
    for output in range(it.moving.shape[1]):
        it.moving[BETA, output] += it.constant * it.moving[Z_B, output]


_COLUMN = {"offset": _column, "add_offset": _add_column}
_FREE = {"move_multiplier": _move_multiplier}
_UNCENTRED = _FREE | {"offset": _offset, "add_offset": _add_offset}
_CENTRED = _FREE | {"offset": _centred_offset, "add_offset": _add_centred}
