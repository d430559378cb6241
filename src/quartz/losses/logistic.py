"""Logistic loss."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from quartz.arrays import Array, Floats
from quartz.domain import barrier

_LARGEST = 700.0  # largest argument of exp, which overflows above 709
_TINY = 2.0**-1022  # least argument of log; it makes b log b = 0 at b = 0


class Logistic(NamedTuple):
    """phi(a) = log(1 + exp(-y a)) for y = -1 or +1.

    With b = -y u in [0, 1], phi*(u) = b log b + (1 - b) log(1 - b).
    """

    @property
    def gamma(self) -> float:
        """phi'' <= 1/4."""
        return 4.0

    @property
    def targets(self) -> str:
        """Labels are -1 and +1."""
        return "sign"

    @property
    def transcendental(self) -> bool:
        """It has exp and log."""
        return True

    def value(self, a: Floats, y: Floats) -> Floats:
        """phi(a), without overflow."""
        t = y * a
        return np.maximum(-t, 0.0) + np.log1p(np.exp(-np.abs(t)))

    def gradient(self, a: Floats, y: Floats) -> Floats:
        """-y / (1 + exp(y a)), without overflow."""
        odds = np.exp(-np.maximum(y * a, -_LARGEST))
        return -y * odds / (1.0 + odds)

    def curvature(self, a: Floats, y: Floats) -> Floats:
        """b (1 - b) with b = 1 / (1 + exp(y a))."""
        small = np.exp(-np.abs(a))
        return small / (1.0 + small) ** 2

    def slopes(self, a: Floats, y: Floats) -> tuple[Floats, Floats]:
        """-y b and b (1 - b), from one exp; in place, because memory takes most of the time."""
        b = np.array(y * a)
        np.negative(np.maximum(b, -_LARGEST, out=b), out=b)
        np.exp(b, out=b)
        rest = 1.0 + b
        np.divide(1.0, rest, out=rest)  # 1 - b
        b *= rest
        rest *= b
        b *= y
        return np.negative(b, out=b), rest

    def conjugate(self, u: Floats, y: Floats) -> Floats:
        """phi*(u), the negative entropy of (b, 1 - b).

        1 - b is c + lost, where c is rounded, and (c + lost) log(c + lost) = c log c + lost up to
        lost log c, which is less than the rounding of c log c. Without `lost` the second term would
        be 0 for b < 1e-16, where it is -b. This is as accurate as log1p, and faster. Outside [0, 1]
        both terms are positive.
        """
        b = -y * u
        c = 1.0 - b
        lost = (1.0 - c) - b
        one, other = np.log(np.maximum(b, _TINY)), np.log(np.maximum(c, _TINY))
        return b * one + c * other + (lost + barrier(b, 0.0, 1.0))

    def step(self, alpha: float, a: float, y: float, q: float) -> float:
        """New alpha of Option I, to rounding."""
        return y * _solve(y * alpha, y * a, q, 0.0)

    def quick_step(self, alpha: float, a: float, y: float, q: float) -> float:
        """New alpha of Option I, to a tenth: mostly one Newton step."""
        return y * _solve(y * alpha, y * a, q, 0.1)

    def probabilities(self, a: Array) -> Array:
        """1 / (1 + exp(-a)), that of y = +1."""
        return np.asarray(expit(a))


def _solve(old: float, margin: float, q: float, accuracy: float) -> float:
    """b = 1 / (1 + exp(-t)) for the root t of r(t) = t + margin + q (b(t) - old).

    r increases, with slope 1 + q b (1 - b). Newton steps from the old point, inside the bracket
    that 0 <= b <= 1 gives; bisection whenever they leave it or do not halve the previous move
    (Newton alone can cycle for q > 6). Ends when |r| <= accuracy min(1, first |r|).
    """
    b = min(max(old, 0.0), 1.0)
    t = np.log(max(b, _TINY)) - np.log(max(1.0 - b, _TINY))
    low, high = -margin - q * (1.0 - b), -margin + q * b
    residual = t + margin
    enough = accuracy * min(1.0, abs(residual))
    move = np.inf
    for _ in range(100):
        new = t - residual / (1.0 + q * b * (1.0 - b))
        if not low <= new <= high or abs(new - t) > 0.5 * move:
            new = 0.5 * (low + high)
        move = abs(new - t)
        t = new
        small = np.exp(-abs(t))
        b = (1.0 if t > 0.0 else small) / (1.0 + small)
        residual = t + margin + q * (b - old)
        if abs(residual) <= enough or move <= 1e-15 * (1.0 + abs(t)):
            break
        if residual > 0.0:
            high = t
        else:
            low = t
    return b
