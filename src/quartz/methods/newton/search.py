"""A line search on predictions: no product with the data."""

from collections.abc import Callable

import numpy as np

from quartz.arrays import Array
from quartz.losses.examples import ExampleLosses

SLOPE = 0.1  # of P along the direction, as a share of that at its start: close to the minimum
TRIALS = 40  # of step lengths
SHRINKAGE = 0.05  # of a length beyond which no shorter one is known to be too short


def search(
    losses: ExampleLosses,
    predictions: Array,
    along: Array,
    linear: float,
    square: float,
    slope_at_start: float,
) -> tuple[float, Array, Array, Array | None]:
    """Minimize mean_i phi_i(a_i + t u_i) + linear t + square t^2 / 2 over t, nearly.

    Newton steps from t = 1, or secants for a loss without curvatures, inside a bracket, until the
    slope is small beside that at t = 0. Returns t, the predictions a + t u, and the slopes and
    curvatures of the losses there.
    """
    low, high, length = 0.0, np.inf, 1.0
    last, slope_at_last = 0.0, slope_at_start
    enough = SLOPE * abs(slope_at_start)
    for trial in range(TRIALS + 1):
        there = predictions + length * along
        slopes, bends = losses.slopes(there)
        slope = float(np.vdot(slopes, along)) / losses.n + linear + length * square
        if not abs(slope) > enough or length == last or trial == TRIALS:
            break
        low, high = (low, length) if slope > 0 else (length, high)
        if trial == TRIALS - 1:
            length = low  # where the slope is negative, or nowhere
            continue
        if bends is None:
            curvature = (slope - slope_at_last) / (length - last)
        else:
            curvature = float(np.vdot(bends, along * along)) / losses.n + square
        last, slope_at_last = length, slope
        length -= slope / max(curvature, 1e-300)
        if not low < length < high:
            length = _between(low, high)
    return length, there, slopes, bends


def _between(low: float, high: float) -> float:
    """A step length inside a bracket, whose ends may be 0 or infinite."""
    if high == np.inf:
        return 2 * low
    return 0.5 * (low + high) if low > 0 else SHRINKAGE * high


def backtrack(
    losses: ExampleLosses, predictions: Array, along: Array, penalty: Callable[[float], float]
) -> tuple[float, Array, Array, Array | None]:
    """Halve t from 1 until mean_i phi_i(a_i + t u_i) + penalty(t) is not above its value at 0.

    Returns the same as :func:`search`. For a loss with a constant curvature t = 1 is best.
    """
    length = 1.0
    if not losses.abilities.quadratic:
        start = float(np.mean(losses.values(predictions))) + penalty(0.0)
        for _ in range(TRIALS):
            there = float(np.mean(losses.values(predictions + length * along))) + penalty(length)
            if there <= start:
                break
            length *= 0.5
        else:
            length = 0.0
    there_predictions = predictions + length * along
    return length, there_predictions, *losses.slopes(there_predictions)
