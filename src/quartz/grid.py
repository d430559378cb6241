"""Floats on a grid, the multiples of a power of two, on which their sums are exact.

A dual certificate needs sums that are 0, not nearly 0: those of all examples if the intercept is
free, those of all classes for a loss over classes. Dual variables are therefore rounded to a grid,
and where their sum is a few units too large or too small, the one with the most room makes up for
it.
"""

import numpy as np

from quartz.arrays import Array, Floats, IntArray, sums_of_rows
from quartz.parallel import rows_in_parts

DIGITS = 52  # binary digits that the largest number has on its grid: one less than a float has
SMALLEST = 1e-280  # numbers below it count as 0, because the grid itself would underflow
TOGETHER = 1024  # units whose sum is below 2^63
PART = 8 * TOGETHER  # numbers that are rounded at once, because they stay in the cache
MOST_MOVES = 1000  # of units from one number to another; one is enough unless room is scarce


def spacing(largest: Floats) -> Array:
    """The spacing q of a grid with largest <= 2^52 q; 1 where `largest` is below `SMALLEST`."""
    _, exponent = np.frexp(largest)
    return np.where(largest < SMALLEST, 1.0, np.ldexp(1.0, exponent - DIGITS))


def balanced(alpha: Array, low: Floats, high: Floats) -> Array:
    """Numbers in [low, high] next to those of a vector, whose exact sum is 0.

    All are 0, wherever the bounds are, if there is no room for that, which does not happen if the
    sum of `alpha` is 0 up to rounding.
    """
    q = float(spacing(max(float(alpha.max(initial=0.0)), -float(alpha.min(initial=0.0)))))
    inverse = 1 / q  # exact, for a power of two
    units, excess = np.empty_like(alpha), 0
    parts = rows_in_parts(len(alpha), PART)
    for part in parts:
        some = np.rint(alpha[part] * inverse, out=units[part])
        if np.ndim(low):  # else there are no bounds
            least, most = _ends(low, high, part, inverse)
            np.minimum(np.maximum(some, least, out=some), most, out=some)
        excess += _sum(some)
    for part in parts if excess else ():  # one number with room for all of it is mostly enough
        least, most = _ends(low, high, part, inverse)
        inside = np.minimum(units[part] - least, most - units[part])
        i = int(inside.argmax())
        if inside[i] > abs(excess):
            units[part][i] -= excess
            excess = 0
            break
    if excess and not _moved(units, excess, *_ends(low, high, slice(None), inverse)):
        return np.zeros_like(alpha)
    units *= q
    return units


def _ends(low: Floats, high: Floats, part: slice, inverse: float) -> tuple[Floats, Floats]:
    """The bounds of a part, in units."""
    if not np.ndim(low) or not np.ndim(high):
        return -np.inf, np.inf
    return np.ceil(low[part] * inverse), np.floor(high[part] * inverse)  # type: ignore[index]


def _moved(units: Array, excess: int, least: Floats, most: Floats) -> bool:
    """Take an excess from the numbers with the most room; False if there is too little."""
    for _ in range(MOST_MOVES):
        room = units - least if excess > 0 else most - units
        inside = np.minimum(units - least, most - units)  # those at a bound lose dual value
        i = int(inside.argmax())
        if inside[i] < abs(excess) <= room.max() or not inside[i]:
            i = int(room.argmax())
        move = int(min(room[i], abs(excess)))
        if not move:
            return False
        units[i] += -move if excess > 0 else move
        excess += -move if excess > 0 else move
        if not excess:
            return True
    return False


