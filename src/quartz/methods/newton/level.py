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
from quartz.methods.newton import conjugate
from quartz.methods.newton.search import backtrack, search
from quartz.methods.newton.separable import minimizer
from quartz.parallel import in_parts, rows_in_parts
from quartz.regularizers.base import Regularizer, abilities
from quartz.rounding import Predicted, norm

CHANGE = 0.1  # relative change of a curvature below which the old one is kept
FEW = 0.5  # share of rows up to which they are gathered for a matrix
FEW_SLOPES = 0.1  # share of slopes that changed, up to which the gradient is updated
LARGE = 1e6  # entries of X below which a whole product is as fast
NEGLIGIBLE = 1e-6  # a curvature, over the largest one
FLAT = 0.05  # mean curvature, over its bound, below which the matrix would be lam I nearly
# Matrices in float32, where a step solves a system that is slightly wrong. Its dual point is none
# the worse, but does not fit w + p exactly.
SINGLE_FEATURES = 32  # fewer than that, and it is not faster
SINGLE_ERROR = 2e-6  # least lam, over the largest entry of the matrix
TRIALS = 30  # of factorizations with more and more damping
TOGETHER, WORK = 32_768, 8  # examples that NumPy looks at at once, and numbers multiplied meanwhile


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
    single : bool
        Whether float32 may be tried for matrices.

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
    single : bool
        Whether matrices are formed in float32, because lam hides what that loses.
    keeps_matrix : bool
        Whether the next step takes the matrix as it is, whatever has changed.
    """

    def __init__(
        self,
        data: Blocks,
        losses: ExampleLosses,
        lam: float,
        regularizer: Regularizer,
        penalized: Array,
        single: bool = True,
    ) -> None:
        self.data, self.losses, self._lam, self._g = data, losses, lam, regularizer
        self._quadratic = abilities(regularizer).quadratic
        self._penalized = penalized
        self._count = int(np.count_nonzero(penalized))  # they come first
        self._gram = np.empty((0, 0))  # lower triangle, without lam and centre
        self._in_gram = np.empty(0)  # S
        self._factor: Array | None = None
        self._slopes_of_mean: Array | None = None  # those of the last gradient
        self._mean_slope = np.empty(0)
        self.visited = 0
        self.keeps_matrix = False
        self.single = single and data.features >= SINGLE_FEATURES and data.storage.gram_by_blas

    def put(self, w: Array, predictions: Array | None = None) -> None:
        """To a point, whose predictions may be known."""
        if predictions is None:
            predictions = self.data.predictions(w)
            self.visited += self.data.n
        self.w, self.predictions = w, predictions
        self.slopes, self.bends = self.losses.slopes(predictions)
        self._way, self._steps = norm(w), 0

    def exchange(self, losses: ExampleLosses) -> None:
        """Go on with other losses of the same examples."""
        self.losses, self._gram = losses, np.empty((0, 0))
        self.slopes, self.bends = losses.slopes(self.predictions)

    @property
    def reached(self) -> Predicted:
        """The point, for a certificate."""
        return Predicted(self.w, self.predictions, self._way, self._steps)

    def gradient(self) -> Array:
        """Grad f(w), for L2 grad P(w); one product at most."""
        if not self._update_mean_slope():
            self.visited += self.data.n
            self._mean_slope = self.data.combination(self.slopes) / self.data.n
        self._slopes_of_mean = self.slopes
        if self._quadratic:
            return np.asarray(self._mean_slope + self._lam * (self._penalized * self.w))
        return self._mean_slope.copy()

    def _update_mean_slope(self) -> bool:
        """Bring 1/n sum_i A_i phi_i' up to date if few slopes have changed since the last time."""
        n, then = self.data.n, self._slopes_of_mean
        if then is None or n * self.data.features < LARGE or self.bent_share() > FEW_SLOPES:
            return False
        changed = np.flatnonzero(self.slopes != then)
        if not len(changed):
            return True
        if len(changed) > FEW_SLOPES * n:
            return False
        some = self.data.take(changed)
        self._mean_slope = self._mean_slope + some.combination((self.slopes - then)[changed]) / n
        self.visited += len(changed)
        return True

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
            return self._solved(-gradient)
        self._update()
        whole = self._whole()
        whole = np.tril(whole) + np.tril(whole, -1).T
        return self._minimizer(whole, whole @ self.w - gradient) - self.w

    def _solved(self, right: Array) -> Array:
        """The solution of the linear system of the matrix with lam."""
        return np.asarray(lapack.dpotrs(self.factor(), right, lower=1)[0])

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
                lambda t: self.penalty(self.w + t * direction),
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

    def losses_gap(self, duals: Array) -> float:
        """Twice the Fenchel-Young gap of the losses and these duals, nearly.

        A dual that is off by delta has one of about delta^2 / (2 phi''); infinite where that is 0.
        """
        bends, n = self.bends, self.data.n
        assert bends is not None

        def of_part(part: slice) -> float:
            off = duals[part] + self.slopes[part]
            off *= off
            off /= bends[part] + 1e-300  # which is no number at all, and makes 0 / 0 = 0
            return float(np.sum(off))

        return sum(in_parts(of_part, rows_in_parts(n, TOGETHER), WORK * n)) / n

    def by_products(self, gradient: Array, enough: float, most: float) -> conjugate.Solution:
        """Move by conjugate gradients, for a quadratic loss and L2; see `conjugate.solve`."""
        assert self.bends is not None
        ridge = self._lam * self._penalized
        found = conjugate.solve(self.data, self.bends, ridge, gradient, enough, most)
        self.visited += 2 * self.data.n * found.steps
        if not np.isfinite(found.residual).all():  # numbers overflow
            return found
        self.predictions = self.predictions + found.along
        self.slopes, self.bends = self.losses.slopes(self.predictions)
        self.w = self.w + found.p
        self._way += found.way
        self._steps += found.steps
        return found

    def objective(self) -> float:
        """P(w)."""
        return float(np.mean(self.losses.values(self.predictions))) + self.penalty(self.w)

    def bent_share(self) -> float:
        """The share of the examples with a curvature, which a matrix consists of."""
        if self.bends is None:
            return 1.0
        return float(np.count_nonzero(self.bends > NEGLIGIBLE * self.bends.max())) / self.data.n

    def sees_all_features(self) -> bool:
        """Whether each feature has an entry that is not 0, among examples with a curvature."""
        self._update()
        return bool(np.all(self._gram.diagonal()[: self.data.features] > 0))

    def noise(self) -> float:
        """What one example and one coordinate contribute to the error of a sample's minimum."""
        gamma = self.losses.loss.gamma
        bend = 0.5 / gamma if self.bends is None else float(np.mean(self.bends))
        return float(np.mean(self.slopes * self.slopes)) / max(bend, 1e-300)

    def penalty(self, w: Array) -> float:
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
        if not self._gram.size:
            self._form(self._bends_of_matrix())
            return
        if self.keeps_matrix or self.losses.abilities.quadratic:  # whose curvatures never change
            return
        bends, storage = self._bends_of_matrix(), self.data.storage
        change = bends - self._in_gram
        changed = np.abs(change) > CHANGE * self._in_gram
        count = int(np.count_nonzero(changed))
        if not count:
            return
        anew = np.count_nonzero(bends)
        if count * (2 if storage.gram_by_blas else 1) > anew:  # BLAS has no half of X'DX, D <> 0
            self._form(bends)
            return
        self._factor = None
        some = np.flatnonzero(changed)
        storage.add_gram(some, change[some] / self.data.n, self._gram)
        self._in_gram = np.where(changed, bends, self._in_gram)
        self.visited += count

    def _form(self, bends: Array) -> None:
        """The whole matrix of these curvatures."""
        storage, n = self.data.storage, self.data.n
        self._factor, self._in_gram = None, bends
        self.visited += n
        if not bends.strides[0]:  # one number, broadcast
            some, weights = None, np.broadcast_to(bends[0] / n, n)
        elif np.count_nonzero(bends) > FEW * n:
            some, weights = None, bends / n
        else:
            some = np.flatnonzero(bends)
            weights = bends[some] / n
        if self.single:
            expected = float(np.sum(weights)) * storage.largest_square
            self.single = self._lam > 0.5 * SINGLE_ERROR * expected
        self._gram = np.zeros((self.data.gram_size, self.data.gram_size))
        storage.add_gram(some, weights, self._gram, self.single)
        if self.single and not self._lam > SINGLE_ERROR * self._gram.diagonal().max():
            self.single = False
            self._gram[:] = 0.0
            storage.add_gram(some, weights, self._gram)

    def _bends_of_matrix(self) -> Array:
        """The curvatures, or their bounds s_i / gamma if none is bent, or hardly any at w = 0."""
        assert self.bends is not None
        if self.losses.abilities.quadratic:
            return self.bends
        at_start = self._steps == 0 and not self.w[: self._count].any()
        if at_start or not self.bends.any():
            bounds = self.losses.weights_or_ones / self.losses.loss.gamma
            if np.mean(self.bends) < FLAT * np.mean(bounds):
                return np.asarray(bounds)
        return self.bends

    def _factorized(self) -> Array:
        """The Cholesky factor; rounding may ask for a little more than lam."""
        whole = self._whole()
        added = self._lam
        for _ in range(TRIALS):
            factor, info = lapack.dpotrf(
                self._damped(whole, added), lower=1, overwrite_a=1, clean=0
            )
            if info == 0:
                return np.asarray(factor)
            added = 10 * added + 1e-15 * float(whole.diagonal().max())
        return np.full_like(whole, np.nan)

    def _whole(self) -> Array:
        """The lower triangle of the matrix, without lam."""
        return self.data.bordered_gram(self._gram)

    def _damped(self, whole: Array, added: float) -> Array:
        """The matrix with a multiple of I for coordinates that are penalized."""
        matrix = whole.copy(order="F")
        matrix.flat[:: len(matrix) + 1] += added * self._penalized
        return matrix
