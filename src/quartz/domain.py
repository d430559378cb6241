"""Domains of conjugates and regularizers: membership up to rounding."""

import numpy as np

from quartz.arrays import Floats

SLACK = 1e-12
"""How far outside its domain a function forgives a point: rounding puts it there."""


def barrier(x: Floats, lower: float, upper: float) -> Floats:
    """0 where lower <= x <= upper (up to SLACK), else infinity; for scalars and arrays."""
    inside = np.greater_equal(x, lower - SLACK) & np.less_equal(x, upper + SLACK)
    outcome: Floats = np.where(inside, 0.0, np.inf)[()]
    return outcome
