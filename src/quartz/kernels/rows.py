"""Dot products and updates along one stored row, for both storages.

The kernels see a row as positions start, ..., stop - 1 of a flat array of values, each with a
column; `CsrRows` and `DenseRows` say where these are. Four accumulators hide the latency of the
additions, and unsigned positions spare Numba's test for negative indices.
"""

from typing import Any, NamedTuple

import numpy as np

from quartz.arrays import Array, Matrix
from quartz.kernels.placeholder import placeholder
from quartz.kernels.prefetch import prefetch_element
from quartz.kernels.vectors import add_to, coordinate

AHEAD = 4  # steps between the prefetch of a row and its use; 2 to 8 measured alike
LINE = 8  # float64 of a cache line
SHORT, LONG = 24, 128  # entries: a loop pays for more than SHORT; past LONG the hardware guesses


class CsrRows(NamedTuple):
    """Arrays of a CSR matrix, its indices viewed as unsigned."""

    starts: Array
    columns: Array
    values: Array


class DenseRows(NamedTuple):
    """A C-ordered matrix, flat."""

    width: np.uint64
    values: Array


class CsrRowsWithIntercept(NamedTuple):
    """The same with what `quartz.kernels.intercept` needs."""

    starts: Array
    columns: Array
    values: Array
    intercept: Any


class DenseRowsWithIntercept(NamedTuple):
    """The same with what `quartz.kernels.intercept` needs."""

    width: np.uint64
    values: Array
    intercept: Any


def as_rows(X: Matrix) -> CsrRows | DenseRows:
    """Return the arrays that a kernel reads; nothing is copied."""
    if isinstance(X, np.ndarray):
        return DenseRows(np.uint64(X.shape[1]), X.reshape(-1))
    return CsrRows(_unsigned(X.indptr), _unsigned(X.indices), X.data)


def row_parts(rows: Any) -> dict[str, Any]:
    """Return what the placeholders below stand for."""
    none = {
        "offset": _no_offset,
        "add_offset": _add_no_offset,
        "move_multiplier": _move_no_multiplier,
    }
    if hasattr(rows, "starts"):
        parts = {"row_start": _csr_start, "column": _csr_column, "prefetch_row": _csr_prefetch}
    else:
        parts = {
            "row_start": _dense_start,
            "column": _dense_column,
            "prefetch_row": _dense_prefetch,
        }
    return none | parts


@placeholder
def row_start(rows: Any, i: Any) -> Any:
    """Placeholder: first position of row i."""
    raise NotImplementedError


@placeholder
def column(rows: Any, k: Any, start: Any) -> Any:
    """Placeholder: column of position k, in the row that begins at start."""
    raise NotImplementedError


@placeholder
def prefetch_row(rows: Any, i: Any) -> None:
    """Placeholder: ask for row i."""


@placeholder
def offset(rows: Any, i: Any, output: Any, vectors: Any, scale: float, g: Any) -> float:
    """Placeholder: what an intercept adds to an output of A_i' x."""
    raise NotImplementedError


@placeholder
def add_offset(
    rows: Any, i: Any, output: Any, delta: float, vectors: Any, scale: float, g: Any
) -> None:
    """Placeholder: an intercept's part of abar += A_i delta, for one output."""


@placeholder
def move_multiplier(rows: Any) -> None:
    """Placeholder: what a free intercept does after an epoch."""


def dot(rows: Any, i: Any, vectors: Any, scale: float, g: Any) -> float:
    """A_i' x, x being the vector that `coordinate` reads."""
    start, stop = row_start(rows, i), row_start(rows, i + np.uint64(1))
    one, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    a = b = c = d = 0.0
    k = start
    while k + three < stop:
        a += rows.values[k] * coordinate(vectors, column(rows, k, start), scale, g)
        b += rows.values[k + one] * coordinate(vectors, column(rows, k + one, start), scale, g)
        c += rows.values[k + two] * coordinate(vectors, column(rows, k + two, start), scale, g)
        d += rows.values[k + three] * coordinate(vectors, column(rows, k + three, start), scale, g)
        k += four
    while k < stop:
        a += rows.values[k] * coordinate(vectors, column(rows, k, start), scale, g)
        k += one
    return (a + b) + (c + d) + offset(rows, i, np.uint64(0), vectors, scale, g)


def add(rows: Any, i: Any, delta: float, vectors: Any, scale: float, g: Any) -> None:
    """abar += A_i delta."""
    start, stop = row_start(rows, i), row_start(rows, i + np.uint64(1))
    k = start
    while k < stop:
        add_to(vectors, column(rows, k, start), rows.values[k] * delta, scale, g)
        k += np.uint64(1)
    add_offset(rows, i, np.uint64(0), delta, vectors, scale, g)


def _no_offset(rows: Any, i: Any, output: Any, vectors: Any, scale: float, g: Any) -> float:
    return 0.0


def _add_no_offset(
    rows: Any, i: Any, output: Any, delta: float, vectors: Any, scale: float, g: Any
) -> None:
    pass


def _move_no_multiplier(rows: Any) -> None:
    pass


def _csr_start(rows: Any, i: Any) -> Any:
    return np.uint64(rows.starts[i])


def _csr_column(rows: Any, k: Any, start: Any) -> Any:
    return np.uint64(rows.columns[k])


def _csr_prefetch(rows: Any, i: Any) -> None:
    start, end = np.int64(rows.starts[i]), np.int64(rows.starts[i + np.uint64(1)]) - 1
    prefetch_element(rows.columns, start)
    prefetch_element(rows.values, start)
    if end > start:  # a short row spans two cache lines or three
        prefetch_element(rows.columns, end)
        prefetch_element(rows.values, end)
        prefetch_element(rows.values, (start + end) // 2)
    if end > start + SHORT:
        for k in range(start + LINE, min(end, start + LONG), LINE):
            prefetch_element(rows.columns, k)
            prefetch_element(rows.values, k)


def _dense_start(rows: Any, i: Any) -> Any:
    return i * rows.width


def _dense_column(rows: Any, k: Any, start: Any) -> Any:
    return k - start


def _dense_prefetch(rows: Any, i: Any) -> None:
    start, width = int(i * rows.width), int(rows.width)
    for k in range(start, start + min(width, LONG), LINE):
        prefetch_element(rows.values, k)


def _unsigned(indices: Array) -> Array:
    return indices.view(np.uint32 if indices.dtype == np.int32 else np.uint64)
