"""Names for the array types that appear in signatures."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
"""Float64 vector or matrix. Loss formulas take and return scalars where these do."""

IntArray: TypeAlias = NDArray[np.int64]

Matrix: TypeAlias = Any
"""Canonical `scipy.sparse.csr_array` or C-ordered 2-D `numpy.ndarray`, float32 or float64."""
