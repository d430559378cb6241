"""Names for the array types that appear in signatures; read-only arrays."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
"""Vector or matrix of float64, or of booleans that select."""

Floats: TypeAlias = Any
"""A float or an array of them: what formulas for one example take, and elementwise for many."""

IntArray: TypeAlias = NDArray[np.int64]

Matrix: TypeAlias = Any
"""Canonical `scipy.sparse.csr_array` or C-ordered 2-D `numpy.ndarray`, float32 or float64."""


def unlocked(array: Array) -> Array:
    """The same memory, without the mark that it is read-only.

    Numba would compile every kernel anew for read-only arrays, such as memory maps. Data are never
    written to.
    """
    return array if array.flags.writeable else np.asarray(_Unlocked(array))


class _Unlocked:
    """What NumPy's array interface tells of an array, but for the mark."""

    def __init__(self, array: Array) -> None:
        self._array = array  # to be kept alive
        address = array.__array_interface__["data"][0]
        self.__array_interface__ = array.__array_interface__ | {"data": (address, False)}
