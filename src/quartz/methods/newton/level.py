"""Newton steps on the examples of one level: a sample of the rows, or all of them.

With the curvatures h_i = phi_i''(a_i) at the predictions a = A'w, a step p solves

    (1/n sum_i S_i A_i A_i' + lam I) p = -grad P(w),        S_i = h_i, or what h_i was not long ago.

Any S >= 0 gives a dual point that belongs to w + p: for alpha_i = -(phi_i'(a_i) + S_i A_i'p),

    1/(lam n) sum_i A_i alpha_i = w + p,

as long as all alpha_i are inside their domains, and they sum to 0 where an intercept is free. So
the gap of the pair (w + p, alpha) has no part from the regularizer, and that of the losses is of
second order. The plain dual point -phi_i'(a_i) has the gap ||grad P||^2 / (2 lam), much larger for
small lam.
"""

import numpy as np
from scipy.linalg import lapack

from quartz.arrays import Array
from quartz.data import Blocks
from quartz.losses.examples import ExampleLosses
from quartz.methods.newton.search import search
from quartz.rounding import Predicted, norm

CHANGE = 0.1  # relative change of a curvature below which the old one is kept
MOST_CHANGED = 0.5  # share of changed curvatures above which BLAS forms the whole matrix anew
TRIALS = 30  # of factorizations with more and more damping


class Level:
    """A point on some of the examples, and the matrix of the next step.

    Parameters
    ----------
    data : Blocks
    losses : ExampleLosses
        Those of the examples.
    lam : float
    penalized : ndarray of shape (d,)
        1 for coordinates that are penalized, 0 for those that are free.

    Attributes
    ----------
    w, predictions : ndarray
        The point, and A_i' w.
    slopes, bends : ndarray of shape (n,)
        phi_i' and phi_i'' there.
    length, moved : float, ndarray of shape (d,)
        The last step: its length in units of its direction, and the change of w.
    visited : int
        Examples that were visited, once for each product.
    """

    def __init__(self, data: Blocks, losses: ExampleLosses, lam: float, penalized: Array) -> None:
        self.data, self.losses, self._lam, self._penalized = data, losses, lam, penalized
        self._all_penalized = bool(penalized.all())
        self._gram = np.empty((0, 0))  # lower triangle, without lam
        self._in_gram = np.zeros(data.n)  # S
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
        """Grad P(w); one product."""
        self.visited += self.data.n
        mean = self.data.combination(self.slopes) / self.data.n
        return mean + self._lam * (self._penalized * self.w)

    def gap(self, gradient: Array) -> float:
        """||grad P||^2 / (2 lam): the gap of w and -phi_i', if the duals sum to 0.

        For a free intercept, whose duals have to be moved for that, the decrease that it promises.
        """
        penalized = self._penalized * gradient
        gap = 0.5 / self._lam * float(penalized @ penalized)
        if self._all_penalized:
            return gap
        total = float(np.sum(self.slopes))
        return gap + 0.5 * total * total / (self.data.n * max(float(np.sum(self.bends)), 1e-300))

    def direction(self, gradient: Array) -> Array:
        """p, from curvatures that are brought up to date; nan if numbers overflow."""
        return np.asarray(lapack.dpotrs(self.factor(), -gradient, lower=1)[0])

    def factor(self) -> Array:
        """The Cholesky factor of the matrix, brought up to date."""
        self._update()
        if self._factor is None:
            self._factor = self._factorized()
        return self._factor

    def step(self, gradient: Array, direction: Array) -> Array:
        """Move along the direction; returns the dual point that belongs to the whole step."""
        along = self.data.predictions(direction)
        self.visited += self.data.n
        duals = -(self.slopes + self._in_gram * along)
        penalized = self._lam * (self._penalized * direction)
        length, self.predictions, self.slopes, self.bends = search(
            self.losses,
            self.predictions,
            along,
            float(self.w @ penalized),
            float(direction @ penalized),
            float(gradient @ direction),
        )
        self.moved = length * direction
        self.w = self.w + self.moved
        self._way += norm(self.moved)
        self._steps += 1
        self.length = length
        return duals

    def objective(self) -> float:
        """P(w)."""
        penalized = self._penalized * self.w
        mean = float(np.mean(self.losses.values(self.predictions)))
        return mean + 0.5 * self._lam * float(penalized @ penalized)

    def _update(self) -> None:
        """Bring the curvatures of the matrix up to date where they have changed."""
        storage, n = self.data.storage, self.data.n
        if not self._gram.size:
            self._gram = np.zeros((self.data.features, self.data.features))
        change = self.bends - self._in_gram
        changed = np.flatnonzero(np.abs(change) > CHANGE * self._in_gram)
        if not changed.size:
            return
        self._factor = None
        if storage.gram_by_blas and changed.size > MOST_CHANGED * n:
            self._gram[:] = 0.0
            bent = np.flatnonzero(self.bends)
            everyone = bent.size > MOST_CHANGED * n
            weights = self.bends if everyone else self.bends[bent]
            storage.add_gram(None if everyone else bent, weights / n, self._gram)
            self._in_gram[:] = self.bends
            self.visited += n
        else:
            storage.add_gram(changed, change[changed] / n, self._gram)
            self._in_gram[changed] = self.bends[changed]
            self.visited += changed.size

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
