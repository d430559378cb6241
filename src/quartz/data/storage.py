"""The interface for data: a storage says how kernels read a row, and the rest builds on that."""

from abc import ABC
from collections.abc import Callable
from functools import cached_property
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from quartz.arrays import AnyArray, Array, IntArray, SparseMatrix
from quartz.kernels import passes
from quartz.kernels.placeholder import Opaque, Parts
from quartz.parallel import in_parts, rows_in_parts

Matrix: TypeAlias = SparseMatrix | AnyArray
"""A matrix of float32 or float64, sparse or dense."""

# Rows that BLAS multiplies at once for a Gram matrix: they and their entries stay in the cache.
GRAM_ROWS, GRAM_ENTRIES = 1024, 80_000
GRAM_PARTS = 8  # of all rows, for threads
SOME_ROWS = 1024  # that stand for all in estimates
NARROW, FOLDED = 4, 4  # columns for which that many rows are folded
MOST_KEPT_FEATURES = 2000  # of a Gram matrix that is kept with the data
# X' x is summed in parts of rows, because a sum is off by as many roundings as it has terms.
PART_ROWS = 16_384  # then rounding is 2e-12 of the terms for any number of rows
PART_ENTRIES = 4  # least number of entries of a part, over the number of columns that it costs


Product: TypeAlias = Callable[[Opaque, Parts, Array, Array], None]
"""A pass over rows (with their functions) that multiplies with a vector, and its result."""


