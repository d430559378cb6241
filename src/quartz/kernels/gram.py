"""Weighted sums of outer products of rows, for second derivatives."""

from typing import Any

import numpy as np

from quartz.arrays import Array, IntArray, Matrix
from quartz.kernels.compile import specialize

_ROWS = 256  # multiplied at once by BLAS
_BLAS = 0.08  # share of d^2 above which nnz^2 products of a row should cost more than BLAS's d^2


def add_gram(X: Matrix, examples: IntArray, weights: Array, out: Array) -> None:
    """Add sum_i weights_i x_i x_i' over the examples to the lower triangle of `out`."""
    if not isinstance(X, np.ndarray) and not prefers_blas(X):
        specialize(_add_outer, {})(X.indptr, X.indices, X.data, examples, weights, out)
        return
    for start in range(0, len(examples), _ROWS):
        part = slice(start, start + _ROWS)
        rows = _dense_rows(X, examples[part])
        out += rows.T @ (weights[part, None] * rows)


def _dense_rows(X: Matrix, examples: IntArray) -> Array:
    if isinstance(X, np.ndarray):
        return X[examples].astype(np.float64, copy=False)
    rows = np.zeros((len(examples), X.shape[1]))
    specialize(_scatter, {})(X.indptr, X.indices, X.data, examples, rows)
    return rows


def prefers_blas(X: Matrix) -> bool:
    """Whether dense products are cheaper than going through the nonzeros."""
    return outer_products(X) > _BLAS * X.shape[0] * X.shape[1] ** 2


def outer_products(X: Matrix) -> float:
    """Sum of nnz(x_i)^2."""
    if isinstance(X, np.ndarray):
        return float(X.size) * X.shape[1]
    return float(np.sum(np.square(np.diff(X.indptr), dtype=np.float64)))


def _add_outer(
    indptr: Array, indices: Array, data: Array, examples: Any, weights: Array, out: Array
) -> None:
    for r in range(examples.size):
        start, stop = indptr[examples[r]], indptr[examples[r] + 1]
        for k in range(start, stop):
            scaled = weights[r] * data[k]
            for other in range(start, k + 1):
                out[indices[k], indices[other]] += scaled * data[other]


def _scatter(indptr: Array, indices: Array, data: Array, examples: Any, rows: Array) -> None:
    for r in range(examples.size):
        for k in range(indptr[examples[r]], indptr[examples[r] + 1]):
            rows[r, indices[k]] = data[k]
