"""Passes in order: products with X, and distances.

Data in float32 are read as they are and summed in float64, without a copy.
"""

from typing import Any

import numpy as np

from quartz.arrays import Array, Matrix
from quartz.kernels.compile import specialize
from quartz.kernels.rows import add, as_rows, column, dot, row_parts, row_start


def multiply(X: Matrix, x: Array) -> Array:
    """X x in float64."""
    rows = as_rows(X)
    out = np.empty(X.shape[0])
    specialize(_multiply, row_parts(rows) | _PLAIN)(rows, x, out)
    return out


def multiply_transposed(X: Matrix, x: Array) -> Array:
    """X' x in float64."""
    rows = as_rows(X)
    out = np.zeros(X.shape[1])
    specialize(_multiply_transposed, row_parts(rows) | _PLAIN)(rows, x, out)
    return out


def squared_multiply(X: Matrix, x: Array) -> Array:
    """(X o X) x in float64."""
    rows = as_rows(X)
    out = np.empty(X.shape[0])
    specialize(_squared_multiply, row_parts(rows))(rows, x, out)
    return out


def subtract_outer(total: Array, x: Array, y: Array) -> None:
    """Total -= x (x) y, flat, without a temporary vector."""
    specialize(_subtract_outer, {})(total, x, y)


def is_canonical(X: Matrix) -> bool:
    """Whether a CSR matrix has sorted columns in range, no duplicates, and finite nonzeros only."""
    return bool(specialize(_is_canonical, {})(X.indptr, X.indices, X.data, X.shape[1]))


def squared_distance(x: Array, y: Array) -> float:
    """||x - y||^2, without a temporary vector."""
    return float(specialize(_squared_distance, {})(x, y))


def _multiply(rows: Any, x: Array, out: Array) -> None:
    for i in range(out.size):
        out[i] = dot(rows, np.uint64(i), x, 0.0, None)


def _multiply_transposed(rows: Any, x: Array, out: Array) -> None:
    for i in range(x.size):
        if x[i] != 0.0:
            add(rows, np.uint64(i), x[i], out, 0.0, None)


def _squared_multiply(rows: Any, x: Array, out: Array) -> None:
    for i in range(out.size):
        start, stop = row_start(rows, np.uint64(i)), row_start(rows, np.uint64(i + 1))
        out[i] = 0.0
        for k in range(start, stop):
            value = np.float64(rows.values[k])
            out[i] += value * value * x[column(rows, k, start)]


def _is_canonical(indptr: Array, indices: Array, data: Array, width: int) -> bool:
    for i in range(indptr.size - 1):
        if indptr[i] > indptr[i + 1]:
            return False
        previous = -1
        for k in range(indptr[i], indptr[i + 1]):
            if not previous < indices[k] < width or data[k] == 0 or not np.isfinite(data[k]):
                return False
            previous = indices[k]
    return True


def _subtract_outer(total: Array, x: Array, y: Array) -> None:
    for j in range(x.size):
        for k in range(y.size):
            total[j * y.size + k] -= x[j] * y[k]


def _squared_distance(x: Array, y: Array) -> float:
    total = 0.0
    for j in range(x.size):
        total += (x[j] - y[j]) ** 2
    return total


def _plain_coordinate(vector: Array, j: Any, scale: float, g: Any) -> float:
    return vector[j]


def _plain_add(vector: Array, j: Any, delta: float, scale: float, g: Any) -> None:
    vector[j] += delta


_PLAIN = {"coordinate": _plain_coordinate, "add_to": _plain_add}
