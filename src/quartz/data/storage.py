"""The seam for data: a storage says how a kernel reads a row, and all else follows from that."""

from abc import ABC
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from quartz.arrays import AnyArray, Array, IntArray
from quartz.kernels import passes
from quartz.kernels.placeholder import Opaque, Parts


class Storage(ABC):
    """The rows of a matrix, wherever they are kept.

    A storage of your own sets the three attributes below; products, certificates, steps and epochs
    then work on it. The methods here go row by row through `rows` and `parts`; a storage may have
    faster ones.

    Attributes
    ----------
    shape : tuple of int
        Number of rows and of columns.
    rows : NamedTuple
        The arrays that a kernel reads.
    parts : dict
        Plain functions that read them, by the names of the placeholders in
        :mod:`quartz.kernels.rows`: ``row_start(rows, i)``, ``column(rows, k, start)``,
        ``value(rows, k)`` and, if it is worth while, ``prefetch_row(rows, i)``.
    """

    shape: tuple[int, int]
    rows: Opaque
    parts: Parts

    @property
    def nonzeros(self) -> int:
        """Number of stored entries."""
        return int(self._starts[-1])

    def row(self, i: int) -> tuple[IntArray | slice, AnyArray]:
        """The columns of row i, an index array or a slice, and its values."""
        start, stop = self._starts[i], self._starts[i + 1]
        positions = [np.uint64(k) for k in range(start, stop)]
        column, value = self.parts["column"], self.parts["value"]
        columns = [int(column(self.rows, k, np.uint64(start))) for k in positions]
        return np.array(columns, dtype=np.int64), np.array([value(self.rows, k) for k in positions])

    def take(self, examples: IntArray) -> Any:
        """A matrix of these rows only, in this order."""
        columns, values = zip(*map(self.row, examples), strict=True) if len(examples) else ((), ())
        starts = np.cumsum([0, *(len(row) for row in values)])
        data = np.concatenate([*values, np.empty(0)]).astype(np.float64)
        indices = np.concatenate([*columns, np.empty(0, dtype=np.int64)])
        return sp.csr_array((data, indices, starts), (len(examples), self.shape[1]))

    def dense(self) -> Array:
        """All of it as an array of float64; for small data."""
        return np.asarray(self.take(np.arange(self.shape[0])).toarray())

    def support(self) -> Any:
        """The 0/1 pattern of the entries that are not zero, a sparse or dense matrix."""
        return pattern(self.take(np.arange(self.shape[0])))

    def multiply(self, x: Array) -> Array:
        """X x in float64, for one vector or several columns."""
        return self._by_columns(passes.multiply, x, self.shape[0])

    def multiply_transposed(self, x: Array) -> Array:
        """X' x in float64, likewise."""
        return self._by_columns(passes.multiply_transposed, x, self.shape[1])

    def squared_multiply(self, x: Array) -> Array:
        """(X o X) x in float64, without forming the squares."""
        return self._by_columns(passes.squared_multiply, x, self.shape[0])

    def add_gram(self, examples: IntArray, weights: Array, out: Array) -> None:
        """Add sum_i weights_i x_i x_i' over the examples to the lower triangle of `out`."""
        passes.add_outer_products(self.rows, self.parts, examples, weights, out)

    def row_lengths(self) -> IntArray:
        """Number of stored entries of each row."""
        return np.diff(self._starts)

    @property
    def gram_by_blas(self) -> bool:
        """Whether `add_gram` multiplies dense matrices rather than going through the entries."""
        return False

    @property
    def _starts(self) -> IntArray:
        start = self.parts["row_start"]
        numbers = range(self.shape[0] + 1)
        return np.array([int(start(self.rows, np.uint64(i))) for i in numbers], dtype=np.int64)

    def _by_columns(
        self, function: Callable[[Opaque, Parts, Array, Array], None], x: Array, size: int
    ) -> Array:
        columns = [np.ascontiguousarray(column) for column in np.atleast_2d(x.T)]
        found = np.zeros((len(columns), size))
        for column, out in zip(columns, found, strict=True):
            function(self.rows, self.parts, column, out)
        return found[0] if x.ndim == 1 else np.ascontiguousarray(found.T)


def pattern(X: Any) -> Any:
    """1 where a matrix, sparse without stored zeros or dense, is not 0."""
    if isinstance(X, np.ndarray):
        return (X != 0).astype(np.float64)
    return sp.csr_array((np.ones(X.nnz), X.indices, X.indptr), X.shape)
