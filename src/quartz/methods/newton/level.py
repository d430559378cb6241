"""Newton steps on the examples of one level: a sample of the rows, or all of them.

With the mean loss f, and the curvatures h_i = phi_i''(a_i) at the predictions a = A'w, a step p
minimizes

    <grad f(w), p> + 1/2 p'Hp + lam g(w + p),       H = 1/n sum_i S_i A_i A_i',

where S_i = h_i, or what h_i was not long ago: a linear system for L2, a sequence of them for other
separable penalties (:mod:`quartz.methods.newton.separable`).

Any S >= 0 gives a dual point that belongs to w + p: for alpha_i = -(phi_i'(a_i) + S_i A_i'p),

    abar = 1/(lam n) sum_i A_i alpha_i = -(grad f(w) + Hp) / lam     has  w + p = grad g*(abar),

as long as all alpha_i are inside their domains, and they sum to 0 where an intercept is free. So
the gap of the pair (w + p, alpha) has no part from the regularizer, and that of the losses is of
second order. The plain dual point -phi_i'(a_i) has for L2 the gap ||grad P||^2 / (2 lam), much
larger for small lam.
"""

import numpy as np
from scipy.linalg import lapack

from quartz.arrays import Array
from quartz.data import Blocks
from quartz.losses.examples import ExampleLosses
from quartz.methods.newton.search import backtrack, search
from quartz.methods.newton.separable import minimizer
from quartz.regularizers.base import Regularizer, abilities
from quartz.rounding import Predicted, norm

CHANGE = 0.1  # relative change of a curvature below which the old one is kept
MOST_CHANGED = 0.5  # share of changed curvatures above which BLAS forms the whole matrix anew
NEGLIGIBLE = 1e-6  # a curvature, over the largest one
FLAT = 0.05  # mean curvature, over its bound, below which the matrix would be lam I nearly
TRIALS = 30  # of factorizations with more and more damping


