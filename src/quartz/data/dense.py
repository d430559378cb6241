"""A storage of dense rows."""

from typing import Any, NamedTuple

import numpy as np

from quartz import checks
from quartz.arrays import AnyArray, Array, IntArray
from quartz.data.storage import Storage, pattern
from quartz.kernels.placeholder import Parts, Position
from quartz.kernels.prefetch import prefetch_element

GRAM_ROWS = 256  # rows that BLAS multiplies at once in a Gram matrix
CACHE_LINE = 8  # float64 of a cache line
LONG_ROW = 128  # entries, past which the processor guesses what comes next


class DenseRows(NamedTuple):
    """A C-ordered matrix, flat."""

    width: np.uint64
    values: AnyArray


class DenseStorage(Storage):
    """Rows of a C-ordered array in float32 or float64.

    Parameters
    ----------
    X : array of shape (rows, columns)
        Not copied if it has that form already.
    """

    def __init__(self, X: Any) -> None:
        X = np.asarray(X)
        checks.check_dimensions(X)
        X = checks.unlocked(np.ascontiguousarray(X, dtype=checks.float_dtype(X.dtype)))
        checks.check_shape(X.shape)
        bad = checks.not_finite(X)
        if bad.size:
            i, j = map(int, np.unravel_index(bad[0], X.shape))
            checks.refuse_not_finite(i, j, X[i, j])
        self.matrix: AnyArray = X
        self.shape = X.shape
        self.rows = DenseRows(np.uint64(X.shape[1]), X.reshape(-1))
        self.parts = PARTS

    @property
    def nonzeros(self) -> int:
        """All entries are stored."""
        return self.matrix.size

    def row(self, i: int) -> tuple[IntArray | slice, AnyArray]:
        return slice(None), self.matrix[i]

    def row_lengths(self) -> IntArray:
        return np.full(self.shape[0], self.shape[1])

    def take(self, examples: IntArray) -> AnyArray:
        return self.matrix[examples]

    def dense(self) -> Array:
        return self.matrix.astype(np.float64)

    def support(self) -> Any:
        return pattern(self.matrix)

    def multiply(self, x: Array) -> Array:
        if self.matrix.dtype == np.float64:
            return np.asarray(self.matrix @ x)
        return super().multiply(x)  # NumPy would copy float32 data to float64

    def multiply_transposed(self, x: Array) -> Array:
        if self.matrix.dtype == np.float64:
            return np.asarray(self.matrix.T @ x)
        return super().multiply_transposed(x)

    def add_gram(self, examples: IntArray, weights: Array, out: Array) -> None:
        for start in range(0, len(examples), GRAM_ROWS):
            part = slice(start, start + GRAM_ROWS)
            rows = self.matrix[examples[part]].astype(np.float64, copy=False)
            out += rows.T @ (weights[part, None] * rows)

    @property
    def gram_by_blas(self) -> bool:
        """Always."""
        return True


def _start(rows: DenseRows, i: Position) -> Position:
    return i * rows.width


def _column(rows: DenseRows, k: Position, start: Position) -> Position:
    return k - start


def _value(rows: DenseRows, k: Position) -> float:
    return rows.values[k]


def _prefetch(rows: DenseRows, i: Position) -> None:
    start, width = int(i * rows.width), int(rows.width)
    for k in range(start, start + min(width, LONG_ROW), CACHE_LINE):
        prefetch_element(rows.values, k)


PARTS: Parts = {"row_start": _start, "column": _column, "value": _value, "prefetch_row": _prefetch}
