"""Multiclass and multitask data: every output has its own coefficients for the same features."""

from functools import cached_property
from typing import Self

import numpy as np

from quartz import checks
from quartz.arrays import Array, Floats, IntArray
from quartz.data.blocks import Blocks, as_storage
from quartz.data.storage import Matrix, MatrixLike
from quartz.kernels.placeholder import Opaque, Parts, Position
from quartz.kernels.rows import add_intercept_part, column, intercept_part, row_start, value
from quartz.kernels.vectors import add_to, coordinate


class KroneckerBlocks(Blocks):
    """A_i = x_i (x) I_m, of which only x_i is stored.

    w is the row-major flattening of a (features, m) coefficient matrix W, so that
    A_i' w = W' x_i and lambda_max(A_i' A_i) = ||x_i||^2.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, features)
    outputs : int
        m, the number of classes or tasks.
    """

    has_plain_rows = True

    def __init__(self, X: MatrixLike, outputs: int) -> None:
        self.storage = as_storage(X)
        self.m = checks.count("outputs", outputs, 2, None, "For one output use RowBlocks.")
        self.n, features = self.storage.shape
        self.d = features * self.m
        self.rows_alike = self.m
        self.block_parts = BLOCK_PARTS

    def shaped(self, coefficients: Array) -> Array:
        return self._square(coefficients)

    def predictions(self, w: Array) -> Array:
        return self.storage.multiply(self._square(w))

    def combination(self, alpha: Array) -> Array:
        return self.storage.multiply_transposed(alpha).ravel()

    def predict_one(self, i: int, w: Array) -> Array:
        columns, values = self.storage.row(i)
        return np.asarray(values @ self._square(w)[columns])

    def accumulate(self, i: int, delta: Floats, out: Array) -> None:
        columns, values = self.storage.row(i)
        self._square(out)[columns] += np.multiply.outer(values, delta)

    def squared_norms(
        self, row_weights: Array | None = None, offsets: Array | float = 0.0
    ) -> Array:
        norms = squares = self.storage.squares
        if row_weights is not None:
            # sum_j c_j A_ji' A_ji is diagonal here, and its entry k belongs to output k.
            norms = self.storage.squared_multiply(self._square(row_weights)).max(axis=1)
        return norms + offsets * squares if np.any(offsets) else norms

    @cached_property
    def lengths(self) -> Array:
        return np.sqrt(self.norms) + self.underflow  # each output has its own part of w

    @cached_property
    def typical_length(self) -> float:
        return float(np.sqrt(self.storage.mean_square)) + self.underflow

    def gram_products(self, alpha: Array) -> Array:
        return self.norms[:, None] * alpha

    def take(self, examples: IntArray) -> Self:
        return type(self)(self.storage.take(examples), self.m)

    def dense(self) -> Array:
        blocks = np.einsum("if,kl->ifkl", self.storage.dense(), np.eye(self.m))
        return blocks.reshape(self.n, self.d, self.m)

    def support(self) -> Matrix:
        return self.storage.support()

    def _square(self, w: Array) -> Array:
        return w.reshape(self.features, self.m)


def _dot(rows: Opaque, i: Position, vectors: Opaque, scale: float, g: Opaque, out: Array) -> None:
    start, stop = row_start(rows, i), row_start(rows, i + np.uint64(1))
    for output in range(out.size):
        out[output] = intercept_part(rows, i, np.uint64(output), vectors, scale, g)
    for k in range(start, stop):
        first = column(rows, k, start) * np.uint64(out.size)
        for output in range(out.size):
            coefficient = coordinate(vectors, first + np.uint64(output), scale, g)
            out[output] += value(rows, k) * coefficient


def _add(rows: Opaque, i: Position, delta: Array, vectors: Opaque, scale: float, g: Opaque) -> None:
    start, stop = row_start(rows, i), row_start(rows, i + np.uint64(1))
    for k in range(start, stop):
        first = column(rows, k, start) * np.uint64(delta.size)
        for output in range(delta.size):
            change = value(rows, k) * delta[output]
            add_to(vectors, first + np.uint64(output), change, scale, g)
    for output in range(delta.size):
        add_intercept_part(rows, i, np.uint64(output), delta[output], vectors, scale, g)


BLOCK_PARTS: Parts = {"block_dot": _dot, "block_add": _add}
