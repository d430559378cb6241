"""Multiclass and multitask data: every output has its own copy of the features."""

from typing import Any, Self

import numpy as np

from quartz import checks
from quartz.arrays import Array, IntArray, Matrix
from quartz.data import matrix as storage
from quartz.data.blocks import Blocks


class KroneckerBlocks(Blocks):
    """A_i = x_i (x) I_m, never stored m times.

    w is the row-major flattening of a (features, m) coefficient matrix W, so that
    A_i' w = W' x_i and lambda_max(A_i' A_i) = ||x_i||^2.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, features)
    outputs : int
        m, the number of classes or tasks.
    """

    def __init__(self, X: Any, outputs: int) -> None:
        self.matrix = storage.canonical(X)
        self.m = checks.count("outputs", outputs, 2, None, "For one output use RowBlocks.")
        self.n, self.features = self.matrix.shape
        self.d = self.features * self.m
        self.rows_alike = self.m

    def predictions(self, w: Array) -> Array:
        return storage.multiply(self.matrix, self._square(w))

    def combination(self, alpha: Array) -> Array:
        return storage.multiply_transposed(self.matrix, alpha).ravel()

    def predict_one(self, i: int, w: Array) -> Array:
        columns, values = storage.row(self.matrix, i)
        return np.asarray(values @ self._square(w)[columns])

    def accumulate(self, i: int, delta: Array, out: Array) -> None:
        columns, values = storage.row(self.matrix, i)
        self._square(out)[columns] += np.multiply.outer(values, delta)

    def squared_norms(
        self, row_weights: Array | None = None, offsets: Array | float = 0.0
    ) -> Array:
        weights = np.ones(self.d) if row_weights is None else row_weights
        # sum_j c_j A_ji' A_ji is diagonal here: entry k sums c over the rows of output k
        norms = storage.squared_multiply(self.matrix, self._square(weights)).max(axis=1)
        if np.any(offsets):
            norms += offsets * storage.squared_multiply(self.matrix, np.ones(self.features))
        return norms

    def gram_products(self, alpha: Array) -> Array:
        return self.squared_norms()[:, None] * alpha

    def take(self, examples: IntArray) -> Self:
        return type(self)(self.matrix[examples], self.m)

    def dense(self) -> Array:
        X = self.matrix if isinstance(self.matrix, np.ndarray) else self.matrix.toarray()
        blocks = np.einsum("if,kl->ifkl", X.astype(np.float64), np.eye(self.m))
        return blocks.reshape(self.n, self.d, self.m)

    def support(self) -> Matrix:
        return storage.support(self.matrix)

    def _square(self, w: Array) -> Array:
        return w.reshape(self.features, self.m)
