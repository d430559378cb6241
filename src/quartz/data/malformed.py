"""Sparse matrices that point outside their own arrays.

SciPy looks at that when a matrix is made, but not when its arrays are replaced or changed. Its
loops would then read and write memory of others, which mostly ends the process.
"""

from typing import Any, NoReturn

import numpy as np

from quartz.arrays import AnyArray, SparseMatrix


def as_csr(X: Any) -> Any:
    """A sparse matrix of any format as CSR; refused if it points outside its own arrays.

    The columns of CSR are left to :func:`check_columns`: this here takes O(rows).
    """
    if X.format == "coo":
        for axis, positions in enumerate(X.coords):
            _check_range(f"coords[{axis}]", positions, X.shape[axis])
    elif X.format in ("csc", "bsr"):
        _check_starts(X)
        _check_range("indices", X.indices, _sizes(X)[1])
    elif X.format == "dia" and len(X.offsets) != len(X.data):
        _refuse(f"it has {len(X.offsets)} offsets for {len(X.data)} diagonals")
    elif X.format == "lil" and _lengths(X.rows) != _lengths(X.data, X.shape[0]):
        _refuse("its rows and data must be lists of equal lengths, one of each for every row")
    X = X.asformat("csr")
    _check_starts(X)
    return X


def check_columns(X: SparseMatrix) -> None:
    """Refuse a CSR matrix with entries in columns that it does not have."""
    if X.nnz and not 0 <= X.indices.min() <= X.indices.max() < X.shape[1]:
        _refuse(
            f"its column indices run from {X.indices.min()} to {X.indices.max()}, but it has "
            f"{X.shape[1]} columns"
        )


def _check_starts(X: Any) -> None:
    """Refuse an `indptr` that is not nondecreasing from 0 to at most the number of entries."""
    starts, rows = X.indptr, _sizes(X)[0]
    for name in ("indptr", "indices"):
        part = getattr(X, name)
        if part.dtype.kind not in "iu" or part.ndim != 1:
            got = f"{part.ndim} dimension(s) of {part.dtype}"
            _refuse(f"its {name} must be a vector of whole numbers, got {got}")
    if X.data.ndim != (3 if X.format == "bsr" else 1) or len(X.data) != len(X.indices):
        _refuse(f"its data have shape {X.data.shape} for {len(X.indices)} indices")
    if len(starts) != rows + 1:
        _refuse(f"its indptr has length {len(starts)} in place of {rows + 1}")
    if starts[0] != 0:
        _refuse(f"its indptr begins with {starts[0]} in place of 0")
    falls = np.flatnonzero(starts[1:] < starts[:-1])
    if falls.size:
        k = int(falls[0])
        _refuse(f"its indptr must not fall, but goes from {starts[k]} at {k} to {starts[k + 1]}")
    if starts[-1] > len(X.indices):
        _refuse(f"its indptr ends with {starts[-1]}, but it has {len(X.indices)} entries")


def _check_range(name: str, positions: AnyArray, size: int) -> None:
    if len(positions) and not 0 <= positions.min() <= positions.max() < size:
        _refuse(
            f"its {name} must lie between 0 and {size - 1}, but run from {positions.min()} to "
            f"{positions.max()}"
        )


def _sizes(X: Any) -> tuple[int, int]:
    """How many rows `indptr` divides the entries into, and how many columns `indices` number.

    Those of CSC are columns and rows, and those of BSR are rows and columns of blocks.
    """
    rows, columns = X.shape[::-1] if X.format == "csc" else X.shape
    height, width = X.data.shape[1:] if X.format == "bsr" and X.data.ndim == 3 else (1, 1)
    return rows // height, columns // width


def _lengths(lists: AnyArray, count: int | None = None) -> list[int] | None:
    """The length of each list; None unless there are `count` lists."""
    return None if count not in (None, len(lists)) else [len(each) for each in lists]


def _refuse(what: str) -> NoReturn:
    raise ValueError(
        f"X is malformed: {what}. Check how it was built; "
        "scipy.sparse.csr_array((data, (rows, columns)), shape) makes a proper matrix."
    )
