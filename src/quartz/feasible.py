"""Duals inside the domain of the conjugates, and such that sum to 0.

The domain of a scalar loss is an interval for each example. Losses over classes that say `simplex`
have alpha_i = s_i (e_y - p_i) with p_i in the unit simplex, s_i being the weight.
"""

from typing import TYPE_CHECKING

import numpy as np

from quartz.arrays import Array
from quartz.losses.base import is_vector
from quartz.losses.examples import compiled

if TYPE_CHECKING:
    from quartz.problem import Problem

FAR = 1e30, 300.0, 30.0  # predictions where gradients have come to their bounds, if they have any
CLOSE = 1e-6  # predictions between which a linear piece of a loss shows


def repaired(problem: "Problem", alpha: Array, predictions: Array) -> Array:
    """Return duals near alpha that sum to 0, inside the domain of the conjugates.

    alpha_i' = alpha_i - delta r_i, where the room r_i = (alpha_i - l)(u - alpha_i) / (u - l) in the
    domain [l, u] is 0 at its ends, which are corners of the conjugate; for logistic loss it is the
    inverse of the conjugate's curvature, along which D falls least. Examples on a linear piece of
    their loss, with duals that say so, are at a corner, too.
    """
    if is_vector(problem.loss):
        return _repaired_in_simplex(problem, alpha)
    low, high = ends = problem.dual_bounds
    alpha = np.clip(alpha, low, high)
    given = alpha, predictions, problem.y, problem.weights, ends, CLOSE
    found = compiled("repair", problem.loss, *given)
    if found is not None:
        return found
    room, width = (alpha - low) * (high - alpha), high - low
    np.divide(room, width, out=room, where=width > 0)  # an example of weight 0 has no room
    room[_at_corner(problem, alpha, predictions, room > 0)] = 0.0
    total, rooms = alpha.sum(axis=0), room.sum(axis=0)
    # too little room: towards the ends of all domains, which loses more, but always leads there
    scarce = np.abs(total) > rooms
    if np.any(scarce):
        room = np.where(scarce, alpha - np.where(total > 0, low, high), room)
        rooms = room.sum(axis=0)
    delta = np.divide(total, rooms, out=np.zeros_like(total), where=np.asarray(rooms != 0))
    return np.clip(alpha - delta * room, low, high)


def domain(problem: "Problem") -> tuple[Array, Array]:
    """Ends of the conjugates' domains in alpha: minus the gradients far away.

    Where a formula overflows to no number at all, nearer.
    """
    ends = []
    for side in (1.0, -1.0):
        end = np.full(problem.data.dual_shape, np.nan)
        for far in FAR:
            lacking = np.isnan(end)
            if lacking.any():
                with np.errstate(all="ignore"):
                    found = -problem.gradients(np.full(end.shape, side * far))
                end = np.where(lacking, np.clip(found, -FAR[0], FAR[0]), end)
        ends.append(end)
    return ends[0], ends[1]


def nearest_feasible(problem: "Problem", alpha: Array) -> Array:
    """Duals moved into the domain of the conjugates, the nearest of a scalar loss."""
    if not is_vector(problem.loss):
        low, high = problem.dual_bounds
        return np.clip(alpha, low, high)
    points = np.maximum(simplex_points(problem, alpha), 0.0)
    sums = points.sum(axis=1, keepdims=True)
    weights = np.ones(problem.n) if problem.weights is None else problem.weights
    points *= np.divide(weights[:, None], sums, out=np.zeros_like(sums), where=sums > 0)
    return simplex_points(problem, points)  # the map is its own inverse


def _at_corner(problem: "Problem", alpha: Array, predictions: Array, inside: Array) -> Array:
    """Which of those inside have a dual that fits a linear piece of their loss."""
    near = CLOSE * (1 + np.abs(predictions))
    ahead = problem.gradients(predictions + near)
    found = inside & (alpha == -ahead)
    if found.any():
        found &= ahead == problem.gradients(predictions - near)
    return found


def simplex_points(problem: "Problem", alpha: Array) -> Array:
    """s_i p_i, from alpha_i = s_i (e_y - p_i)."""
    points = -alpha
    examples = np.arange(problem.n)
    points[examples, problem.y] += 1.0 if problem.weights is None else problem.weights
    return points


def room_in_simplex(problem: "Problem", points: Array) -> Array:
    """sum_i s_i (diag(p_i) - p_i p_i')."""
    shares = points
    if problem.weights is not None:
        shares = points / np.maximum(problem.weights, 1e-300)[:, None]
    return np.asarray(np.diag(points.sum(axis=0)) - points.T @ shares)


def _repaired_in_simplex(problem: "Problem", alpha: Array) -> Array:
    """The same where alpha_i = e_y - p_i: p_i moves along (diag(p_i) - p_i p_i') delta."""
    points = simplex_points(problem, alpha)
    weights = np.ones(problem.n) if problem.weights is None else problem.weights
    total, sums = alpha.sum(axis=0), points.sum(axis=0)
    room = room_in_simplex(problem, points)
    delta = np.linalg.lstsq(room, total)[0]
    missing = np.abs(room @ delta - total).max()
    if np.ptp(delta) <= 1 and missing <= 1e-12 * np.abs(total).sum() + 1e-14 * problem.n:
        means = points @ delta / np.maximum(weights, 1e-300)
        return alpha - points * (delta - means[:, None])
    # towards one point for all, which makes up for what each class lacks
    wanted = sums + total
    kept = float(np.min(wanted / np.maximum(sums, wanted)))
    common = (wanted - kept * sums) / weights.sum()
    return alpha - (kept - 1) * points - weights[:, None] * common
