"""A storage of sparse rows."""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from quartz import checks
from quartz.arrays import AnyArray, Array, IntArray, SparseMatrix
from quartz.data.malformed import as_csr, check_columns
from quartz.data.storage import Matrix, MatrixStorage
from quartz.kernels.compile import specialize
from quartz.kernels.placeholder import Parts, Position
from quartz.kernels.prefetch import CACHE_LINE, LONG_ROW, prefetch_element

MANY = 200_000  # stored entries above which one compiled check is faster than several of NumPy
SHORT_ROW = 24  # entries up to which a row is prefetched without a loop (docs/kernels.md)
# Share of nonzero products, in the d^2 products of a row's entries with one another, above which
# BLAS forms a Gram matrix faster although it computes all d^2.
BLAS_SHARE = 0.08


class CsrRows(NamedTuple):
    """The arrays of a CSR matrix."""

    starts: AnyArray  # indptr, viewed as uint32 or uint64
    columns: AnyArray  # indices, viewed as uint32 or uint64
    values: AnyArray  # float32 or float64


class CsrStorage(MatrixStorage):
    """Rows of a canonical CSR matrix in float32 or float64.

    Canonical means sorted columns without duplicates. Entries may be 0: whatever asks where
    A_ji != 0 asks for the values, not for the entries.

    Parameters
    ----------
    X : sparse matrix of any format
        The arrays of a CSR matrix are shared if it is canonical, its numbers are float32 or float64
        and its indices int32 or int64; stored zeros and read-only arrays change nothing. Otherwise
        there is a copy: of the numbers or the indices if only their type is another, of all if
        columns are not sorted or occur twice (then they are summed), or if the format is another.
    """

    def __init__(self, X: Any) -> None:
        X = _canonical(X)
        self.matrix: SparseMatrix = X
        self.shape = X.shape
        self.rows = CsrRows(_unsigned(X.indptr), _unsigned(X.indices), X.data)
        self.parts = PARTS

    @property
    def nonzeros(self) -> int:
        """Number of stored entries, some of which may be 0."""
        return int(self.matrix.nnz)

    def row(self, i: int) -> tuple[IntArray | slice, AnyArray]:
        start, stop = self.matrix.indptr[i], self.matrix.indptr[i + 1]
        return self.matrix.indices[start:stop], self.matrix.data[start:stop]

    def transposed_rows(self, start: int, stop: int) -> Matrix:
        X = self.matrix
        if start == 0 and stop >= self.shape[0]:
            return X.T
        starts = X.indptr[start : stop + 1]
        part = sp.csc_array((self.shape[1], len(starts) - 1))
        # SciPy's constructor would copy parts of larger arrays.
        part.data, part.indices = X.data[starts[0] : starts[-1]], X.indices[starts[0] : starts[-1]]
        part.indptr = (starts - starts[0]).astype(X.indices.dtype, copy=False)
        return part

    @cached_property
    def row_terms(self) -> int:
        return int(self.row_lengths().max())

    def row_lengths(self) -> IntArray:
        return np.diff(self.matrix.indptr)

    def dense(self) -> Array:
        return np.asarray(self.matrix.toarray()).astype(np.float64)

    @cached_property
    def gram_by_blas(self) -> bool:
        """Whether the rows are so full that BLAS is faster."""
        products = float(np.sum(np.square(self.row_lengths(), dtype=np.float64)))
        return products > BLAS_SHARE * self.shape[0] * self.shape[1] ** 2


def _canonical(X: Any) -> SparseMatrix:
    checks.check_dimensions(X)
    X = sp.csr_array(as_csr(X))  # shares the arrays of a csr_matrix
    if not all(part.flags.writeable for part in (X.data, X.indices, X.indptr)):
        X = sp.csr_array(
            (checks.unlocked(X.data), checks.unlocked(X.indices), checks.unlocked(X.indptr)),
            X.shape,
        )
    if X.dtype not in (np.float32, np.float64):
        numbers = X.data.astype(checks.float_dtype(X.dtype))
        X = sp.csr_array((numbers, X.indices, X.indptr), X.shape)  # X.astype copies the indices too
    checks.check_shape(X.shape)
    if _has_usual_indices(X) and X.nnz > MANY and _is_canonical(X):
        return X
    check_columns(X)
    if not _has_usual_indices(X):
        indices, indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
        X = sp.csr_array((X.data, indices, indptr), X.shape)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    bad = checks.not_finite(X.data)
    if bad.size:
        i = int(np.searchsorted(X.indptr, bad[0], side="right")) - 1
        checks.refuse_not_finite(i, int(X.indices[bad[0]]), X.data[bad[0]])
    return X


def _has_usual_indices(X: SparseMatrix) -> bool:
    usual = (np.int32, np.int64)
    return X.indices.dtype in usual and X.indptr.dtype in usual


def _is_canonical(X: SparseMatrix) -> bool:
    return bool(specialize(_canonical_rows, {})(X.indptr, X.indices, X.data, X.shape[1]))


def _canonical_rows(indptr: AnyArray, indices: AnyArray, data: AnyArray, width: int) -> bool:
    """Whether columns are sorted, in range and distinct, and all entries are finite."""
    for i in range(indptr.size - 1):
        previous = -1
        for k in range(indptr[i], indptr[i + 1]):
            if not previous < indices[k] < width or not np.isfinite(data[k]):
                return False
            previous = indices[k]
    return True


def _unsigned(indices: AnyArray) -> AnyArray:
    return indices.view(np.uint32 if indices.dtype == np.int32 else np.uint64)


def _start(rows: CsrRows, i: Position) -> Position:
    return np.uint64(rows.starts[i])


def _column(rows: CsrRows, k: Position, start: Position) -> Position:
    return np.uint64(rows.columns[k])


def _value(rows: CsrRows, k: Position) -> float:
    return rows.values[k]


def _prefetch(rows: CsrRows, i: Position) -> None:
    start, end = np.int64(rows.starts[i]), np.int64(rows.starts[i + np.uint64(1)]) - 1
    prefetch_element(rows.columns, start)
    prefetch_element(rows.values, start)
    if end > start:  # a short row spans two or three cache lines
        prefetch_element(rows.columns, end)
        prefetch_element(rows.values, end)
        prefetch_element(rows.values, (start + end) // 2)
    if end > start + SHORT_ROW:
        for k in range(start + CACHE_LINE, min(end, start + LONG_ROW), CACHE_LINE):
            prefetch_element(rows.columns, k)
            prefetch_element(rows.values, k)


PARTS: Parts = {"row_start": _start, "column": _column, "value": _value, "prefetch_row": _prefetch}