def simplex_duals(alpha: Array, y: IntArray, totals: Array) -> Array:
    """Dual variables of a loss over classes next to `alpha`, exactly inside their domain.

    This is alpha_ik <= 0 for k != y_i, alpha_iy <= totals_i, and sums over the classes that are 0.
    """
    points = _others(alpha, y)
    for _ in range(MOST_MOVES):
        sums = sums_of_rows(points)
        q = spacing(sums)
        points = np.floor(points / q[:, None]) * q[:, None]
        sums = sums_of_rows(points)  # exact, on the grid
        beyond = sums > totals
        if not beyond.any():
            break
        points[beyond] *= (totals[beyond] / sums[beyond] * (1 - 2.0**-50))[:, None]
    return _completed(points, sums, y)


def balanced_simplex_duals(alpha: Array, y: IntArray, totals: Array) -> Array:
    """The same, where the sums over the examples are 0 for every class, too.

    All are 0 if there is no room for that, which does not happen if these sums of `alpha` are 0 up
    to rounding.
    """
    parts = rows_in_parts(len(y), TOGETHER)
    masses = (sums_of_rows(_others(alpha[part], y[part])) for part in parts)
    q = float(spacing(max((float(mass.max()) for mass in masses), default=0.0)))
    units = np.empty_like(alpha)  # of the result
    lacking = [0] * alpha.shape[1]  # its sums
    for part in parts:
        some = _whole_units(alpha[part], y[part], totals[part], q)
        if some is None:
            return np.zeros_like(alpha)
        units[part] = some
        sums = some.astype(np.int64).sum(axis=0).tolist()
        lacking = [before + more for before, more in zip(lacking, sums, strict=True)]
    for _ in range(MOST_MOVES):
        if not any(lacking):
            units *= q
            units += 0.0  # for no zero is negative
            return units
        to, source = lacking.index(max(lacking)), lacking.index(min(lacking))
        wanted = min(lacking[to], -lacking[source])
        i, mass = _largest_mass(units, y, totals, q, source, wanted)
        move = min(mass, wanted)
        if not move:
            break
        units[i, source] += move  # the mass of a label's own class is what the others leave
        units[i, to] -= move
        lacking[to] -= move
        lacking[source] += move
    return np.zeros_like(alpha)


def _whole_units(alpha: Array, y: IntArray, totals: Array, q: float) -> Array | None:
    """Dual variables next to `alpha` in units of q; None if there are none in the domain."""
    masses = np.floor(_others(alpha, y) / q)
    room = _most(totals, q) - sums_of_rows(masses)
    for row in np.flatnonzero(room < 0):  # the sum was above the total by rounding
        masses[row, masses[row].argmax()] += room[row]
    if masses.min(initial=0.0) < 0:
        return None
    return _completed(masses, sums_of_rows(masses), y)


def _most(totals: Array, q: float) -> Array:
    """The mass of all classes together, in units."""
    return np.minimum(np.floor(totals / q), 2.0**DIGITS)


def _largest_mass(
    units: Array, y: IntArray, totals: Array, q: float, k: int, enough: int
) -> tuple[int, int]:
    """An example with `enough` mass of class k, or the one with the most, and this mass."""
    best, most = 0, -1
    for part in rows_in_parts(len(y), TOGETHER):
        of_class = units[part, k]
        left = np.where(y[part] == k, _most(totals[part], q), 0.0) - of_class
        i = int(left.argmax())
        if left[i] > most:
            best, most = part.start + i, int(left[i])
        if most >= enough:
            break
    return best, most


def _others(alpha: Array, y: IntArray) -> Array:
    """The masses -alpha_ik of the classes k != y_i, and 0 for y_i."""
    points = np.maximum(-alpha, 0.0)
    points[np.arange(len(y)), y] = 0.0
    return points


def _completed(points: Array, sums: Array, y: IntArray) -> Array:
    """Dual variables with these masses of the other classes, which have these sums."""
    alpha = 0.0 - points
    alpha[np.arange(len(y)), y] = sums
    return alpha


def _sum(units: Array) -> int:
    """The exact sum of whole numbers up to 2^53."""
    starts = range(0, len(units), TOGETHER)
    return sum(np.add.reduceat(units.astype(np.int64), starts).tolist()) if starts else 0
