"""Rows with one more column, a constant, and centred ones besides; never stored."""

from functools import cached_property
from math import fsum
from typing import Self

import numpy as np
import scipy.sparse as sp

from quartz.arrays import Array, Floats, IntArray
from quartz.data import Blocks, KernelView
from quartz.data.storage import Matrix, pattern
from quartz.intercept import kernel


class InterceptBlocks(Blocks):
    """A_i = (x_i - c, s) (x) I_m: the last m coordinates of w are the intercepts over s.

    They are those of the centred rows, one for each output. Numbers for each output are a scalar if
    m = 1 and else have shape (m,).

    Parameters
    ----------
    rows : RowBlocks or KroneckerBlocks
        The x_i.
    constant : float
        s; a penalized intercept has 1.
    centre : ndarray of shape (features,), optional
        c, by default 0.

    Attributes
    ----------
    centred : bool
    """

    def __init__(
        self,
        rows: Blocks,
        constant: float = 1.0,
        centre: Array | None = None,
    ) -> None:
        self.storage, self.n, self.m = rows.storage, rows.n, rows.m
        self.d, self.rows_alike = rows.d + rows.m, rows.rows_alike
        self.block_parts = rows.block_parts
        self.rows, self.constant = rows, constant
        self._exact = False
        self.centred = centre is not None
        self.centre = np.zeros(rows.features) if centre is None else centre

    @cached_property
    def products(self) -> Array:
        """x_i' c, computed once; empty if c = 0."""
        return self.storage.multiply(self.centre) if self.centred else np.empty(0)

    def kernel_view(self) -> KernelView:
        """The column is a coordinate like the others; the rows must not be centred."""
        plain = super().kernel_view()
        rows = kernel.PenalizedRows(plain.rows, np.uint64(self.d - self.m))
        return KernelView(rows, kernel.inside(plain.parts, kernel.PENALIZED))

    def shaped(self, coefficients: Array) -> Array:
        return self.rows.shaped(coefficients)

    def predictions(self, w: Array) -> Array:
        return self.rows.predictions(w[: -self.m]) + self.intercept(w)

    def combination(self, alpha: Array) -> Array:
        total, found = self._total(alpha), np.empty(self.d)
        found[: -self.m] = self.rows.combination(alpha)
        if self.centred:
            found[: -self.m] -= np.multiply.outer(self.centre, total).ravel()
        found[-self.m :] = self.constant * total
        return found

    def predict_one(self, i: int, w: Array) -> Floats:
        return np.asarray(self.rows.predict_one(i, w[: -self.m]) + self.intercept(w))[()]

    def accumulate(self, i: int, delta: Floats, out: Array) -> None:
        self.rows.accumulate(i, delta, out[: -self.m])
        out[: -self.m] -= np.outer(self.centre, delta).ravel()
        out[-self.m :] += delta * self.constant

    def squared_norms(
        self, row_weights: Array | None = None, offsets: Array | float = 0.0
    ) -> Array:
        if row_weights is None:
            norms = self._unweighted_norms()
        else:
            norms = self._squared_norms(row_weights.reshape(-1, *self.dual_shape[1:]))
            norms = norms if norms.ndim == 1 else norms.max(axis=1)
        return norms + offsets * self._unweighted_norms() if np.any(offsets) else norms

    @cached_property
    def lengths(self) -> Array:
        """Those of x_i, c and s together, since x_i - c is never formed."""
        return np.asarray(self.rows.lengths + self._length_of_constants())

    @cached_property
    def typical_length(self) -> float:
        return self.rows.typical_length + self._length_of_constants()

    def _length_of_constants(self) -> float:
        return float(np.linalg.norm(self.centre)) + self.constant

    def accurate(self) -> Self:
        other = super().accurate()
        other.rows = self.rows.accurate()
        other._exact = True
        return other

    def gram_products(self, alpha: Array) -> Array:
        return self.per_example(self.norms) * alpha

    @property
    def gram_size(self) -> int:
        return self.features + 1

    def bordered_gram(self, gram: Array) -> Array:
        c, s = self.centre, self.constant
        column, total = gram[-1, :-1], gram[-1, -1]
        whole = gram.copy()
        if self.centred:
            half = np.multiply.outer(0.5 * total * c - column, c)
            whole[:-1, :-1] += half + half.T
        whole[-1, :-1] = s * (column - total * c)
        whole[-1, -1] = s**2 * total
        return whole

    def dense_part(self, examples: slice) -> Array:
        rows = self.storage.dense_rows(examples)
        found = np.empty((len(rows), self.d))
        np.subtract(rows, self.centre, out=found[:, :-1])
        found[:, -1] = self.constant
        return found

    def for_one_output(self) -> Self:
        centre = self.centre if self.centred else None
        return type(self)(self.rows.for_one_output(), self.constant, centre)

    def take(self, examples: IntArray) -> Self:
        centre = self.centre if self.centred else None
        return type(self)(self.rows.take(examples), self.constant, centre)

    def dense(self) -> Array:
        outputs = np.eye(self.m)
        features = self.rows.dense() - np.kron(self.centre[:, None], outputs)
        constant = np.broadcast_to(self.constant * outputs, (self.n, self.m, self.m))
        return np.concatenate([features, constant], axis=1)

    def support(self) -> Matrix:
        ones = np.ones((self.n, 1))
        of_rows = self.storage.support()
        if self.centred:
            return pattern(np.hstack([self.storage.dense() - self.centre, ones]))
        if isinstance(of_rows, np.ndarray):
            return np.hstack([of_rows, ones])
        return sp.hstack([of_rows, ones], format="csr")

    def row_sums(self, weights: Array | None = None) -> Array:
        weights = np.ones(self.n) if weights is None else weights
        sums = np.full(self.d, float(weights.sum()))
        if not self.centred:
            sums[: -self.m] = self.rows.row_sums(weights)
        return sums

    def active_groups(self, labels: IntArray) -> Array:
        groups = np.full(self.d, float(np.unique(labels).size))
        if not self.centred:
            groups[: -self.m] = self.rows.active_groups(labels)
        return groups

    def per_output(self, w: Array) -> Floats:
        """The last coordinates, a scalar if m = 1."""
        return np.asarray(w[-self.m :].reshape(self.dual_shape[1:]))[()]

    def intercept(self, w: Array) -> Floats:
        """Of the rows as they are: b with A_i' w = x_i' W + b, W the other coordinates."""
        return self.constant * self.per_output(w) - self._centre_product(w[: -self.m])

    def with_intercept(self, features: Array, b: Floats) -> Array:
        """Return the w with these coefficients and this intercept."""
        return np.append(features, (b + self._centre_product(features)) / self.constant)

    def _centre_product(self, features: Array) -> Floats:
        """c' W, summed by pairs: the same for any number of threads of BLAS."""
        if not self.centred:
            return np.zeros(self.dual_shape[1:])[()]
        return _sum_by_pairs((self.centre * features.reshape(-1, *self.dual_shape[1:]).T).T)

    def _total(self, alpha: Array) -> Floats:
        """The sum over the examples, for each output; exact in accurate blocks."""
        if self._exact:
            sums = [fsum(column) for column in alpha.reshape(self.n, -1).T]
            return np.reshape(sums, self.dual_shape[1:])[()]
        return _sum_by_pairs(alpha)

    def _unweighted_norms(self) -> Array:
        """||x_i - c||^2 + s^2."""
        norms = self.storage.squares + self.constant**2
        return self._centred_norms(norms, self.centre @ self.centre, self.products)

    def _squared_norms(self, weights: Array) -> Array:
        """sum_j weights_j A_ji^2, for one vector of weights or several columns."""
        features = weights[:-1]
        norms = self.storage.squared_multiply(features) + self.constant**2 * weights[-1]
        if not self.centred:
            return norms
        products = self.storage.multiply((features.T * self.centre).T)
        return self._centred_norms(norms, self.centre**2 @ features, products)

    def _centred_norms(self, norms: Array, square: Floats, products: Array) -> Array:
        """The norms of centred rows, from those of the rows, of the centre, and their products."""
        if not self.centred:
            return norms
        norms = norms + square
        rounding = 4 * np.finfo(np.float64).eps * norms  # of the difference that follows
        norms = np.maximum(norms - 2 * products, 0.0) + rounding
        norms[np.isnan(norms)] = np.inf  # the difference of two that overflow
        return norms


def _sum_by_pairs(x: Array) -> Floats:
    """The sum along the first axis; NumPy sums by pairs along a contiguous one only."""
    return np.asarray(np.ascontiguousarray(x.T).sum(axis=-1))[()]


class FreeBlocks(InterceptBlocks):
    """The same for a free intercept, of which kernels keep its own coordinates."""

    has_free_columns = True

    def balanced_combination(self, alpha: Array) -> Array:
        """Neither the centre nor the constant counts."""
        return np.append(self.rows.combination(alpha), np.zeros(self.m))

    def kernel_view(self) -> KernelView:
        """The kernel sees abar without its last m coordinates."""
        plain = Blocks.kernel_view(self)
        return kernel.FreeView(
            plain, self.constant, self.products, self.centre, self.m, self.centred
        )
