"""The examples A_1, ..., A_n of [eq:primal], each a d x m matrix, behind one interface."""

from abc import ABC, abstractmethod
from copy import copy
from functools import cached_property
from typing import Self

import numpy as np
import scipy.sparse as sp

from quartz import checks
from quartz.arrays import Array, Floats, IntArray
from quartz.data.accurate import AccurateStorage
from quartz.data.csr import CsrStorage
from quartz.data.dense import DenseStorage
from quartz.data.storage import Matrix, MatrixLike, Storage
from quartz.kernels.placeholder import Opaque, Parts

NO_PARTS: Parts = {}
TINY = 2e-154  # numbers above it have squares with all their digits


def as_storage(X: MatrixLike) -> Storage:
    """Return `X` as a storage of sparse or dense rows, or itself if it is a storage already."""
    if isinstance(X, Storage):
        return X
    return CsrStorage(X) if sp.issparse(X) else DenseStorage(X)


class Blocks(ABC):
    """n examples A_i in R^{d x m}, made of the rows of one storage.

    Vectors over examples (predictions, dual variables) have shape (n,) if m = 1 and (n, m)
    otherwise.

    Attributes
    ----------
    storage : Storage
        The rows.
    n, d, m : int
        Number of examples, length of w, number of columns of each example.
    block_parts : dict
        For m > 1, the functions `block_dot` and `block_add` by which a kernel multiplies with an
        example.
    has_free_columns : bool
        Whether they carry the free intercept of a problem.
    has_plain_rows : bool
        Whether example i is row i of the storage, for each output.
    rows_alike : int
        The rows of A_i come in groups of this size, with the same pattern of nonzeros.
    """

    storage: Storage
    n: int
    d: int
    m: int
    block_parts: Parts = NO_PARTS
    has_free_columns: bool = False
    has_plain_rows: bool = False
    rows_alike: int = 1

    @property
    def dual_shape(self) -> tuple[int, ...]:
        """Shape of alpha."""
        return (self.n,) if self.m == 1 else (self.n, self.m)

    @property
    def features(self) -> int:
        """Number of columns of the storage."""
        return self.storage.shape[1]

    def kernel_view(self) -> "KernelView":
        """What a compiled kernel reads of the examples; one view serves one run at a time."""
        return KernelView(self.storage.rows, {**self.storage.parts, **self.block_parts})

    def per_example(self, values: Array) -> Array:
        """Reshape n numbers so that they broadcast with vectors over examples."""
        return values if self.m == 1 else values[:, None]

    def shaped(self, coefficients: Array) -> Array:
        """Reshape flat coefficients of the features, with a column for each output if m > 1.

        Blocks whose outputs share their coefficients leave them flat.
        """
        return coefficients

    @abstractmethod
    def predictions(self, w: Array) -> Array:
        """A_i' w for every example."""

    @abstractmethod
    def combination(self, alpha: Array) -> Array:
        """sum_i A_i alpha_i."""

    def balanced_combination(self, alpha: Array) -> Array:
        """The same, where the duals are known to sum to 0 exactly if there are free columns."""
        return self.combination(alpha)

    @abstractmethod
    def predict_one(self, i: int, w: Array) -> Floats:
        """A_i' w."""

    @abstractmethod
    def accumulate(self, i: int, delta: Floats, out: Array) -> None:
        """Add A_i delta to `out`."""

    @abstractmethod
    def squared_norms(
        self, row_weights: Array | None = None, offsets: Array | float = 0.0
    ) -> Array:
        """lambda_max(sum_j (c_j + o_i) A_ji' A_ji) for every i.

        c are the weights of the d rows, and o the offsets. Without both this is
        lambda_max(A_i' A_i) of [l-serialv]. The array must not be changed.
        """

    @cached_property
    def norms(self) -> Array:
        """`squared_norms()`, computed once; not to be changed."""
        return self.squared_norms()

    @cached_property
    def lengths(self) -> Array:
        """Bounds for the Frobenius norms of the A_i; not to be changed.

        A product with A_i is off by at most so much, times the norm of the other factor and a
        multiple of the unit of rounding.
        """
        return np.sqrt(self.m * self.norms) + self.underflow

    @cached_property
    def typical_length(self) -> float:
        """A bound for the root of the mean square of `lengths`, if possible without these."""
        return float(np.sqrt(np.mean(self.lengths * self.lengths)))

    @property
    def underflow(self) -> float:
        """A bound for the norm of entries of A_i whose squares underflow."""
        return TINY * float(np.sqrt(self.m * self.storage.row_terms))

    def accurate(self) -> Self:
        """The same examples, with products in twice the working precision."""
        other = copy(self)
        other.storage = AccurateStorage(self.storage)
        return other

    @abstractmethod
    def gram_products(self, alpha: Array) -> Array:
        """A_i' A_i alpha_i for every i."""

    @property
    def gram_size(self) -> int:
        """Rows of the matrix that :meth:`bordered_gram` takes, with columns that are not stored."""
        return self.features

    def bordered_gram(self, gram: Array) -> Array:
        """The lower triangle of sum_i h_i A_i A_i', for m = 1.

        `gram` is that of the storage's rows with the weights h, as :meth:`Storage.add_gram` leaves
        it; columns that are not stored, such as that of an intercept, replace its border.
        """
        return gram

    def dense_part(self, examples: slice) -> Array:
        """The A_i of some examples as the rows of an array, for m = 1."""
        return self.storage.dense_rows(examples)

    def for_one_output(self) -> "Blocks":
        """The same rows for a single output."""
        return RowBlocks(self.storage)

    @abstractmethod
    def take(self, examples: IntArray) -> Self:
        """The blocks of these examples, in this order."""

    @abstractmethod
    def dense(self) -> Array:
        """All blocks as one array of shape (n, d, m); for small data."""

    @abstractmethod
    def support(self) -> Matrix:
        """A 0/1 matrix, sparse or dense, with a row for each example that shows where A_ji != 0.

        The `rows_alike` rows of a group share one column.
        """

    def row_sums(self, weights: Array | None = None) -> Array:
        """For each row j, the sum of the weights of the examples with A_ji != 0.

        Without weights this is omega_j of [a-omegaj].
        """
        weights = np.ones(self.n) if weights is None else weights
        return np.repeat(self.support().T @ weights, self.rows_alike)

    def active_groups(self, labels: IntArray) -> Array:
        """omega'_j of [a-wjprime]: the number of groups with a nonzero in row j."""
        groups = sp.csr_array((np.ones(self.n), (labels, np.arange(self.n))))
        active = groups @ self.support()
        return np.repeat((active > 0).sum(axis=0).astype(np.float64), self.rows_alike)


