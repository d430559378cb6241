"""The examples A_1, ..., A_n of [eq:primal], each a d x m matrix, behind one interface."""

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from quartz import checks
from quartz.arrays import Array, IntArray, Matrix
from quartz.data import matrix as storage


class Blocks(ABC):
    """n examples A_i in R^{d x m}, stored in one matrix.

    Vectors over examples (predictions, duals) have shape (n,) when m = 1 and (n, m) otherwise.

    Attributes
    ----------
    matrix : csr_array or ndarray
        The storage that a compiled kernel reads.
    n, d, m : int
        Number of examples, length of w, columns of each example.
    """

    matrix: Matrix
    n: int
    d: int
    m: int

    @property
    def dual_shape(self) -> tuple[int, ...]:
        """Shape of alpha."""
        return (self.n,) if self.m == 1 else (self.n, self.m)

    def per_example(self, values: Array) -> Array:
        """Shape n numbers so that they broadcast against vectors over examples."""
        return values if self.m == 1 else values[:, None]

    @abstractmethod
    def predictions(self, w: Array) -> Array:
        """A_i' w for every example."""

    @abstractmethod
    def combination(self, alpha: Array) -> Array:
        """sum_i A_i alpha_i."""

    @abstractmethod
    def predict_one(self, i: int, w: Array) -> Array:
        """A_i' w."""

    @abstractmethod
    def accumulate(self, i: int, delta: Array, out: Array) -> None:
        """Add A_i delta to `out`."""

    @abstractmethod
    def squared_norms(
        self, row_weights: Array | None = None, offsets: Array | float = 0.0
    ) -> Array:
        """lambda_max(sum_j (c_j + o_i) A_ji' A_ji) for every i, c the weights of the d rows.

        Without weights this is lambda_max(A_i' A_i) of [l-serialv].
        """

    @cached_property
    def norms(self) -> Array:
        """`squared_norms()`, found once; not to be changed."""
        return self.squared_norms()

    @abstractmethod
    def gram_products(self, alpha: Array) -> Array:
        """A_i' A_i alpha_i for every i."""

    @abstractmethod
    def take(self, examples: IntArray) -> Self:
        """Blocks of these examples only, in this order."""

    @abstractmethod
    def dense(self) -> Array:
        """All blocks as one array of shape (n, d, m); for small data."""

    @abstractmethod
    def support(self) -> Matrix:
        """0/1 matrix with a row per example: which rows j have A_ji != 0.

        Rows that come in groups of `rows_alike` with one pattern have one column together.
        """

    rows_alike = 1

    def row_sums(self, weights: Array | None = None) -> Array:
        """Sum for each row j of the weights of the examples with A_ji != 0.

        Without weights this is omega_j of [a-omegaj].
        """
        weights = np.ones(self.n) if weights is None else weights
        return np.repeat(self.support().T @ weights, self.rows_alike)

    def active_groups(self, labels: IntArray) -> Array:
        """omega'_j of [a-wjprime]: the number of groups with a nonzero in row j."""
        groups = sp.csr_array((np.ones(self.n), (labels, np.arange(self.n))))
        active = groups @ self.support()
        return np.repeat((active > 0).sum(axis=0).astype(np.float64), self.rows_alike)


class RowBlocks(Blocks):
    """m = 1: A_i is row i of a matrix, sparse or dense."""

    def __init__(self, X: Any) -> None:
        self.matrix = storage.canonical(X)
        self.n, self.d = self.matrix.shape
        self.m = 1

    def predictions(self, w: Array) -> Array:
        return storage.multiply(self.matrix, w)

    def combination(self, alpha: Array) -> Array:
        return storage.multiply_transposed(self.matrix, alpha)

    def predict_one(self, i: int, w: Array) -> Array:
        columns, values = storage.row(self.matrix, i)
        return np.asarray(values @ w[columns])[()]

    def accumulate(self, i: int, delta: Array, out: Array) -> None:
        columns, values = storage.row(self.matrix, i)
        out[columns] += values * delta

    def squared_norms(
        self, row_weights: Array | None = None, offsets: Array | float = 0.0
    ) -> Array:
        weights = np.ones(self.d) if row_weights is None else row_weights
        norms = storage.squared_multiply(self.matrix, weights)
        if np.any(offsets):
            norms += offsets * storage.squared_multiply(self.matrix, np.ones(self.d))
        return norms

    def gram_products(self, alpha: Array) -> Array:
        return self.squared_norms() * alpha

    def take(self, examples: IntArray) -> Self:
        return type(self)(self.matrix[examples])

    def dense(self) -> Array:
        X = self.matrix if isinstance(self.matrix, np.ndarray) else self.matrix.toarray()
        return X.astype(np.float64)[:, :, None]

    def support(self) -> Matrix:
        return storage.support(self.matrix)


def as_blocks(X: Any, outputs: int = 1) -> Blocks:
    """Return `X` as Blocks: a matrix gives RowBlocks, or with several outputs KroneckerBlocks."""
    from quartz.data.kronecker import KroneckerBlocks

    if isinstance(X, Blocks):
        if outputs not in (1, X.m):
            raise ValueError(f"The data have blocks of {X.m} columns, but {outputs} are needed.")
        return X
    checks.count("outputs", outputs, 1, None, "It is the number of columns of each block.")
    return RowBlocks(X) if outputs == 1 else KroneckerBlocks(X, outputs)
