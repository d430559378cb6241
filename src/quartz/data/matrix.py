"""The two storages of a data matrix, CSR and dense, behind a few plain functions."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from quartz.arrays import Array, Matrix, unlocked

_MANY = 200_000  # entries, above which one compiled check is quicker than NumPy's several


def canonical(X: Any, name: str = "X") -> Matrix:
    """Return `X` as finite float32/float64 CSR (sorted, no duplicates, no zeros) or dense.

    Nothing is copied when `X` has that form already; the caller's matrix is never changed.
    int64 index arrays stay int64.
    """
    return _canonical_sparse(X, name) if sp.issparse(X) else _canonical_dense(X, name)


def row(X: Matrix, i: int) -> tuple[Any, Array]:
    """Return columns (an index array, or a slice for dense data) and values of row `i`."""
    if isinstance(X, np.ndarray):
        return slice(None), X[i]
    start, stop = X.indptr[i], X.indptr[i + 1]
    return X.indices[start:stop], X.data[start:stop]


def multiply(X: Matrix, x: Array) -> Array:
    """X x in float64, for one vector or several columns.

    SciPy and NumPy would copy float32 data to float64; a compiled pass reads them as they are.
    """
    if X.dtype == np.float64:
        return np.asarray(X @ x)
    from quartz.kernels import passes

    return _by_columns(passes.multiply, X, x)


def multiply_transposed(X: Matrix, x: Array) -> Array:
    """X' x in float64, likewise."""
    if X.dtype == np.float64:
        return np.asarray(X.T @ x)
    from quartz.kernels import passes

    return _by_columns(passes.multiply_transposed, X, x)


def squared_multiply(X: Matrix, x: Array) -> Array:
    """(X o X) x in float64, without forming the squares."""
    from quartz.kernels import passes

    return _by_columns(passes.squared_multiply, X, x)


def _by_columns(function: Callable[[Matrix, Array], Array], X: Matrix, x: Array) -> Array:
    columns = [function(X, np.ascontiguousarray(column)) for column in np.atleast_2d(x.T)]
    return columns[0] if x.ndim == 1 else np.column_stack(columns)


def product(X: Matrix, Y: Matrix) -> Matrix:
    """Return the elementwise product of two matrices of one storage, in float64."""
    with np.errstate(over="ignore"):  # the plan of a run refuses infinite norms
        if isinstance(X, np.ndarray):
            return np.multiply(X, Y, dtype=np.float64)
        if X is Y:  # squares keep the pattern: share the index arrays
            squares = np.square(X.data, dtype=np.float64)
            return sp.csr_array((squares, X.indices, X.indptr), X.shape)
    return sp.csr_array(X.astype(np.float64).multiply(Y))


def support(X: Matrix) -> Matrix:
    """Return the 0/1 pattern of the nonzeros of `X`."""
    if isinstance(X, np.ndarray):
        return (X != 0).astype(np.float64)
    return sp.csr_array((np.ones(X.nnz), X.indices, X.indptr), X.shape)


def _canonical_sparse(X: Any, name: str) -> Matrix:
    _check_dimensions(X, name)
    X = sp.csr_array(X)  # shares the arrays of a csr_matrix
    if not all(part.flags.writeable for part in (X.data, X.indices, X.indptr)):
        X = sp.csr_array((unlocked(X.data), unlocked(X.indices), unlocked(X.indptr)), X.shape)
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(_float_dtype(X.dtype, name))
    _check_shape(X.shape, name)
    if _has_usual_indices(X) and X.nnz > _MANY and _is_canonical(X):
        return X
    if X.nnz and not 0 <= X.indices.min() <= X.indices.max() < X.shape[1]:
        raise ValueError(
            f"{name} is malformed: its column indices run from {X.indices.min()} to "
            f"{X.indices.max()}, but it has {X.shape[1]} columns. Check how it was built."
        )
    if not _has_usual_indices(X):
        indices, indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
        X = sp.csr_array((X.data, indices, indptr), X.shape)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    if np.count_nonzero(X.data) < X.nnz:
        X = X.copy()
        X.eliminate_zeros()
    bad = _not_finite(X.data)
    if bad.size:
        i = int(np.searchsorted(X.indptr, bad[0], side="right")) - 1
        _raise_not_finite(name, i, int(X.indices[bad[0]]), X.data[bad[0]])
    return X


def _has_usual_indices(X: Matrix) -> bool:
    usual = (np.int32, np.int64)
    return X.indices.dtype in usual and X.indptr.dtype in usual


def _is_canonical(X: Matrix) -> bool:
    from quartz.kernels import passes

    return passes.is_canonical(X)


def _canonical_dense(X: Any, name: str) -> Matrix:
    X = np.asarray(X)
    _check_dimensions(X, name)
    X = unlocked(np.ascontiguousarray(X, dtype=_float_dtype(X.dtype, name)))
    _check_shape(X.shape, name)
    bad = _not_finite(X)
    if bad.size:
        i, j = map(int, np.unravel_index(bad[0], X.shape))
        _raise_not_finite(name, i, j, X[i, j])
    return X


def _not_finite(values: Array) -> Array:
    """Flat positions of NaN and infinity; the sum tells cheaply that there are none."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(np.sum(values, dtype=np.float64)):
            return np.empty(0, dtype=np.int64)
    return np.flatnonzero(~np.isfinite(values))


def _check_dimensions(X: Any, name: str) -> None:
    if X.ndim != 2:
        raise ValueError(
            f"{name} must be a matrix with one row per example, got {X.ndim} dimension(s) of "
            f"shape {X.shape}. A single example is {name}.reshape(1, -1)."
        )


def _float_dtype(dtype: Any, name: str) -> Any:
    if dtype.kind not in "fiub":
        raise ValueError(f"{name} must hold real numbers, got dtype {dtype}. Encode them first.")
    return dtype if dtype in (np.float32, np.float64) else np.float64


def _check_shape(shape: tuple[int, int], name: str) -> None:
    if 0 in shape:
        raise ValueError(
            f"{name} is empty: its shape is {shape}. Give at least one row and column."
        )


def _raise_not_finite(name: str, i: int, j: int, value: float) -> None:
    raise ValueError(
        f"{name}[{i}, {j}] is {value}; the data must be finite. Remove row {i}, or impute it."
    )
