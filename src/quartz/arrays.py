"""Names for the array types that appear in signatures, and arithmetic that may overflow."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeAlias, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
"""Vector or matrix of float64."""

Mask: TypeAlias = NDArray[np.bool_]
"""Vector of booleans that selects examples or coordinates."""

IntArray: TypeAlias = NDArray[np.int64]
"""Vector of indices or counts."""

Floats: TypeAlias = float | NDArray[np.floating]
"""A float, or elementwise an array of them: what a formula for one example takes and gives."""

AnyArray: TypeAlias = NDArray[Any]
"""Array of a number type that is the user's choice: data in float32, int32 indices."""

SparseMatrix: TypeAlias = sp.csr_array
"""Canonical CSR: sorted columns without duplicates; entries may be 0."""

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")


def sums_of_rows(x: Array) -> Array:
    """The sum of each row of a matrix; for short rows BLAS is many times faster than NumPy."""
    return np.asarray(x @ np.ones(x.shape[1]))


class _Quiet(threading.local):
    """Whether this thread is inside `quiet`: entering NumPy's own context takes a microsecond."""

    active = False


_quiet = _Quiet()


@contextmanager
def quiet() -> Iterator[None]:
    """Numbers may overflow to infinity, or be infinity - infinity or 1 / 0.

    Losses do so far away, which is no error: whoever needs finite numbers looks at them.
    """
    before, _quiet.active = _quiet.active, True
    try:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            yield
    finally:
        _quiet.active = before


def as_quiet(function: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
    """The function for another thread, where it is `quiet` if this thread is."""
    return quietly(function) if _quiet.active else function


def quietly(function: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
    """A function that is `quiet`."""

    @wraps(function)
    def inner(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Returned:
        if _quiet.active:
            return function(*args, **kwargs)
        with quiet():
            return function(*args, **kwargs)

    return inner
