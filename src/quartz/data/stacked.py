"""General blocks: n matrices of d rows and m columns, sparse or dense."""

from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from quartz import checks
from quartz.arrays import Array, IntArray, Matrix
from quartz.data import matrix as storage
from quartz.data.blocks import Blocks


class StackedBlocks(Blocks):
    """Column k of A_i is row i m + k of one matrix with n m rows.

    Parameters
    ----------
    rows : array or sparse matrix of shape (n m, d), or array of shape (n, d, m)
        The transposed blocks A_1', A_2', ... under one another, or the blocks themselves.
    outputs : int, optional
        m; needed with stacked rows.
    """

    def __init__(self, rows: Any, outputs: int | None = None) -> None:
        if not sp.issparse(rows) and np.ndim(rows) == 3:
            blocks = np.asarray(rows)
            if outputs not in (None, blocks.shape[2]):
                raise ValueError(
                    f"outputs is {outputs}, but the blocks have {blocks.shape[2]} columns."
                )
            outputs = blocks.shape[2]
            rows = blocks.transpose(0, 2, 1).reshape(-1, blocks.shape[1])
        remedy = "It is the number of columns of each block; for one column use RowBlocks."
        self.m = checks.count("outputs", outputs or 0, 2, None, remedy)
        self.matrix = storage.canonical(rows)
        stacked, self.d = self.matrix.shape
        self.n = stacked // self.m
        if self.n * self.m != stacked:
            raise ValueError(
                f"{stacked} stacked rows do not divide into blocks of outputs={self.m} columns."
            )

    def predictions(self, w: Array) -> Array:
        return storage.multiply(self.matrix, w).reshape(self.n, self.m)

    def combination(self, alpha: Array) -> Array:
        return storage.multiply_transposed(self.matrix, alpha.ravel())

    def predict_one(self, i: int, w: Array) -> Array:
        return np.array([values @ w[columns] for columns, values in self._columns(i)])

    def accumulate(self, i: int, delta: Array, out: Array) -> None:
        for k, (columns, values) in enumerate(self._columns(i)):
            out[columns] += values * delta[k]

    def squared_norms(
        self, row_weights: Array | None = None, offsets: Array | float = 0.0
    ) -> Array:
        grams = self._grams(np.ones(self.d) if row_weights is None else row_weights)
        if np.any(offsets):
            offset = np.broadcast_to(offsets, self.n)[:, None, None]
            grams += offset * self._grams(np.ones(self.d))
        return np.asarray(np.linalg.eigvalsh(grams)[:, -1])

    def gram_products(self, alpha: Array) -> Array:
        return np.einsum("ikl,il->ik", self._grams(np.ones(self.d)), alpha)

    def take(self, examples: IntArray) -> Self:
        stacked = np.asarray(examples)[:, None] * self.m + np.arange(self.m)
        return type(self)(self.matrix[stacked.ravel()], self.m)

    def dense(self) -> Array:
        X = self.matrix if isinstance(self.matrix, np.ndarray) else self.matrix.toarray()
        return X.astype(np.float64).reshape(self.n, self.m, self.d).transpose(0, 2, 1)

    def support(self) -> Matrix:
        pattern = storage.support(self.matrix)
        blocks = sp.kron(sp.eye_array(self.n), np.ones((1, self.m)), format="csr")
        counts = blocks @ pattern
        return storage.support(counts if isinstance(counts, np.ndarray) else sp.csr_array(counts))

    def _columns(self, i: int) -> list[tuple[Any, Array]]:
        return [storage.row(self.matrix, i * self.m + k) for k in range(self.m)]

    def _grams(self, row_weights: Array) -> Array:
        """sum_j c_j A_ji' A_ji for every i, shape (n, m, m)."""
        columns = [self.matrix[k :: self.m] for k in range(self.m)]
        grams = np.empty((self.n, self.m, self.m))
        for k, left in enumerate(columns):
            for other, right in enumerate(columns[: k + 1]):
                grams[:, k, other] = grams[:, other, k] = storage.product(left, right) @ row_weights
        return grams
