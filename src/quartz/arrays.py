"""Names for the array types that appear in signatures."""

from typing import Any, TypeAlias

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
