"""How far rounding can have moved P(w) and D(alpha): bounds by numbers of terms and magnitudes.

With the unit u = 2^-53 a sum of k terms, in any order, is off by at most

    r(k) = k u / (1 - k u)

times the sum of their absolute values (Higham, Accuracy and Stability of Numerical Algorithms,
section 3.1). From that follow, with a tilde for what was computed,

    predictions  ||a~_i - a_i|| <= e_i = r(k) ||A_i|| ||w||,       k entries in the longest row;
                 if w was reached by steps from point to point, and the predictions with it, ||w||
                 is the length of the way, and each step counts for a few more entries
    losses       mean s_i |phi_i(a~_i) - phi_i(a_i)| is at most, if they are smooth,
                     sqrt(mean s_i ||phi_i'||^2) sqrt(mean s_i e_i^2) + mean s_i e_i^2 / (2 gamma)
                 where ||phi'||^2 <= (2 / gamma) (phi - inf phi), and inf phi = -phi*(0); also
                     mean L_i e_i,                                 L_i bounds the slope of s_i phi_i
    duals        ||abar~ - abar|| <= e = r(k) / (lam n) sum_i ||A_i|| ||alpha_i||,
                                                                   k roundings in a sum over rows
    penalty      lam (g*(abar) - g*(abar~)) <= lam (||z|| e + e^2 / 2), because g* is 1-smooth,

and every function of a loss or of a penalty is accurate to a few u, as their modules say. All of it
costs two products of vectors. Sums in twice the working precision have r(k)^2 in place of r(k), and
one rounding of the result (:class:`quartz.data.accurate.AccurateStorage`).
"""

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np

from quartz.arrays import Array, Floats
from quartz.data import Blocks
from quartz.losses.examples import ExampleLosses

UNIT = 2.0**-53
FEW = 32  # roundings in a function of a loss or of a penalty (at most 16), and in what is around it
SUMMED = 64  # roundings in a sum by pairs, of any length
NEGLIGIBLE = 1000  # times the rounding of the losses themselves, about 1e-14: not worth a search
STEP = 8  # roundings of a step: of its length, of w, of its predictions, and of both sums
ROUGH = 1e-8  # of the dual value: a bound by Cauchy's inequality that adds less is good enough
MARGIN = 1.001  # for the rounding of the bounds themselves
SAFE_SQUARES = 1e-250, 1e300  # between them a sum of squares has lost nothing that counts


def relative_error(terms: int) -> float:
    """r(k) for a sum of so many terms."""
    return terms * UNIT / (1 - terms * UNIT)


class Predicted(NamedTuple):
    """Predictions of a point that a method has reached step by step.

    Attributes
    ----------
    w : ndarray of shape (d,)
    values : ndarray of shape (n,) or (n, m)
        A_i' w, up to rounding.
    way : float
        ||w_0|| + ||w_1 - w_0|| + ..., where w_0 is the last point whose predictions were computed
        from scratch, and the others had A_i' (w_k - w_{k-1}) added to theirs.
    steps : int
        How many of them.
    """

    w: Array
    values: Array
    way: float
    steps: int


