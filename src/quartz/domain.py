"""Domains of conjugates and regularizers: membership up to rounding."""

import numpy as np

from quartz.arrays import Array

SLACK = 1e-12
"""How far outside its domain a function forgives a point: rounding puts it there."""


def barrier(x: Array, lower: float, upper: float) -> Array:
    """0 where lower <= x <= upper (up to SLACK), else infinity; for scalars and arrays."""
    inside = (x >= lower - SLACK) & (x <= upper + SLACK)
    return np.where(inside, 0.0, np.inf)[()]
