"""Quasi-Newton directions: L-BFGS around the matrix of a sample, or around a multiple of I.

Each direction costs a few operations on vectors of length d. With the inverse of a sample's matrix
as the initial one, few steps are enough where the sample is large beside d; without one, L-BFGS is
what it always is.
"""

from collections import deque

import numpy as np
from scipy.linalg import lapack

from quartz.arrays import Array

MEMORY = 20  # pairs that are kept


class Metric:
    """An estimate of the inverse Hessian.

    Parameters
    ----------
    factor : ndarray of shape (d, d), optional
        Lower Cholesky factor of the initial matrix.
    """

    def __init__(self, factor: Array | None = None) -> None:
        self._factor = factor
        self._pairs: deque[tuple[Array, Array, float]] = deque(maxlen=MEMORY)
        self._scale = 1.0

    def direction(self, gradient: Array) -> Array:
        """Minus the estimate times the gradient, by the two loops of L-BFGS."""
        q, shares = gradient.copy(), []
        for move, change, product in reversed(self._pairs):
            share = float(move @ q) / product
            q -= share * change
            shares.append(share)
        if self._factor is None:
            q *= self._scale
        else:
            q = lapack.dpotrs(self._factor, q, lower=1, overwrite_b=1)[0]
        for (move, change, product), share in zip(self._pairs, reversed(shares), strict=True):
            q += (share - float(change @ q) / product) * move
        return -q

    def learn(self, move: Array, change: Array) -> None:
        """Take over how the gradient changed with w."""
        product = float(move @ change)
        square = float(change @ change)
        if product > 1e-12 * np.sqrt(square * float(move @ move)):
            self._pairs.append((move, change, product))
            self._scale = product / square
