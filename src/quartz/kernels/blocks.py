"""Products with the blocks of examples with m > 1 columns, stacked or Kronecker."""

from typing import Any

import numpy as np

from quartz.arrays import Array
from quartz.data import Blocks, KroneckerBlocks
from quartz.data.intercept import InterceptBlocks
from quartz.kernels.placeholder import placeholder
from quartz.kernels.rows import add, add_offset, column, dot, offset, row_start
from quartz.kernels.vectors import add_to, coordinate


def block_parts(data: Blocks) -> dict[str, Any]:
    """Return what the placeholders below stand for."""
    rows = data.rows if isinstance(data, InterceptBlocks) else data
    if isinstance(rows, KroneckerBlocks):
        return {"block_dot": _kronecker_dot, "block_add": _kronecker_add}
    return {"block_dot": _stacked_dot, "block_add": _stacked_add}


@placeholder
def block_dot(rows: Any, i: Any, vectors: Any, scale: float, g: Any, out: Array) -> None:
    """Placeholder: out = A_i' x."""


@placeholder
def block_add(rows: Any, i: Any, delta: Array, vectors: Any, scale: float, g: Any) -> None:
    """Placeholder: abar += A_i delta."""


def _stacked_dot(rows: Any, i: Any, vectors: Any, scale: float, g: Any, out: Array) -> None:
    for k in range(out.size):
        out[k] = dot(rows, i * np.uint64(out.size) + np.uint64(k), vectors, scale, g)


def _stacked_add(rows: Any, i: Any, delta: Array, vectors: Any, scale: float, g: Any) -> None:
    for k in range(delta.size):
        add(rows, i * np.uint64(delta.size) + np.uint64(k), delta[k], vectors, scale, g)


def _kronecker_dot(rows: Any, i: Any, vectors: Any, scale: float, g: Any, out: Array) -> None:
    start, stop = row_start(rows, i), row_start(rows, i + np.uint64(1))
    for output in range(out.size):
        out[output] = offset(rows, i, np.uint64(output), vectors, scale, g)
    for k in range(start, stop):
        first = column(rows, k, start) * np.uint64(out.size)
        for output in range(out.size):
            value = coordinate(vectors, first + np.uint64(output), scale, g)
            out[output] += rows.values[k] * value


def _kronecker_add(rows: Any, i: Any, delta: Array, vectors: Any, scale: float, g: Any) -> None:
    start, stop = row_start(rows, i), row_start(rows, i + np.uint64(1))
    for k in range(start, stop):
        first = column(rows, k, start) * np.uint64(delta.size)
        for output in range(delta.size):
            change = rows.values[k] * delta[output]
            add_to(vectors, first + np.uint64(output), change, scale, g)
    for output in range(delta.size):
        add_offset(rows, i, np.uint64(output), delta[output], vectors, scale, g)
