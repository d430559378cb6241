"""Products with one example, A_i' x and abar += A_i delta, for every storage.

A kernel sees a row as the positions start, ..., stop - 1 of some flat array, each with a column and
a value. The storage says where these are: its functions replace the placeholders here
(:class:`quartz.data.Storage`). Four accumulators hide the latency of the additions, and unsigned
positions spare Numba's test for negative indices.
"""

import numpy as np

from quartz.arrays import Array
from quartz.kernels.placeholder import Opaque, Position, placeholder
from quartz.kernels.vectors import add_to, coordinate

AHEAD = 4  # rows from the one in use to the one prefetched; 2 to 12 are as fast (docs/kernels.md)


@placeholder
def row_start(rows: Opaque, i: Position) -> Position:
    """Placeholder: the first position of row i, which ends where row i + 1 begins."""
    raise NotImplementedError


@placeholder
def column(rows: Opaque, k: Position, start: Position) -> Position:
    """Placeholder: the column of position k, in the row that begins at start."""
    raise NotImplementedError


@placeholder
def value(rows: Opaque, k: Position) -> float:
    """Placeholder: the value at position k."""
    raise NotImplementedError


@placeholder
def prefetch_row(rows: Opaque, i: Position) -> None:
    """Placeholder: prefetch row i; it does nothing unless the storage replaces it."""


@placeholder
def block_dot(
    rows: Opaque, i: Position, vectors: Opaque, scale: float, g: Opaque, out: Array
) -> None:
    """Placeholder: out = A_i' x for an example with m > 1 columns."""


@placeholder
def block_add(
    rows: Opaque, i: Position, delta: Array, vectors: Opaque, scale: float, g: Opaque
) -> None:
    """Placeholder: abar += A_i delta for an example with m > 1 columns."""


@placeholder
def intercept_part(
    rows: Opaque, i: Position, output: Position, vectors: Opaque, scale: float, g: Opaque
) -> float:
    """Placeholder: what an intercept adds to an output of A_i' x; 0 without an intercept."""
    return 0.0


@placeholder
def add_intercept_part(
    rows: Opaque,
    i: Position,
    output: Position,
    delta: float,
    vectors: Opaque,
    scale: float,
    g: Opaque,
) -> None:
    """Placeholder: an intercept's part of abar += A_i delta, for one output."""


@placeholder
def end_epoch(rows: Opaque) -> None:
    """Placeholder: update a free intercept after an epoch; nothing without one."""


def dot(rows: Opaque, i: Position, vectors: Opaque, scale: float, g: Opaque) -> float:
    """A_i' x, where x is the vector that `coordinate` reads."""
    start, stop = row_start(rows, i), row_start(rows, i + np.uint64(1))
    one, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    a = b = c = d = 0.0
    k = start
    while k + three < stop:
        a += value(rows, k) * coordinate(vectors, column(rows, k, start), scale, g)
        b += value(rows, k + one) * coordinate(vectors, column(rows, k + one, start), scale, g)
        c += value(rows, k + two) * coordinate(vectors, column(rows, k + two, start), scale, g)
        d += value(rows, k + three) * coordinate(vectors, column(rows, k + three, start), scale, g)
        k += four
    while k < stop:
        a += value(rows, k) * coordinate(vectors, column(rows, k, start), scale, g)
        k += one
    return (a + b) + (c + d) + intercept_part(rows, i, np.uint64(0), vectors, scale, g)


def add(rows: Opaque, i: Position, delta: float, vectors: Opaque, scale: float, g: Opaque) -> None:
    """abar += A_i delta."""
    start, stop = row_start(rows, i), row_start(rows, i + np.uint64(1))
    k = start
    while k < stop:
        add_to(vectors, column(rows, k, start), value(rows, k) * delta, scale, g)
        k += np.uint64(1)
    add_intercept_part(rows, i, np.uint64(0), delta, vectors, scale, g)