class Rounding:
    """Bounds for the certificates of a problem on these data, with any lam and penalty.

    Parameters
    ----------
    data : Blocks
    losses : ExampleLosses
    """

    def __init__(self, data: Blocks, losses: ExampleLosses) -> None:
        self._data, self._losses = data, losses

    def of_losses(
        self,
        mean: float,
        size: float,
        w: Array,
        predictions: Array,
        shift: Floats,
        constant: bool,
        accurate: bool,
        reached: Predicted | None = None,
    ) -> float:
        """A bound for the error of the mean loss at w.

        Parameters
        ----------
        mean, size : float
            The mean loss, and that of the absolute values.
        w, predictions : ndarray
            The point, and A_i' w.
        shift : float or ndarray
            The part of an intercept in the predictions.
        constant : bool
            Whether there is nothing else in them.
        accurate : bool
            Whether the predictions were summed in twice the working precision.
        reached : Predicted, optional
            How they were found, if not from scratch.
        """
        length, steps = (norm(w), 0) if reached is None else (reached.way, reached.steps)
        terms = relative_error(self._data.storage.row_terms + SUMMED + STEP * steps)
        others = relative_error(SUMMED + FEW) * size
        if constant and reached is None and not self._losses.abilities.vector:
            moved = 0.0  # a scalar loss has a relative accuracy, and predictions were not summed
        elif accurate:
            sizes = _norms(predictions) + 2 * norm(np.asarray(shift))
            errors = relative_error(FEW) * sizes + terms * terms * length * self._data.lengths
            moved = self._of_moved(mean, errors, others)
        else:
            moved = self._of_stretched(mean, terms * length, others)
        return MARGIN * (moved + others)

    def of_abar(self, duals: Array, abar: Array, lam: float, accurate: bool) -> float:
        """A bound for the error of abar, in its norm."""
        data = self._data
        terms = relative_error(data.storage.column_terms + FEW)
        if accurate:
            terms = relative_error(data.storage.shape[0] + FEW)
            terms *= terms
        length, size = norm(abar), norm(duals)
        others = relative_error(FEW) * length
        rough = terms * data.typical_length / math.sqrt(data.n) * size / lam
        value = lam * length * length + float(self._losses.loss.gamma) * size / data.n * size
        if lam * rough * (length + rough) <= ROUGH * value < np.inf:
            return MARGIN * (rough + others)
        # BLAS would start its threads for a product of long vectors.
        exact = float(np.einsum("i,i->", data.lengths, _norms(duals))) / (lam * data.n)
        return MARGIN * (terms * exact + others)

    def of_conjugates(self, size: float) -> float:
        """A bound for the error of the mean conjugate, of that mean absolute value."""
        return MARGIN * relative_error(SUMMED + FEW) * size

    def _of_moved(self, mean: float, errors: Array, others: float) -> float:
        """How much the mean loss may change if the predictions do by up to e_i.

        Slopes are looked at only where the bound for smooth losses is far above that of the
        `others`.
        """
        largest = float(errors.max())
        if not largest:
            return 0.0
        shares = errors / largest  # whose squares do not underflow
        square = float(np.mean(self._losses.weights_or_ones * shares * shares))
        smooth = self._of_smooth(mean, largest * math.sqrt(square))
        if smooth <= NEGLIGIBLE * others:
            return smooth
        return min(smooth, float(np.mean(self._losses.steepest * errors)))

    def _of_stretched(self, mean: float, error: float, others: float) -> float:
        """The same for e_i = error ||A_i||, from means that are known."""
        if not error:
            return 0.0
        smooth = self._of_smooth(mean, error * math.sqrt(self._squared_lengths))
        if smooth <= NEGLIGIBLE * others or self._losses.abilities.quadratic:
            return smooth
        return min(smooth, error * self._steep_lengths)

    def _of_smooth(self, mean: float, root: float) -> float:
        """The same for smooth losses and the root of the mean of s_i e_i^2; else infinite."""
        gamma = float(self._losses.loss.gamma)
        if not gamma:
            return np.inf
        above = mean + self._lowest
        above += relative_error(SUMMED + FEW) * (abs(mean) + abs(self._lowest))
        return math.sqrt(max(above, 0.0) * 2 / gamma) * root + root / (2 * gamma) * root

    @cached_property
    def _lowest(self) -> float:
        """Minus the infimum of the mean loss over all predictions."""
        return self._losses.mean_conjugate_at_zero

    @cached_property
    def _steep_lengths(self) -> float:
        """A bound for the mean of L_i ||A_i||, by Cauchy's inequality."""
        return self._losses.typical_slope * self._data.typical_length

    @cached_property
    def _squared_lengths(self) -> float:
        """The mean of s_i ||A_i||^2."""
        if self._losses.weights is None:
            return self._data.typical_length * self._data.typical_length
        return float(np.mean(self._losses.weights * self._data.lengths**2))


def of_penalty(size: float, terms: int) -> float:
    """A bound for the error of g or g*, a sum of so many terms whose absolute values have this sum.

    Separable penalties are summed by pairs, others at worst one term after another.
    """
    return MARGIN * relative_error(terms + FEW) * size


def norm(x: Array) -> float:
    """||x||, without squares that underflow or overflow."""
    x = np.ravel(x)
    square = float(np.einsum("i,i->", x, x))
    if SAFE_SQUARES[0] < square < SAFE_SQUARES[1]:
        return math.sqrt(square)
    largest = float(np.abs(x).max(initial=0.0))
    if not 0 < largest < np.inf:
        return largest
    return largest * float(np.linalg.norm(x / largest))


def _norms(rows: Array) -> Array:
    """Bounds for the norms of all rows, or the absolute values of a vector."""
    return np.abs(rows) if rows.ndim == 1 else np.asarray(np.abs(rows).sum(axis=1))