class Level:
    """A point on some of the examples, and the matrix of the next step.

    Parameters
    ----------
    data : Blocks
    losses : ExampleLosses
        Those of the examples.
    lam : float
    regularizer : Regularizer
        L2, or another separable one with `conjugate_curvature`.
    penalized : ndarray of shape (d,)
        1 for coordinates that are penalized, 0 for those that are free.

    Attributes
    ----------
    w, predictions : ndarray
        The point, and A_i' w.
    slopes, bends : ndarray
        phi_i' and phi_i'' there; without curvatures the latter is None.
    length, moved : float, ndarray of shape (d,)
        The last step: its length in units of its direction, and the change of w.
    visited : int
        Examples that were visited, once for each product.
    """

    def __init__(
        self,
        data: Blocks,
        losses: ExampleLosses,
        lam: float,
        regularizer: Regularizer,
        penalized: Array,
    ) -> None:
        self.data, self.losses, self._lam, self._g = data, losses, lam, regularizer
        self._quadratic = abilities(regularizer).quadratic
        self._penalized = penalized
        self._count = int(np.count_nonzero(penalized))  # they come first
        self._gram = np.empty((0, 0))  # lower triangle, without lam
        self._in_gram = np.zeros(data.n if data.m == 1 else 0)  # S
        self._factor: Array | None = None
        self.visited = 0

    def put(self, w: Array, predictions: Array | None = None) -> None:
        """To a point, whose predictions may be known."""
        if predictions is None:
            predictions = self.data.predictions(w)
            self.visited += self.data.n
        self.w, self.predictions = w, predictions
        self.slopes, self.bends = self.losses.slopes(predictions)
        self._way, self._steps = norm(w), 0

    @property
    def reached(self) -> Predicted:
        """The point, for a certificate."""
        return Predicted(self.w, self.predictions, self._way, self._steps)

    def gradient(self) -> Array:
        """Grad f(w), for L2 grad P(w); one product."""
        self.visited += self.data.n
        mean = self.data.combination(self.slopes) / self.data.n
        if self._quadratic:
            mean += self._lam * (self._penalized * self.w)
        return np.asarray(mean)

    def gap(self, gradient: Array) -> float:
        """The gap of w and -phi_i'; for L2 it is ||grad P||^2 / (2 lam).

        For a free intercept, whose duals have to be moved for that, the decrease that it promises.
        """
        w, slope = self.w[: self._count], gradient[: self._count]
        if self._quadratic:
            gap = 0.5 / self._lam * float(slope @ slope)
        else:
            abar = -slope / self._lam
            parts = self._g.value(w) + self._g.conjugate(abar) - w * abar
            gap = self._lam * float(np.sum(parts))
            gap = np.inf if np.isnan(gap) else gap  # outside the domain of g
        if self._count == len(self.w):
            return gap
        totals = np.atleast_1d(self.slopes.sum(axis=0))
        bend = self.data.n / self.losses.loss.gamma if self.bends is None else np.sum(self.bends)
        return gap + 0.5 * float(totals @ totals) / (self.data.n * max(float(bend), 1e-300))

    def direction(self, gradient: Array) -> Array:
        """p, from curvatures that are brought up to date; nan if numbers overflow."""
        if self._quadratic:
            return np.asarray(lapack.dpotrs(self.factor(), -gradient, lower=1)[0])
        self._update()
        whole = self.data.bordered_gram(self._gram, self._in_gram)
        whole = np.tril(whole) + np.tril(whole, -1).T
        return self._minimizer(whole, whole @ self.w - gradient) - self.w

    def factor(self) -> Array:
        """The Cholesky factor of the matrix with lam, brought up to date."""
        self._update()
        if self._factor is None:
            self._factor = self._factorized()
        return self._factor

    def step(self, gradient: Array, direction: Array) -> Array:
        """Move along the direction; returns the predictions of the whole step."""
        along = self.data.predictions(direction)
        self.visited += self.data.n
        if self._quadratic:
            penalized = self._lam * (self._penalized * direction)
            linear, square = float(self.w @ penalized), float(direction @ penalized)
            slope = float(gradient @ direction)
            found = search(self.losses, self.predictions, along, linear, square, slope)
        else:
            found = backtrack(
                self.losses,
                self.predictions,
                along,
                lambda t: self._penalty(self.w + t * direction),
            )
        self.length, self.predictions, self.slopes, self.bends = found
        self.moved = self.length * direction
        self.w = self.w + self.moved
        self._way += norm(self.moved)
        self._steps += 1
        return along

    def newton_step(self, gradient: Array, direction: Array) -> Array:
        """The same for a direction of the matrix; returns the dual point that belongs to it."""
        slopes = self.slopes
        return -(slopes + self._in_gram * self.step(gradient, direction))

    def objective(self) -> float:
        """P(w)."""
        return float(np.mean(self.losses.values(self.predictions))) + self._penalty(self.w)

    def bent_share(self) -> float:
        """The share of the examples with a curvature, which a matrix consists of."""
        if self.bends is None:
            return 1.0
        return float(np.count_nonzero(self.bends > NEGLIGIBLE * self.bends.max())) / self.data.n

    def noise(self) -> float:
        """What one example and one coordinate contribute to the error of a sample's minimum."""
        gamma = self.losses.loss.gamma
        bend = 0.5 / gamma if self.bends is None else float(np.mean(self.bends))
        return float(np.mean(self.slopes * self.slopes)) / max(bend, 1e-300)

    def _penalty(self, w: Array) -> float:
        """Lam g(w)."""
        return self._lam * float(np.sum(self._g.value(w[: self._count])))

    def _minimizer(self, H: Array, c: Array) -> Array:
        """Of 1/2 w'Hw - c'w + lam g, where the free coordinates are eliminated."""
        k = self._count
        if k == len(c):
            return minimizer(H, c, self._lam, self._g, self.w)
        try:
            eliminated = np.linalg.solve(H[k:, k:], np.column_stack([H[k:, :k], c[k:]]))
        except np.linalg.LinAlgError:  # curvatures that underflow
            return np.full_like(c, np.nan)
        shares, constants = eliminated[:, :k], eliminated[:, k]
        w = minimizer(
            H[:k, :k] - H[:k, k:] @ shares,
            c[:k] - H[:k, k:] @ constants,
            self._lam,
            self._g,
            self.w[:k],
        )
        return np.append(w, constants - shares @ w)

    def _update(self) -> None:
        """Bring the curvatures of the matrix up to date where they have changed."""
        storage, n = self.data.storage, self.data.n
        bends = self._bends_of_matrix()
        if not self._gram.size:
            self._gram = np.zeros((self.data.features, self.data.features))
        elif self.losses.abilities.quadratic:  # all curvatures are there, once and for all
            return
        if self.losses.abilities.quadratic:
            equal = not bends.strides[0]  # one number, broadcast
            each = np.broadcast_to(bends[0] / n, n) if equal else bends / n
            storage.add_gram(None, each, self._gram)
            self._in_gram = bends
            self.visited += n
            return
        change = bends - self._in_gram
        changed = np.flatnonzero(np.abs(change) > CHANGE * self._in_gram)
        if not changed.size:
            return
        self._factor = None
        if storage.gram_by_blas and changed.size > MOST_CHANGED * n:
            self._gram[:] = 0.0
            bent = np.flatnonzero(bends)
            everyone = bent.size > MOST_CHANGED * n
            weights = bends if everyone else bends[bent]
            storage.add_gram(None if everyone else bent, weights / n, self._gram)
            self._in_gram[:] = bends
            self.visited += n
        else:
            storage.add_gram(changed, change[changed] / n, self._gram)
            self._in_gram[changed] = bends[changed]
            self.visited += changed.size

    def _bends_of_matrix(self) -> Array:
        """The curvatures, or their bounds s_i / gamma if none is bent, or hardly any at w = 0."""
        assert self.bends is not None
        at_start = self._steps == 0 and not self.w[: self._count].any()
        if at_start or not self.bends.any():
            bounds = self.losses.weights_or_ones / self.losses.loss.gamma
            if np.mean(self.bends) < FLAT * np.mean(bounds):
                return np.asarray(bounds)
        return self.bends

    def _factorized(self) -> Array:
        """The Cholesky factor; rounding may ask for a little more than lam."""
        whole = self.data.bordered_gram(self._gram, self._in_gram)
        diagonal = whole.diagonal().copy()
        added = self._lam
        for _ in range(TRIALS):
            matrix = whole.copy(order="F")
            np.fill_diagonal(matrix, diagonal + added * self._penalized)
            factor, info = lapack.dpotrf(matrix, lower=1, overwrite_a=1, clean=0)
            if info == 0:
                return np.asarray(factor)
            added = 10 * added + 1e-15 * float(diagonal.max())
        return np.full_like(whole, np.nan)
