"""Names for the array types that appear in signatures."""

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
