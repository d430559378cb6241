"""General blocks: n matrices of d rows and m columns, sparse or dense."""

from typing import Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from quartz import checks
from quartz.arrays import AnyArray, Array, Floats, IntArray, SparseMatrix
from quartz.data.blocks import Blocks, as_storage
from quartz.data.storage import Matrix, pattern
from quartz.kernels.placeholder import Opaque, Parts, Position
from quartz.kernels.rows import add, dot


class StackedBlocks(Blocks):
    """General blocks: column k of A_i is row i m + k of one matrix with n m rows.

    Parameters
    ----------
    rows : array or sparse matrix of shape (n m, d), or array of shape (n, d, m)
        The transposed blocks A_1', A_2', ... under one another, or the blocks themselves.
    outputs : int, optional
        m; required if the rows are stacked.
    """

    def __init__(self, rows: SparseMatrix | ArrayLike, outputs: int | None = None) -> None:
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
        self.storage = as_storage(rows)
        stacked, self.d = self.storage.shape
        self.n = stacked // self.m
        self.block_parts = BLOCK_PARTS
        if self.n * self.m != stacked:
            raise ValueError(
                f"{stacked} stacked rows do not divide into blocks of outputs={self.m} columns."
            )

    def predictions(self, w: Array) -> Array:
        return self.storage.multiply(w).reshape(self.n, self.m)

    def combination(self, alpha: Array) -> Array:
        return self.storage.multiply_transposed(alpha.ravel())

    def predict_one(self, i: int, w: Array) -> Array:
        return np.array([values @ w[columns] for columns, values in self._columns(i)])

    def accumulate(self, i: int, delta: Floats, out: Array) -> None:
        for (columns, values), share in zip(self._columns(i), np.asarray(delta), strict=True):
            out[columns] += values * share

    def squared_norms(
        self, row_weights: Array | None = None, offsets: Array | float = 0.0
    ) -> Array:
        grams = self._grams(np.ones(self.d) if row_weights is None else row_weights)
        if np.any(offsets):
            offset = np.broadcast_to(offsets, self.n)[:, None, None]
            grams += offset * self._grams(np.ones(self.d))
        finite = np.isfinite(grams).all(axis=(1, 2))  # infinite norms are refused later, by a plan
        norms = np.full(self.n, np.inf)
        norms[finite] = np.linalg.eigvalsh(grams[finite])[:, -1]
        return norms

    def gram_products(self, alpha: Array) -> Array:
        return np.einsum("ikl,il->ik", self._grams(np.ones(self.d)), alpha)

    def take(self, examples: IntArray) -> Self:
        stacked = np.asarray(examples)[:, None] * self.m + np.arange(self.m)
        return type(self)(self.storage.take(stacked.ravel()), self.m)

    def dense(self) -> Array:
        return self.storage.dense().reshape(self.n, self.m, self.d).transpose(0, 2, 1)

    def support(self) -> Matrix:
        blocks = sp.kron(sp.eye_array(self.n), np.ones((1, self.m)), format="csr")
        counts = blocks @ self.storage.support()
        return pattern(counts if isinstance(counts, np.ndarray) else sp.csr_array(counts))

    def _columns(self, i: int) -> list[tuple[IntArray | slice, AnyArray]]:
        return [self.storage.row(i * self.m + k) for k in range(self.m)]

    def _grams(self, row_weights: Array) -> Array:
        """sum_j c_j A_ji' A_ji for every i, of shape (n, m, m)."""
        stacked = np.arange(self.n * self.m)
        columns = [self.storage.take(stacked[k :: self.m]) for k in range(self.m)]
        grams = np.empty((self.n, self.m, self.m))
        for k, left in enumerate(columns):
            for other, right in enumerate(columns[: k + 1]):
                grams[:, k, other] = grams[:, other, k] = _product(left, right) @ row_weights
        return grams


def _product(X: Matrix, Y: Matrix) -> Matrix:
    """The elementwise product in float64 of two matrices, both sparse or both dense."""
    with np.errstate(over="ignore"):  # infinite norms are refused later, by the plan of a run
        if isinstance(X, np.ndarray):
            return np.multiply(X, Y, dtype=np.float64)
        return sp.csr_array(X.astype(np.float64).multiply(Y))


def _dot(rows: Opaque, i: Position, vectors: Opaque, scale: float, g: Opaque, out: Array) -> None:
    for k in range(out.size):
        out[k] = dot(rows, i * np.uint64(out.size) + np.uint64(k), vectors, scale, g)


def _add(rows: Opaque, i: Position, delta: Array, vectors: Opaque, scale: float, g: Opaque) -> None:
    for k in range(delta.size):
        add(rows, i * np.uint64(delta.size) + np.uint64(k), delta[k], vectors, scale, g)


BLOCK_PARTS: Parts = {"block_dot": _dot, "block_add": _add}
