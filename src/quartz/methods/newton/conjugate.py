"""Conjugate gradients for the linear system of a quadratic loss: two products a step, no matrix.

They need few steps where the columns of X are nearly orthogonal, and many where they are not. The
first steps tell which: from their rate follows whether the matrix and its factor would be cheaper.
"""

from typing import NamedTuple

import numpy as np

from quartz.arrays import Array
from quartz.data import Blocks
from quartz.rounding import norm

TRIAL = 3  # steps after which their rate counts
MOST_STEPS = 500
LEAST_FALL = 0.05  # of log |r|^2 in a step, which is assumed if it falls less


class Solution(NamedTuple):
    """An approximate solution of H p = -g.

    Attributes
    ----------
    p : ndarray of shape (d,)
    along : ndarray of shape (n,)
        The predictions A_i' p.
    residual : ndarray of shape (d,)
        g + H p, the gradient at the end of the step.
    way : float
        The lengths of all steps together, to which the rounding of `along` is relative.
    steps : int
        Their number.
    """

    p: Array
    along: Array
    residual: Array
    way: float
    steps: int


def solve(
    data: Blocks, bends: Array, ridge: Array, gradient: Array, enough: float, most: float
) -> Solution:
    """Minimize <g, p> + 1/2 p'Hp with H = 1/n sum_i s_i A_i A_i' + diag(ridge).

    Parameters
    ----------
    data : Blocks
        With one output.
    bends : ndarray of shape (n,)
        s_i.
    ridge : ndarray of shape (d,)
        lam where coordinates are penalized, else 0.
    gradient : ndarray of shape (d,)
        g.
    enough : float
        |g + H p|^2 with which to end.
    most : float
        Steps more than this, by the rate of the first ones, and it is given up after these.
    """
    p, along, r = np.zeros(data.d), np.zeros(data.n), gradient.copy()
    direction, square, way = -r, float(r @ r), 0.0
    first = square
    for step in range(1, MOST_STEPS + 1):
        predictions = data.predictions(direction)
        image = data.combination(bends * predictions) / data.n
        image += ridge * direction
        length = square / float(direction @ image)
        p += length * direction
        way += length * norm(direction)
        along += length * predictions
        r += length * image
        before, square = square, float(r @ r)
        if not enough < square < np.inf:
            break
        if step >= TRIAL:
            fall = max(np.log(first / square) / step, LEAST_FALL)
            if np.log(square / enough) / fall > most:
                break
        direction *= square / before
        direction -= r
    return Solution(p, along, r, way, step)
