"""Newton steps for softmax, where all classes together have few coefficients.

With probabilities p_i the Hessian of a loss is s_i (diag(p_i) - p_i p_i'), and the matrix of a step

    H = 1/n sum_i x_i x_i' (x) s_i (diag(p_i) - p_i p_i'),

for rows x_i that have the column of an intercept. With z_i = x_i (x) p_i it is the Gram matrix of
the x_i, weighted by s_i p_ik, in the block of each class k, minus the Gram matrix of the z_i. The
dual point of a step p is alpha_i = -(phi_i' + s_i (diag(p_i) - p_i p_i') A_i'p), as for one output.
"""

import numpy as np

from quartz.arrays import Array, sums_of_rows
from quartz.methods.newton.level import Level
from quartz.parallel import in_parts, rows_in_parts

PARTS = 8  # of all rows, for threads
ENTRIES = 60_000  # of the z_i that are formed at once


class ClassLevel(Level):
    """The same as :class:`Level`, for a loss over classes with `covariance`."""

    def direction(self, gradient: Array) -> Array:
        return self._solved(-gradient)

    def newton_step(self, gradient: Array, direction: Array) -> Array:
        slopes = self.slopes
        return -(slopes + self._curved(self._in_gram, self.step(gradient, direction)))

    def losses_gap(self, duals: Array) -> float:
        off = duals + self.slopes
        off *= off
        off /= self._points() + 1e-300
        return float(np.sum(off)) / self.data.n

    def _points(self) -> Array:
        """s_i p_i."""
        return self.losses.simplex_points(-self.slopes)

    def _curved(self, points: Array, u: Array) -> Array:
        """s_i (diag(p_i) - p_i p_i') u_i."""
        each = points * u
        weights = self.losses.weights
        total = sums_of_rows(each)
        if weights is not None:
            total /= np.maximum(weights, 1e-300)
        each -= points * total[:, None]
        return each

    def _update(self) -> None:
        """Form the matrix, unless it is to be kept."""
        if not self._gram.size or not self.keeps_matrix:
            self._in_gram = self._points()
            self._gram = self._formed(self._in_gram)
            self._factor = None
            self.visited += self.data.n

    def _formed(self, points: Array) -> Array:
        """H, without lam."""
        data, m, weights = self.data, self.data.m, self.losses.weights
        size, f, rows = data.d, data.d // m, data.for_one_output()
        together = max(64, ENTRIES // size)
        # Products by BLAS with matrices of 0 and 1 repeat columns faster than NumPy does.
        repeat, tile = np.kron(np.eye(f), np.ones(m)), np.kron(np.ones(f), np.eye(m))

        def of_part(part: slice) -> Array:
            total, blocks = np.zeros((size, size)), np.zeros((f, size))
            for start in range(part.start, min(part.stop, data.n), together):
                some = slice(start, min(start + together, part.stop, data.n))
                x = rows.dense_part(some)
                each = (x @ repeat) * (points[some] @ tile)
                blocks += x.T @ each
                if weights is not None:
                    each /= np.sqrt(np.maximum(weights[some, None], 1e-300))
                total -= each.T @ each
            square, of_classes = total.reshape(f, m, f, m), blocks.reshape(f, f, m)
            for k in range(m):
                square[:, k, :, k] += of_classes[:, :, k]
            return total

        longer = max(together, -(-data.n // PARTS))
        parts = in_parts(of_part, rows_in_parts(data.n, longer), data.n * size**2 / 8)
        return np.asarray(sum(parts[1:], parts[0]) / data.n)

    def _whole(self) -> Array:
        return self._gram

    def _damped(self, whole: Array, added: float) -> Array:
        """With lam; a constant may be added to all intercepts, and these are held fixed."""
        matrix = super()._damped(whole, added)
        if self._count < len(matrix):
            free = slice(self._count, None)
            matrix[free, free] += np.mean(np.diag(whole)[free])
        return matrix
