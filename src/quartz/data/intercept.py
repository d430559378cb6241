"""Rows with one more column, a constant, and centred ones besides; never stored."""

from typing import Self

import numpy as np

from quartz.arrays import Array, IntArray, Matrix
from quartz.data import matrix as storage
from quartz.data.blocks import Blocks, RowBlocks


class InterceptBlocks(Blocks):
    """A_i = (x_i - c, s): the last coordinate of w is the intercept over s, of centred rows.

    Parameters
    ----------
    rows : RowBlocks
        The x_i.
    constant : float
        s; a penalized intercept has 1.
    centre : ndarray of shape (d - 1,), optional
        c, by default 0.
    free : bool
        Whether the intercept has no penalty.

    Attributes
    ----------
    products : ndarray of shape (n,)
        x_i' c; empty if c = 0.
    centred : bool
    mean_square : float
        Of the ||A_i||.
    """

    def __init__(
        self,
        rows: RowBlocks,
        constant: float = 1.0,
        centre: Array | None = None,
        free: bool = False,
    ) -> None:
        self.matrix, self.n, self.m = rows.matrix, rows.n, 1
        self.d = rows.d + 1
        self.rows, self.constant, self.free = rows, constant, free
        self.centred = centre is not None
        self.centre = np.zeros(rows.d) if centre is None else centre
        self.products = np.empty(0) if centre is None else rows.predictions(centre)
        self.mean_square = float(self.squared_norms().mean())

    def predictions(self, w: Array) -> Array:
        return self.rows.predictions(w[:-1]) + self._shift(w)

    def combination(self, alpha: Array) -> Array:
        total = float(alpha.sum())
        features = self.rows.combination(alpha) - total * self.centre
        return np.append(features, self.constant * total)

    def predict_one(self, i: int, w: Array) -> Array:
        return np.asarray(self.rows.predict_one(i, w[:-1]) + self._shift(w))[()]

    def accumulate(self, i: int, delta: Array, out: Array) -> None:
        self.rows.accumulate(i, delta, out[:-1])
        out[:-1] -= delta * self.centre
        out[-1] += delta * self.constant

    def squared_norms(
        self, row_weights: Array | None = None, offsets: Array | float = 0.0
    ) -> Array:
        weights = np.ones(self.d) if row_weights is None else row_weights
        norms = self._squared_norms(weights)
        if np.any(offsets):
            norms += offsets * self._squared_norms(np.ones(self.d))
        return norms

    def gram_products(self, alpha: Array) -> Array:
        return self.squared_norms() * alpha

    def take(self, examples: IntArray) -> Self:
        centre = self.centre if self.centred else None
        return type(self)(self.rows.take(examples), self.constant, centre, self.free)

    def dense(self) -> Array:
        features = self.rows.dense()[:, :, 0] - self.centre
        constant = np.full((self.n, 1), self.constant)
        return np.hstack([features, constant])[:, :, None]

    def support(self) -> Matrix:
        return storage.support(self.dense()[:, :, 0])

    def row_sums(self, weights: Array | None = None) -> Array:
        weights = np.ones(self.n) if weights is None else weights
        total = float(weights.sum())
        sums = np.full(self.d, total)
        if not self.centred:
            sums[:-1] = self.rows.row_sums(weights)
        return sums

    def active_groups(self, labels: IntArray) -> Array:
        groups = np.full(self.d, float(np.unique(labels).size))
        if not self.centred:
            groups[:-1] = self.rows.active_groups(labels)
        return groups

    def intercept(self, w: Array) -> float:
        """Of the rows as they are: b with A_i' w = x_i' w[:-1] + b."""
        return float(self._shift(w))

    def with_intercept(self, features: Array, b: float) -> Array:
        """Return the w with these coefficients and this intercept."""
        return np.append(features, (b + features @ self.centre) / self.constant)

    def _shift(self, w: Array) -> float:
        return self.constant * w[-1] - float(self.centre @ w[:-1])

    def _squared_norms(self, weights: Array) -> Array:
        features = weights[:-1]
        norms = self.rows.squared_norms(features) + weights[-1] * self.constant**2
        if self.centred:
            norms += features @ self.centre**2
            norms -= 2 * self.rows.predictions(features * self.centre)
        return norms