class Storage(ABC):
    """The rows of a matrix, wherever they are kept.

    A storage of your own sets the three attributes below; products, certificates, steps and epochs
    then work on it. The methods here go row by row through `rows` and `parts`; a storage may
    override them with faster ones.

    Attributes
    ----------
    shape : tuple of int
        Numbers of rows and columns.
    rows : NamedTuple
        The arrays that a kernel reads.
    parts : dict
        Plain functions that Numba can compile, by the names of the placeholders in
        :mod:`quartz.kernels.rows`. Entries are numbered 0, 1, ... through the whole matrix:
        ``row_start(rows, i)`` is the number of the first entry of row i, also for i = n;
        ``column(rows, k, start)`` and ``value(rows, k)`` are of entry k, whose row begins at
        `start`; ``prefetch_row(rows, i)`` is optional. All numbers are np.uint64. Entries may be
        0, and their columns in any order, but no column may occur twice in a row.
    """

    shape: tuple[int, int]
    rows: Opaque
    parts: Parts

    @property
    def nonzeros(self) -> int:
        """Number of stored entries, some of which may be 0."""
        return self._start(self.shape[0])

    def row(self, i: int) -> tuple[IntArray | slice, AnyArray]:
        """The columns of row i, as an index array or a slice, and its values."""
        start, stop = self._start(i), self._start(i + 1)
        positions = [np.uint64(k) for k in range(start, stop)]
        column, value = self.parts["column"], self.parts["value"]
        columns = [int(column(self.rows, k, np.uint64(start))) for k in positions]
        return np.array(columns, dtype=np.int64), np.array([value(self.rows, k) for k in positions])

    def take(self, examples: IntArray) -> Matrix:
        """The matrix of these rows, in this order."""
        columns, values = zip(*map(self.row, examples), strict=True) if len(examples) else ((), ())
        starts = np.cumsum([0, *(len(row) for row in values)])
        data = np.concatenate([*values, np.empty(0)]).astype(np.float64)
        indices = np.concatenate([*columns, np.empty(0, dtype=np.int64)])
        return sp.csr_array((data, indices, starts), (len(examples), self.shape[1]))

    def dense(self) -> Array:
        """The matrix as an array of float64; for small data."""
        rows = self.take(np.arange(self.shape[0]))
        return np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray())

    def support(self) -> Matrix:
        """The matrix with 1 in place of each entry that is not 0, sparse or dense."""
        return pattern(self.take(np.arange(self.shape[0])))

    def multiply(self, x: Array) -> Array:
        """X x in float64, for a vector x or a matrix of several columns."""
        return self._by_columns(passes.multiply, x, self.shape[0])

    def multiply_transposed(self, x: Array) -> Array:
        """X' x in float64, for a vector x or a matrix of several columns."""
        return self._by_columns(self._sum_of_parts, x, self.shape[1])

    def centre(self, weights: Array | None) -> Array:
        """The mean of the rows, with weights of mean 1."""
        ones = np.ones(self.shape[0]) if weights is None else np.ascontiguousarray(weights)
        return self.multiply_transposed(ones) / self.shape[0]

    def rough_centre(self, weights: Array | None) -> Array:
        """The same, or the mean of some rows, if that is faster."""
        return self.centre(weights)

    def squared_multiply(self, x: Array) -> Array:
        """(X o X) x in float64, without storing the squares X o X."""
        return self._by_columns(passes.squared_multiply, x, self.shape[0])

    @cached_property
    def squares(self) -> Array:
        """||x_i||^2 of all rows, computed once; not to be changed."""
        return self.squared_multiply(np.ones(self.shape[1]))

    @cached_property
    def mean_square(self) -> float:
        """The mean of ||x_i||^2."""
        return float(np.mean(self.squares))

    @cached_property
    def largest_square(self) -> float:
        """The mean of x_ij^2 in the column where it is largest, by some of the rows."""
        rows = self.dense_rows(slice(None, None, max(1, self.shape[0] // SOME_ROWS)))
        return float(np.einsum("ij,ij->j", rows, rows).max()) / len(rows)

    @property
    def row_terms(self) -> int:
        """The most products that are summed for an entry of X x."""
        return self.shape[1]

    @property
    def column_terms(self) -> int:
        """The most roundings that an entry of X' x suffers: a part's rows, and then the parts."""
        rows = self.shape[0]
        return min(rows, self.part_rows) + rows // self.part_rows

    @cached_property
    def part_rows(self) -> int:
        """Number of rows that are summed at once for X' x."""
        n, d = self.shape
        return max(PART_ROWS, int(PART_ENTRIES * d * (n / max(self.nonzeros, 1))))

    def add_gram(
        self, examples: IntArray | None, weights: Array, out: Array, single: bool = False
    ) -> None:
        """Add sum_i weights_i x_i x_i' over the examples to the lower triangle of `out`.

        If that has one more row and column than X has columns, the vectors are (x_i, 1).
        `examples` is None for all rows. Weights that are not negative take half the operations.
        With `single`, BLAS may multiply in float32, which takes half the time; sums of parts are in
        float64.
        """
        if not self.gram_by_blas:
            everyone = np.arange(self.shape[0]) if examples is None else examples
            features = self.shape[1]
            passes.add_outer_products(self.rows, self.parts, features, everyone, weights, out)
        elif not weights.strides[0]:  # one number, broadcast
            out += float(weights[0]) * self._plain_gram(examples, len(weights), len(out), single)
        elif weights.min(initial=0.0) >= 0:
            self._add_weighted_gram(examples, weights, out, single)
        else:
            for part in rows_in_parts(len(weights), self._gram_rows):
                rows = self.dense_rows(part if examples is None else examples[part])
                if len(out) > self.shape[1]:
                    rows = np.column_stack([rows, np.ones(len(rows))])
                out += rows.T @ (weights[part, None] * rows)

    def _plain_gram(self, examples: IntArray | None, count: int, size: int, single: bool) -> Array:
        """The same for weights 1 and so many examples; that of all rows is kept."""
        kept = self.__dict__.setdefault("_kept_grams", {})
        if examples is None and (size, single) in kept:
            return np.asarray(kept[size, single])
        found = np.zeros((size, size))
        self._add_weighted_gram(examples, np.broadcast_to(1.0, count), found, single)
        if examples is None and self.shape[1] <= MOST_KEPT_FEATURES:
            kept[size, single] = found
        return found

    def _add_weighted_gram(
        self, examples: IntArray | None, weights: Array, out: Array, single: bool
    ) -> None:
        """The same for weights that are not negative."""
        kind, together = np.float32 if single else np.float64, self._gram_rows
        count, d, plain = len(weights), self.shape[1], not weights.strides[0]

        def of_part(part: slice) -> Array:
            total, stop = np.zeros_like(out), min(part.stop, count)
            most = min(together, stop - part.start)
            scaled, ones = np.empty((most, d), kind), np.ones(most)
            for start in range(part.start, stop, together):
                some = slice(start, min(start + together, stop))
                rows = self.dense_rows(some if examples is None else examples[some])
                if len(out) > d:
                    these = ones[: len(rows)] if plain else weights[some]
                    total[d, :d] += these @ rows
                    total[d, d] += these.sum()
                if plain and not single:
                    total[:d, :d] += _square(rows)
                else:
                    to = scaled[: len(rows)]
                    root = 1.0 if plain else np.sqrt(weights[some, None]).astype(kind, copy=False)
                    if single:
                        to[:] = rows  # converted first: float32 is multiplied faster
                        rows = to
                    total[:d, :d] += _square(np.multiply(rows, root, out=to))
            return total

        # Parts that are few, because each has a matrix of its own, and many enough for threads.
        longer = max(together, -(-count // GRAM_PARTS))
        for total in in_parts(of_part, rows_in_parts(count, longer), count * d**2 / 8):
            out += total

    @property
    def _gram_rows(self) -> int:
        """Rows that BLAS multiplies at once."""
        return max(GRAM_ROWS, GRAM_ENTRIES // self.shape[1] // FOLDED * FOLDED)

    def dense_rows(self, examples: IntArray | slice) -> Array:
        """These rows as an array of float64, which may share the memory of the data."""
        if isinstance(examples, slice):
            examples = np.arange(self.shape[0])[examples]
        rows = np.zeros((len(examples), self.shape[1]))
        passes.scatter(self.rows, self.parts, examples, rows)
        return rows

    def row_lengths(self) -> IntArray:
        """Number of stored entries in each row."""
        starts: IntArray = np.array([self._start(i) for i in range(self.shape[0] + 1)])
        return starts[1:] - starts[:-1]

    @property
    def gram_by_blas(self) -> bool:
        """Whether `add_gram` multiplies dense matrices rather than going through the entries."""
        return False

    def _start(self, i: int) -> int:
        """The first position of row i."""
        return int(self.parts["row_start"](self.rows, np.uint64(i)))

    def _sum_of_parts(self, rows: Opaque, parts: Parts, x: Array, out: Array) -> None:
        """Out = X' x."""
        for start in range(0, self.shape[0], self.part_rows):
            part = np.zeros_like(out) if start else out
            passes.multiply_transposed(rows, parts, start, x[start : start + self.part_rows], part)
            if start:
                out += part

    def _by_columns(self, function: Product, x: Array, size: int) -> Array:
        columns = [np.ascontiguousarray(column) for column in np.atleast_2d(x.T)]
        found = np.zeros((len(columns), size))
        for column, out in zip(columns, found, strict=True):
            function(self.rows, self.parts, column, out)
        return found[0] if x.ndim == 1 else np.ascontiguousarray(found.T)


class MatrixStorage(Storage):
    """The rows of one matrix of SciPy or NumPy, whose own products are faster in float64.

    Attributes
    ----------
    matrix : csr_array or ndarray
    """

    matrix: Matrix

    def take(self, examples: IntArray) -> Matrix:
        return self.matrix[examples]

    def support(self) -> Matrix:
        return pattern(self.matrix)

    def multiply(self, x: Array) -> Array:
        if self.matrix.dtype == np.float64:
            return np.asarray(self.matrix @ x)
        return super().multiply(x)  # the matrix's own product would copy float32 data to float64

    def multiply_transposed(self, x: Array) -> Array:
        if self.matrix.dtype != np.float64:
            return super().multiply_transposed(x)
        parts, rows = self._transposed_parts, self.part_rows

        def of_part(k: int) -> Array:
            return np.asarray(parts[k] @ x[k * rows : (k + 1) * rows])

        first, *others = in_parts(of_part, range(len(parts)), self.nonzeros)
        for other in others:
            first += other
        return first

    @cached_property
    def _transposed_parts(self) -> list[Matrix]:
        """The parts of X', which share its memory."""
        starts = range(0, self.shape[0], self.part_rows)
        return [self.transposed_rows(start, start + self.part_rows) for start in starts]

    def transposed_rows(self, start: int, stop: int) -> Matrix:
        """The columns start, ..., stop - 1 of X', which share its memory."""
        return self.matrix[start:stop].T


def _square(rows: AnyArray) -> AnyArray:
    """rows' rows; of few columns several rows are taken as one, which BLAS multiplies faster."""
    count, d = rows.shape
    if d > NARROW or count % FOLDED:
        return rows.T @ rows  # for which NumPy calls BLAS's syrk
    folded = rows.reshape(count // FOLDED, FOLDED * d)
    blocks = (folded.T @ folded).reshape(FOLDED, d, FOLDED, d)
    return np.asarray(sum(blocks[k, :, k] for k in range(FOLDED)))


MatrixLike: TypeAlias = Storage | SparseMatrix | ArrayLike
"""What a user may give as a matrix: a storage, a sparse matrix of any format, or an array."""


def pattern(X: Matrix) -> Matrix:
    """The matrix with 1 in place of each entry that is not 0; zeros that X stores stay stored."""
    if isinstance(X, np.ndarray):
        return (X != 0).astype(np.float64)
    return sp.csr_array(((X.data != 0).astype(np.float64), X.indices, X.indptr), X.shape)
