"""Quadratic problems with a separable penalty, for few features: a sequence of linear systems.

    minimize  1/2 w'Gw - c'w + lam sum_j g(w_j)

g is piecewise quadratic: grad g* is constant on some pieces and moves with its argument on the
others, at slope 1. Once it is known on which piece each coordinate lies, those that are constant
stay there, and the others solve a linear system: a semismooth Newton step, or a primal-dual active
set. A step that does not decrease the objective ends at the best point on its way; if that is its
start, a round of coordinate descent helps.
"""

import numpy as np
from scipy.linalg import lapack

from quartz.arrays import Array, Mask
from quartz.regularizers.base import Regularizer, abilities

MOST_STEPS = 200
ZERO = 1e-12  # of a coordinate, that rounding leaves where it becomes 0
ROUNDING = 1e-15  # of the terms of the objective: a decrease below it says nothing


def minimizer(G: Array, c: Array, lam: float, g: Regularizer, w: Array) -> Array:
    """The w that minimizes the objective, from a start; nan if numbers overflow."""
    scale = lam + G.diagonal()
    weaker, nearest = _weakened(g, lam / scale), abilities(g).nearest
    w, value = w.copy(), _objective(G, c, lam, g, w)
    before: Mask | None = None
    for _ in range(MOST_STEPS):
        u = w + (c - G @ w - lam * w) / scale
        pieces, moving = np.asarray(weaker.conjugate_gradient(u)), _moves(weaker, u)
        further = _solved(G, c - scale * (u - pieces), lam, pieces, moving)
        if nearest is not None:
            further = nearest(further)
        there = _objective(G, c, lam, g, further)
        if np.isnan(there):
            return np.full_like(w, np.nan)
        if there < value:
            if before is not None and np.array_equal(before, moving) and _close(further, w):
                return further
            w, value, before = further, there, moving
            continue
        if there <= value + ROUNDING * (abs(value) + abs(float(c @ w))) < np.inf:
            return w
        before = None
        shorter, there = _best_on_the_way(G, c, lam, g, w, further)
        if there < value:
            w, value = shorter, there
        else:
            w = _round(G, c, lam, weaker, scale, w)
            value = _objective(G, c, lam, g, w)
    return w


def _best_on_the_way(
    G: Array, c: Array, lam: float, g: Regularizer, w: Array, further: Array
) -> tuple[Array, float]:
    """The best point between two, and its objective: a parabola between points of changed sign.

    Those where a coordinate becomes 0 have it exactly 0.
    """
    p = further - w
    lengths = np.divide(-w, p, out=np.ones_like(w), where=p != 0)
    lengths = np.unique(lengths[(lengths > 0) & (lengths <= 1)])
    ends = np.concatenate([[0.0], lengths, [1.0]]) if len(lengths) else np.array([0.0, 1.0])
    middles = 0.5 * (ends[1:] + ends[:-1])
    Gp, start = G @ p, float(0.5 * (w @ (G @ w)) - c @ w)
    linear, square = float(Gp @ w - c @ p), float(p @ Gp)

    def points(t: Array) -> tuple[Array, Array]:
        there = w + t[:, None] * p
        crossed = (t[:, None] * p == -w) | ((there * w < 0) & (np.abs(there) < ZERO * np.abs(w)))
        there[crossed] = 0.0
        penalties = lam * np.sum(g.value(there), axis=1)
        return there, start + t * (linear + 0.5 * square * t) + penalties

    _, at_ends = points(ends)
    _, at_middles = points(middles)
    low, high, step = at_ends[:-1], at_ends[1:], 0.25 * np.diff(ends)
    bend = low - 2 * at_middles + high
    shift = np.divide(low - high, bend, out=np.zeros_like(bend), where=bend > 0)
    best = np.concatenate([ends[1:], middles + np.clip(step * shift, -2 * step, 2 * step)])
    there, values = points(best)
    k = int(np.argmin(values))
    return there[k], _objective(G, c, lam, g, there[k])


def _weakened(g: Regularizer, t: Array) -> Regularizer:
    """The penalty t_j h + ||.||^2 / 2 of each coordinate j."""
    function = abilities(g).weakened
    assert function is not None
    return function(t)  # type: ignore[arg-type]


def _moves(g: Regularizer, u: Array) -> Mask:
    """Where grad g* moves with u."""
    curvature = abilities(g).conjugate_curvature
    assert curvature is not None
    return np.asarray(curvature(u), dtype=bool)


def _solved(G: Array, right: Array, lam: float, pieces: Array, moving: Mask) -> Array:
    """The coordinates that move, from a linear system, and the others as they are."""
    w = np.where(moving, 0.0, pieces)
    if not moving.any():
        return w
    matrix = (G if moving.all() else G[np.ix_(moving, moving)]).copy(order="F")
    matrix.flat[:: len(matrix) + 1] += lam
    rest = right - G @ w
    _, solution, info = lapack.dposv(matrix, rest[moving], lower=1, overwrite_a=1)
    w[moving] = solution if info == 0 else np.nan
    return w


def _round(G: Array, c: Array, lam: float, weaker: Regularizer, scale: Array, w: Array) -> Array:
    """One round of coordinate descent; each coordinate is minimized with the others fixed."""
    w = w.copy()
    slopes = c - G @ w - lam * w
    for j in range(len(w)):
        u = w.copy()
        u[j] += slopes[j] / scale[j]
        new = float(np.asarray(weaker.conjugate_gradient(u))[j])
        slopes -= (new - w[j]) * G[j]
        slopes[j] -= (new - w[j]) * lam
        w[j] = new
    return w


def _objective(G: Array, c: Array, lam: float, g: Regularizer, w: Array) -> float:
    return float(0.5 * (w @ (G @ w)) - c @ w) + lam * float(np.sum(g.value(w)))


def _close(x: Array, y: Array) -> bool:
    return bool(np.abs(x - y).max() <= 1e-12 * np.abs(x).max(initial=0.0))
