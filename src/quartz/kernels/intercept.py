"""How the kernels see an intercept: as one more column.

A penalized intercept is a coordinate like the others, of a column of ones. A free one has the
column s, its own place z_b, and a multiplier beta; its prediction is

    (x_i - c)' z + s z_b + beta,

with rows centred by c. x_i stays as it is stored: within a call z = raw - t c, so that a step costs
O(1) more than without an intercept,

    x_i' raw - t x_i' c - (c' raw - t c'c) + s z_b + beta.

This needs z = abar, that is L2; for any other g, c = 0.
"""

from typing import Any, NamedTuple

import numpy as np

from quartz.arrays import Array
from quartz.data import Blocks
from quartz.data.intercept import InterceptBlocks
from quartz.kernels.rows import (
    CsrRows,
    CsrRowsWithIntercept,
    DenseRowsWithIntercept,
    as_rows,
    row_parts,
)
from quartz.kernels.vectors import add_to, coordinate

Z_B, T, PRODUCT, BETA = 0, 1, 2, 3  # positions in `moving`


class Column(NamedTuple):
    """A penalized intercept."""

    last: np.uint64  # the coordinate


class Free(NamedTuple):
    """A free intercept."""

    moving: Array  # z_b, t, c' raw and beta
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
        self._centre = data.centre
        if data.free:
            square = float(data.centre @ data.centre)
            self._free = Free(np.zeros(4), data.constant, data.products, square)
            self.parts |= _CENTRED if data.centred else _UNCENTRED
        else:
            self.parts |= _COLUMN
        kind: Any = CsrRowsWithIntercept if isinstance(plain, CsrRows) else DenseRowsWithIntercept
        self.rows = kind(*plain, self._free or Column(np.uint64(data.d - 1)))

    def open(self, abar: Array, multiplier: float) -> Array:
        """Return the part of abar that the kernel calls so, a view."""
        if self._free is None:
            return abar
        self._free.moving[:] = abar[-1], 0.0, self._centre @ abar[:-1], multiplier
        return abar[:-1]

    def close(self, abar: Array) -> None:
        """Bring abar up to date after a call."""
        if self._free is not None:
            abar[-1] = self._free.moving[Z_B]
            abar[:-1] -= self._free.moving[T] * self._centre


def _column(rows: Any, i: Any, vectors: Any, scale: float, g: Any) -> float:
    return coordinate(vectors, rows.intercept.last, scale, g)


def _add_column(rows: Any, i: Any, delta: float, vectors: Any, scale: float, g: Any) -> None:
    add_to(vectors, rows.intercept.last, delta, scale, g)


def _offset(rows: Any, i: Any, vectors: Any, scale: float, g: Any) -> float:
    it = rows.intercept
    return it.constant * it.moving[Z_B] + it.moving[BETA]


def _add_offset(rows: Any, i: Any, delta: float, vectors: Any, scale: float, g: Any) -> None:
    it = rows.intercept
    it.moving[Z_B] += it.constant * delta


def _centred_offset(rows: Any, i: Any, vectors: Any, scale: float, g: Any) -> float:
    it = rows.intercept
    t = it.moving[T]
    centred = t * it.products[i] + it.moving[PRODUCT] - t * it.square
    return it.constant * it.moving[Z_B] + it.moving[BETA] - centred


def _add_centred(rows: Any, i: Any, delta: float, vectors: Any, scale: float, g: Any) -> None:
    it = rows.intercept
    it.moving[Z_B] += it.constant * delta
    it.moving[T] += delta
    it.moving[PRODUCT] += delta * it.products[i]


_COLUMN = {"offset": _column, "add_offset": _add_column}
_UNCENTRED = {"offset": _offset, "add_offset": _add_offset}
_CENTRED = {"offset": _centred_offset, "add_offset": _add_centred}
