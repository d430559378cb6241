"""Passes over the rows of any storage in their order, and vector operations without temporaries.

Data in float32 are read as they are and summed in float64, without a copy.
"""

import numpy as np

from quartz.arrays import Array, IntArray
from quartz.kernels.compile import specialize
from quartz.kernels.error_free import two_product, two_sum
from quartz.kernels.placeholder import Opaque, Parts, Position
from quartz.kernels.rows import add, column, dot, row_start, value


def multiply(rows: Opaque, parts: Parts, x: Array, out: Array) -> None:
    """Out = X x."""
    specialize(_multiply, {**parts, **_PLAIN})(rows, x, out)


def multiply_transposed(rows: Opaque, parts: Parts, first: int, x: Array, out: Array) -> None:
    """Out += X' x for as many rows as x has entries, from the first one on."""
    specialize(_multiply_transposed, {**parts, **_PLAIN})(rows, first, x, out)


def multiply_exactly(rows: Opaque, parts: Parts, x: Array, out: Array) -> None:
    """Out = X x, summed in twice the working precision and rounded at the end."""
    specialize(_multiply_exactly, parts)(rows, x, out)


def multiply_transposed_exactly(rows: Opaque, parts: Parts, x: Array, out: Array) -> None:
    """Out = X' x, summed in twice the working precision and rounded at the end."""
    specialize(_multiply_transposed_exactly, parts)(rows, x, out, np.zeros_like(out))


def squared_multiply(rows: Opaque, parts: Parts, x: Array, out: Array) -> None:
    """Out = (X o X) x."""
    specialize(_squared_multiply, parts)(rows, x, out)


def add_outer_products(
    rows: Opaque, parts: Parts, features: int, examples: IntArray, weights: Array, out: Array
) -> None:
    """Add sum_i weights_i x_i x_i' over the examples to the lower triangle of `out`.

    If that has one more row, the vectors are (x_i, 1).
    """
    specialize(_add_outer_products, parts)(rows, features, examples, weights, out)


def scatter(rows: Opaque, parts: Parts, examples: IntArray, out: Array) -> None:
    """Write the rows of the examples into `out`, a dense matrix of zeros."""
    specialize(_scatter, parts)(rows, examples, out)


def subtract_outer(total: Array, x: Array, y: Array) -> None:
    """Total -= x (x) y, where `total` is the flattened matrix."""
    specialize(_subtract_outer, {})(total, x, y)


def squared_distance(x: Array, y: Array) -> float:
    """||x - y||^2."""
    return float(specialize(_squared_distance, {})(x, y))


def _multiply(rows: Opaque, x: Array, out: Array) -> None:
    for i in range(out.size):
        out[i] = dot(rows, np.uint64(i), x, 0.0, None)


def _multiply_transposed(rows: Opaque, first: int, x: Array, out: Array) -> None:
    for i in range(x.size):
        if x[i] != 0.0:
            add(rows, np.uint64(first + i), x[i], out, 0.0, None)


def _multiply_exactly(rows: Opaque, x: Array, out: Array) -> None:
    """The algorithm Dot2 of Ogita, Rump and Oishi."""
    for i in range(out.size):
        start, stop = row_start(rows, np.uint64(i)), row_start(rows, np.uint64(i + 1))
        total = lost = 0.0
        for k in range(start, stop):
            product, missing = two_product(np.float64(value(rows, k)), x[column(rows, k, start)])
            total, rest = two_sum(total, product)
            lost += rest + missing
        out[i] = total + lost


def _multiply_transposed_exactly(rows: Opaque, x: Array, out: Array, lost: Array) -> None:
    for i in range(x.size):
        start, stop = row_start(rows, np.uint64(i)), row_start(rows, np.uint64(i + 1))
        for k in range(start, stop):
            j = column(rows, k, start)
            product, missing = two_product(np.float64(value(rows, k)), x[i])
            out[j], rest = two_sum(out[j], product)
            lost[j] += rest + missing
    for j in range(out.size):
        out[j] += lost[j]


def _squared_multiply(rows: Opaque, x: Array, out: Array) -> None:
    for i in range(out.size):
        start, stop = row_start(rows, np.uint64(i)), row_start(rows, np.uint64(i + 1))
        out[i] = 0.0
        for k in range(start, stop):
            entry = np.float64(value(rows, k))
            out[i] += entry * entry * x[column(rows, k, start)]


def _add_outer_products(
    rows: Opaque, features: int, examples: IntArray, weights: Array, out: Array
) -> None:
    bordered = len(out) > features
    for r in range(examples.size):
        i = np.uint64(examples[r])
        start, stop = row_start(rows, i), row_start(rows, i + np.uint64(1))
        for k in range(start, stop):
            left, scaled = column(rows, k, start), weights[r] * value(rows, k)
            for other in range(start, k + np.uint64(1)):
                right = column(rows, other, start)
                out[max(left, right), min(left, right)] += scaled * value(rows, other)
            if bordered:
                out[features, left] += scaled
        if bordered:
            out[features, features] += weights[r]


def _scatter(rows: Opaque, examples: IntArray, out: Array) -> None:
    for r in range(examples.size):
        i = np.uint64(examples[r])
        start, stop = row_start(rows, i), row_start(rows, i + np.uint64(1))
        for k in range(start, stop):
            out[r, column(rows, k, start)] = value(rows, k)


def _subtract_outer(total: Array, x: Array, y: Array) -> None:
    for j in range(x.size):
        for k in range(y.size):
            total[j * y.size + k] -= x[j] * y[k]


def _squared_distance(x: Array, y: Array) -> float:
    total = 0.0
    for j in range(x.size):
        total += (x[j] - y[j]) ** 2
    return total


def _plain_coordinate(vector: Array, j: Position, scale: float, g: None) -> float:
    return vector[j]


def _plain_add(vector: Array, j: Position, delta: float, scale: float, g: None) -> None:
    vector[j] += delta


_PLAIN: Parts = {"coordinate": _plain_coordinate, "add_to": _plain_add}
