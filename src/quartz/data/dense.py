"""A storage of dense rows."""

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from quartz import checks
from quartz.arrays import AnyArray, Array, IntArray, quietly
from quartz.data.storage import PART_ROWS, MatrixStorage
from quartz.kernels.placeholder import Parts, Position
from quartz.kernels.prefetch import CACHE_LINE, LONG_ROW, prefetch_element
from quartz.parallel import in_parts, rows_in_parts

PART = 8192  # numbers in a product of vectors that BLAS computes on one thread
SUMMED_ROWS = 1024  # rows that BLAS sums for X' x; then rounding is 2e-13 of the terms
CENTRE_ROWS = 4096  # whose mean stands for that of all
CONVERTED = 80_000  # entries of float32 that are converted at once


class DenseRows(NamedTuple):
    """A C-ordered matrix."""

    width: np.uint64  # number of columns
    values: AnyArray  # flattened, float32 or float64


class DenseStorage(MatrixStorage):
    """Rows of a C-ordered array in float32 or float64.

    Parameters
    ----------
    X : array of shape (rows, columns)
        Not copied if it has that form already.
    """

    def __init__(self, X: ArrayLike) -> None:
        checks.array_like("X", X)
        X = np.asarray(X)
        checks.check_dimensions(X)
        X = checks.unlocked(np.ascontiguousarray(X, dtype=checks.float_dtype(X.dtype)))
        checks.check_shape(X.shape)
        self._total_square = _sum_of_squares(X.reshape(-1))
        if not np.isfinite(self._total_square):  # numbers whose squares overflow may be finite
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
        """Number of entries, all of which are stored."""
        return self.matrix.size

    def row(self, i: int) -> tuple[IntArray | slice, AnyArray]:
        return slice(None), self.matrix[i]

    def row_lengths(self) -> IntArray:
        return np.full(self.shape[0], self.shape[1])

    def dense(self) -> Array:
        return self.matrix.astype(np.float64)

    @cached_property
    def squares(self) -> Array:
        return np.einsum("ij,ij->i", self.matrix, self.matrix, dtype=np.float64)

    @property
    def mean_square(self) -> float:
        """The mean of ||x_i||^2, from the look at the data that validates them."""
        return self._total_square / self.shape[0]

    def multiply(self, x: Array) -> Array:
        found = np.empty((self.shape[0], *x.shape[1:]))

        def of_part(part: slice) -> None:
            np.matmul(self.dense_rows(part), x, out=found[part])

        in_parts(of_part, rows_in_parts(self.shape[0], self._together), self.matrix.size)
        return found

    def multiply_transposed(self, x: Array) -> Array:
        def of_part(part: slice) -> Array:
            return _transposed_product(self.dense_rows(part), x[part])

        parts = rows_in_parts(self.shape[0], self._together)
        first, *others = in_parts(of_part, parts, self.matrix.size)
        for other in others:
            first += other
        return first

    def rough_centre(self, weights: Array | None) -> Array:
        step = self.shape[0] // CENTRE_ROWS
        if step < 8:
            return self.centre(weights)
        some = slice(step // 2, None, step)
        rows, shares = self.dense_rows(some), None if weights is None else weights[some]
        if shares is None or not shares.any():
            return np.asarray(rows.mean(axis=0))
        return np.asarray(shares @ rows / shares.sum())

    @property
    def _together(self) -> int:
        """Rows of a product that are multiplied at once; of float32, as many as cache holds."""
        if self.matrix.dtype == np.float64:
            return PART_ROWS
        return max(SUMMED_ROWS, CONVERTED // self.shape[1] // SUMMED_ROWS * SUMMED_ROWS)

    @property
    def column_terms(self) -> int:
        """Those of `SUMMED_ROWS` rows, of their sums within a part, and of the parts."""
        n, part = self.shape[0], self._together
        return min(n, SUMMED_ROWS) + min(n, part) // SUMMED_ROWS + 1 + n // part

    def dense_rows(self, examples: IntArray | slice) -> Array:
        return self.matrix[examples].astype(np.float64, copy=False)

    @property
    def gram_by_blas(self) -> bool:
        """A dense Gram matrix is always formed by BLAS."""
        return True


@quietly
def _sum_of_squares(x: AnyArray) -> float:
    """The sum of x_k^2 in float64, the same for any number of threads of BLAS.

    BLAS multiplies parts that are too short for its threads; NumPy's own loops are slower.
    """
    if x.dtype != np.float64:
        return float(np.einsum("i,i->", x, x, dtype=np.float64))
    whole = x.size // PART * PART
    parts = x[:whole].reshape(-1, PART)
    rest = x[whole:]
    return float(np.sum(parts[:, None, :] @ parts[:, :, None])) + float(rest @ rest)


def _transposed_product(X: Array, x: Array) -> Array:
    """X' x, in sums of `SUMMED_ROWS` rows, which are added afterwards."""
    count = len(X) // SUMMED_ROWS
    whole = count * SUMMED_ROWS
    rest = X[whole:].T @ x[whole:]
    if not whole:
        return np.asarray(rest)
    rows = X[:whole].reshape(count, SUMMED_ROWS, -1)
    if x.ndim == 1:
        sums = np.matmul(x[:whole].reshape(count, 1, SUMMED_ROWS), rows)[:, 0]
    else:
        sums = np.matmul(rows.transpose(0, 2, 1), x[:whole].reshape(count, SUMMED_ROWS, -1))
    return np.asarray(sums.sum(axis=0) + rest)


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
