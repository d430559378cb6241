"""Domains of conjugates and regularizers, which are exact: rounding excuses no point outside."""

import numpy as np

from quartz.arrays import Floats


def barrier(x: Floats, lower: float, upper: float) -> Floats:
    """0 where lower <= x <= upper, else infinity; for scalars and arrays."""
    inside = np.greater_equal(x, lower) & np.less_equal(x, upper)
    outcome: Floats = np.where(inside, 0.0, np.inf)[()]
    return outcome
