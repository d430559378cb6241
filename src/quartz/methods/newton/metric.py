"""Quasi-Newton directions: L-BFGS around an initial matrix, or around a multiple of I.

Each direction costs a few operations on vectors of length d. With the inverse of a sample's matrix
as the initial one, few steps are enough where the sample is large beside d; without one, L-BFGS is
what it always is.
"""

from collections import deque
from collections.abc import Callable

import numpy as np
from scipy.linalg import lapack

from quartz.arrays import Array

Inverse = Callable[[Array], Array]
"""What multiplies a vector of length d by the inverse of a matrix."""

MEMORY = 20  # pairs that are kept
TINY = 1e-9  # least eigenvalue that counts, over the largest one


class Metric:
    """An estimate of the inverse Hessian.

    Parameters
    ----------
    initial : callable, optional
        The inverse of the initial matrix.
    """

    def __init__(self, initial: Inverse | None = None) -> None:
        self._initial = initial
        self._pairs: deque[tuple[Array, Array, float]] = deque(maxlen=MEMORY)
        self._scale = 1.0

    def direction(self, gradient: Array) -> Array:
        """Minus the estimate times the gradient, by the two loops of L-BFGS."""
        q, shares = gradient.copy(), []
        for move, change, product in reversed(self._pairs):
            share = float(move @ q) / product
            q -= share * change
            shares.append(share)
        q = self._scale * q if self._initial is None else self._initial(q)
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


def by_factor(factor: Array) -> Inverse:
    """The inverse of a matrix with this lower Cholesky factor."""

    def solve(q: Array) -> Array:
        return np.asarray(lapack.dpotrs(factor, q, lower=1)[0])

    return solve


def of_product(G: Array, B: Array, lam: float, free: float | None) -> Inverse:
    """The inverse of G (x) B + lam I, for coordinates as in Kronecker blocks.

    With a free intercept the last coordinates are its own, whose matrix is `free` times B.
    """
    (values, vectors), (shares, outputs) = np.linalg.eigh(G), np.linalg.eigh(B)
    values, shares = np.maximum(values, 0.0), np.maximum(shares, 0.0)
    eigenvalues = np.multiply.outer(values, shares) + lam
    features = len(values)

    def solve(q: Array) -> Array:
        square = q.reshape(-1, len(shares))
        inner = (vectors.T @ square[:features] @ outputs) / eigenvalues
        found = vectors @ inner @ outputs.T
        if free is None:
            return found.ravel()
        of_b = outputs.T @ square[-1]
        counts = shares > TINY * shares.max()  # a constant may be added to all intercepts
        of_b = np.divide(of_b, free * shares, out=np.zeros_like(of_b), where=counts)
        return np.append(found.ravel(), outputs @ of_b)

    return solve
