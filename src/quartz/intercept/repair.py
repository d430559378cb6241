"""Duals that sum to 0 inside the domain of the conjugates, near given ones; both hold exactly.

The domain of a scalar loss is an interval for each example. Losses over classes that say `simplex`
have alpha_i = s_i (e_y - p_i) with p_i in the unit simplex, s_i being the weight. With several
free columns the sums would be C' alpha = 0, one linear constraint for each column.
"""

import numpy as np

from quartz import grid
from quartz.arrays import Array, Floats, Mask
from quartz.losses.examples import ExampleLosses

BALANCED = 1e-13  # a sum, over that of the absolute values, which rounding to a grid makes up for
CLOSE = 1e-6  # relative distance of predictions between which a linear piece of a loss shows


def repaired(losses: ExampleLosses, alpha: Array, predictions: Array) -> Array:
    """Return duals near alpha that sum to 0 exactly, inside the domain of the conjugates.

    alpha_i' = alpha_i - delta r_i, where the room r_i = (alpha_i - l)(u - alpha_i) / (u - l) in the
    domain [l, u] is 0 at its ends, which are corners of the conjugate; for logistic loss it is the
    inverse of the conjugate's curvature, along which D falls least. Examples on a linear piece of
    their loss, with duals that say so, are at a corner, too.
    """
    if losses.abilities.vector:
        weights = np.asarray(losses.weights_or_ones)
        return grid.balanced_simplex_duals(_repaired_in_simplex(losses, alpha), losses.y, weights)
    low: Floats
    high: Floats
    near = losses.nearest_feasible(alpha)
    if losses.abilities.quadratic and losses.weights is None:  # a conjugate without ends
        near, low, high = near - near.mean(axis=0), -np.inf, np.inf
    elif losses.abilities.quadratic:  # its curvature is 1 / s_i
        low, high = losses.dual_bounds
        shares = np.asarray(losses.weights_or_ones / np.sum(losses.weights_or_ones))
        near = near - np.multiply.outer(shares, near.sum(axis=0))
    else:
        low, high = losses.dual_bounds
        near = _balanced(losses, near, predictions)
    if near.ndim == 1:
        return grid.balanced(near, low, high)
    ends = (np.broadcast_to(end, near.shape).T for end in (low, high))
    return np.column_stack([grid.balanced(*column) for column in zip(near.T, *ends, strict=True)])


def _balanced(losses: ExampleLosses, near: Array, predictions: Array) -> Array:
    """The same up to rounding, for a loss that is not quadratic."""
    sums, sizes = near.sum(axis=0), np.abs(near).sum(axis=0)
    if not np.any(np.abs(sums) > BALANCED * sizes):
        return near
    by_loop = losses.repaired_by_loop(near, predictions, CLOSE)
    return _repaired(losses, near, predictions) if by_loop is None else by_loop


def _repaired(losses: ExampleLosses, alpha: Array, predictions: Array) -> Array:
    """The same up to rounding, of duals inside the domain."""
    low, high = losses.dual_bounds
    room, width = alpha - low, high - low
    np.divide(room, width, out=room, where=width > 0)  # an example of weight 0 has no room
    room *= high - alpha
    room[_at_corner(losses, alpha, predictions, room > 0)] = 0.0
    total, rooms = alpha.sum(axis=0), room.sum(axis=0)
    # Where there is too little room, all duals move towards the ends of their domains. This loses
    # more dual value, but always leads to a sum of 0.
    scarce = np.abs(total) > rooms
    if np.any(scarce):
        room = np.where(scarce, alpha - np.where(total > 0, low, high), room)
        rooms = room.sum(axis=0)
    delta = np.divide(total, rooms, out=np.zeros_like(total), where=np.asarray(rooms != 0))
    return np.clip(alpha - delta * room, low, high)


def room_in_simplex(losses: ExampleLosses, points: Array) -> Array:
    """sum_i s_i (diag(p_i) - p_i p_i')."""
    shares = points
    if losses.weights is not None:
        shares = points / np.maximum(losses.weights, 1e-300)[:, None]
    return np.asarray(np.diag(points.sum(axis=0)) - points.T @ shares)


def sums_to_zero(alpha: Array) -> bool:
    """Whether the duals of every output sum to 0, up to rounding."""
    rounding = 1e-12 * (alpha.size + float(np.abs(alpha).sum()))
    return bool(np.all(np.abs(alpha.sum(axis=0)) <= rounding))


def _at_corner(losses: ExampleLosses, alpha: Array, predictions: Array, inside: Mask) -> Mask:
    """Which of those inside have a dual that fits a linear piece of their loss."""
    near = CLOSE * (1 + np.abs(predictions))
    ahead = losses.gradients(predictions + near)
    found = inside & (alpha == -ahead)
    if found.any():
        found &= ahead == losses.gradients(predictions - near)
    return found


def _repaired_in_simplex(losses: ExampleLosses, alpha: Array) -> Array:
    """The same where alpha_i = e_y - p_i: p_i moves along (diag(p_i) - p_i p_i') delta."""
    points = losses.simplex_points(alpha)
    weights = losses.weights_or_ones
    ones = np.ones(losses.n)
    total, sums = ones @ alpha, ones @ points
    room = room_in_simplex(losses, points)
    delta = np.linalg.lstsq(room, total)[0]
    missing = np.abs(room @ delta - total).max()
    if np.ptp(delta) <= 1 and missing <= 1e-12 * np.abs(total).sum() + 1e-14 * losses.n:
        means = points @ delta / np.maximum(weights, 1e-300)
        return alpha - points * (delta - means[:, None])
    # Otherwise all examples move towards one point, which makes up for what each class lacks.
    wanted = sums + total
    kept = float(np.min(wanted / np.maximum(sums, wanted)))
    common = (wanted - kept * sums) / weights.sum()
    return alpha - (kept - 1) * points - weights[:, None] * common
