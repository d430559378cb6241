"""Passes in order: products with X, losses of every example, distances.

Data in float32 are read as they are and summed in float64, without a copy.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from quartz.arrays import Array, Floats, Matrix
from quartz.kernels.compile import specialize
from quartz.kernels.placeholder import placeholder
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


def is_canonical(X: Matrix) -> bool:
    """Whether a CSR matrix has sorted columns in range, no duplicates, and finite nonzeros only."""
    return bool(specialize(_is_canonical, {})(X.indptr, X.indices, X.data, X.shape[1]))


def squared_distance(x: Array, y: Array) -> float:
    """||x - y||^2, without a temporary vector."""
    return float(specialize(_squared_distance, {})(x, y))


def map_examples(function: Any, parameters: Any, x: Array, y: Array, out: Array) -> Array:
    """out_i = function(parameters, x_i, y_i) for every i."""
    specialize(_map_examples, {"example_function": function})(parameters, x, y, out)
    return out


def shifted_sum(
    function: Any, parameters: Any, x: Array, y: Array, weights: Array
) -> Callable[[float], float]:
    """Return sum_i weights_i function(parameters, x_i + shift, y_i) as a function of the shift."""
    kernel = specialize(_shifted_sum, {"example_function": function})
    return lambda shift: float(kernel(parameters, x, shift, y, weights))


@placeholder
def example_function(parameters: Any, x: Floats, y: Floats) -> Floats:
    """Placeholder: value, gradient or conjugate of a loss."""
    raise NotImplementedError


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


def _squared_distance(x: Array, y: Array) -> float:
    total = 0.0
    for j in range(x.size):
        total += (x[j] - y[j]) ** 2
    return total


def _map_examples(parameters: Any, x: Array, y: Array, out: Array) -> None:
    for i in range(out.shape[0]):
        out[i] = example_function(parameters, x[i], y[i])


def _shifted_sum(parameters: Any, x: Array, shift: float, y: Array, weights: Array) -> float:
    total = 0.0
    for i in range(x.size):
        total += weights[i] * example_function(parameters, x[i] + shift, y[i])
    return total


def _plain_coordinate(vector: Array, j: Any, scale: float, g: Any) -> float:
    return vector[j]


def _plain_add(vector: Array, j: Any, delta: float, scale: float, g: Any) -> None:
    vector[j] += delta


_PLAIN = {"coordinate": _plain_coordinate, "add_to": _plain_add}