class KernelView:
    """The examples as a kernel sees them, and the part of abar that it updates.

    Parameters
    ----------
    rows : NamedTuple
        The arrays that the kernel reads.
    parts : dict
        The functions that replace the placeholders of :mod:`quartz.kernels.rows`.
    """

    def __init__(self, rows: Opaque, parts: Parts) -> None:
        self.rows, self.parts = rows, parts

    def open(self, abar: Array, carried: Array) -> Array:
        """Return a view of the part of abar that the kernel updates.

        `carried` is what an intercept keeps from one call to the next.
        """
        return abar

    def close(self, abar: Array, carried: Array) -> None:
        """Update the rest of abar, and `carried`, after a call of the kernel."""


class RowBlocks(Blocks):
    """Examples with m = 1 column: A_i is row i of a matrix, sparse or dense."""

    has_plain_rows = True

    def __init__(self, X: MatrixLike) -> None:
        self.storage = as_storage(X)
        self.n, self.d = self.storage.shape
        self.m = 1

    def predictions(self, w: Array) -> Array:
        return self.storage.multiply(w)

    def combination(self, alpha: Array) -> Array:
        return self.storage.multiply_transposed(alpha)

    def predict_one(self, i: int, w: Array) -> Floats:
        columns, values = self.storage.row(i)
        return np.asarray(values @ w[columns])[()]

    def accumulate(self, i: int, delta: Floats, out: Array) -> None:
        columns, values = self.storage.row(i)
        out[columns] += values * delta

    def squared_norms(
        self, row_weights: Array | None = None, offsets: Array | float = 0.0
    ) -> Array:
        squares = self.storage.squares
        norms = squares if row_weights is None else self.storage.squared_multiply(row_weights)
        return norms + offsets * squares if np.any(offsets) else norms

    @cached_property
    def typical_length(self) -> float:
        return float(np.sqrt(self.storage.mean_square)) + self.underflow

    def gram_products(self, alpha: Array) -> Array:
        return self.norms * alpha

    def take(self, examples: IntArray) -> Self:
        return type(self)(self.storage.take(examples))

    def dense(self) -> Array:
        return self.storage.dense()[:, :, None]

    def support(self) -> Matrix:
        return self.storage.support()


def as_blocks(X: MatrixLike | Blocks, outputs: int = 1) -> Blocks:
    """Return `X` as Blocks: a matrix becomes RowBlocks, or KroneckerBlocks for several outputs."""
    from quartz.data.kronecker import KroneckerBlocks

    if isinstance(X, Blocks):
        if outputs not in (1, X.m):
            raise ValueError(f"The data have blocks of {X.m} columns, but {outputs} are needed.")
        return X
    checks.count("outputs", outputs, 1, None, "It is the number of columns of each block.")
    return RowBlocks(X) if outputs == 1 else KroneckerBlocks(X, outputs)
