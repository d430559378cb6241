"""Robust regression: the absolute error, with a dead zone, smoothed, or both.

All are functions of the residual r = a - y, with conjugates that are finite on [-1, 1]:
phi*(u) = |u| (sign(u) y + epsilon + gamma |u| / 2). epsilon is 0 without a dead zone, gamma without
smoothing. Numbers are clipped before they are multiplied or divided, which could overflow.
"""

from typing import NamedTuple

import numpy as np

from quartz import checks
from quartz.arrays import Floats
from quartz.domain import barrier

_EPSILON = "It is the half-width of the zone without loss."


class Absolute(NamedTuple):
    """phi(a) = |a - y|. Not smooth (gamma = 0): Option I only."""

    @property
    def gamma(self) -> float:
        """Not smooth."""
        return 0.0

    @property
    def lowest(self) -> float:
        """The least loss, without an error."""
        return 0.0

    def value(self, a: Floats, y: Floats) -> Floats:
        """|r|."""
        return np.abs(a - y)

    def gradient(self, a: Floats, y: Floats) -> Floats:
        """The sign of r."""
        return np.sign(a - y)

    def conjugate(self, u: Floats, y: Floats) -> Floats:
        """phi*(u)."""
        size = np.minimum(np.abs(u), 1.0)
        return size * (np.copysign(1.0, u) * y) + barrier(u, -1.0, 1.0)

    def step(self, alpha: float, a: float, y: float, q: float) -> float:
        """New alpha of Option I; an empty example (q = 0) goes straight to a bound."""
        if q <= 0.0:
            return np.sign(y - a)
        # No move is longer than 2.
        return min(max(alpha + min(max(y - a, -2.0 * q), 2.0 * q) / q, -1.0), 1.0)

    def smoothed(self, gamma: float) -> "Huber":
        """Its Moreau envelope."""
        return Huber(gamma)


class Huber(NamedTuple):
    """phi(a) = r^2 / (2 gamma) for |r| <= gamma, else |r| - gamma / 2."""

    gamma: float = 1.0

    def validate(self) -> None:
        """Check gamma."""
        checks.positive("gamma", self.gamma, "For the loss that is not smooth use Absolute().")

    @property
    def lowest(self) -> float:
        """The least loss, without an error."""
        return 0.0

    def value(self, a: Floats, y: Floats) -> Floats:
        """phi(a)."""
        size = np.abs(a - y)
        bent = np.minimum(size, self.gamma)
        return bent / self.gamma * (size - 0.5 * bent)

    def gradient(self, a: Floats, y: Floats) -> Floats:
        """The residual over gamma, clipped to [-1, 1]."""
        return np.minimum(np.maximum(a - y, -self.gamma), self.gamma) / self.gamma

    def curvature(self, a: Floats, y: Floats) -> Floats:
        """1 / gamma where the loss is bent, else 0."""
        return (np.abs(a - y) < self.gamma) / self.gamma

    def slopes(self, a: Floats, y: Floats) -> tuple[Floats, Floats]:
        """`gradient` and `curvature`."""
        bent = np.minimum(np.maximum(a - y, -self.gamma), self.gamma)
        return bent / self.gamma, (np.abs(bent) < self.gamma) * min(1.0 / self.gamma, 1e308)

    def conjugate(self, u: Floats, y: Floats) -> Floats:
        """phi*(u)."""
        size = np.minimum(np.abs(u), 1.0)
        slope = np.copysign(1.0, u) * y + 0.5 * self.gamma * size
        return size * slope + barrier(u, -1.0, 1.0)

    def step(self, alpha: float, a: float, y: float, q: float) -> float:
        """New alpha of Option I."""
        most = self.gamma + q
        return min(max(y - a + q * alpha, -most), most) / most


class EpsilonInsensitive(NamedTuple):
    """phi(a) = max(0, |a - y| - epsilon), the loss of support vector regression.

    Not smooth (gamma = 0): Option I only.
    """

    epsilon: float = 0.1

    @property
    def gamma(self) -> float:
        """Not smooth."""
        return 0.0

    def validate(self) -> None:
        """Check epsilon."""
        checks.nonnegative("epsilon", self.epsilon, _EPSILON)

    @property
    def lowest(self) -> float:
        """The least loss, without an error."""
        return 0.0

    def value(self, a: Floats, y: Floats) -> Floats:
        """phi(a)."""
        return np.maximum(_excess(a, y, self.epsilon), 0.0)

    def gradient(self, a: Floats, y: Floats) -> Floats:
        """The sign of r outside the dead zone."""
        return np.sign(a - y) * (np.abs(a - y) > self.epsilon)

    def conjugate(self, u: Floats, y: Floats) -> Floats:
        """phi*(u)."""
        size = np.minimum(np.abs(u), 1.0)
        return size * (np.copysign(1.0, u) * y + self.epsilon) + barrier(u, -1.0, 1.0)

    def step(self, alpha: float, a: float, y: float, q: float) -> float:
        """New alpha of Option I; an empty example (q = 0) goes straight to a bound."""
        pull = y - a + q * alpha
        shrunk = np.sign(pull) * max(abs(pull) - self.epsilon, 0.0)
        if q <= 0.0:
            return np.sign(shrunk)
        return min(max(shrunk, -q), q) / q

    def smoothed(self, gamma: float) -> "SmoothedEpsilonInsensitive":
        """Its Moreau envelope."""
        return SmoothedEpsilonInsensitive(self.epsilon, gamma)


class SmoothedEpsilonInsensitive(NamedTuple):
    """The Huber loss of the excess max(|a - y| - epsilon, 0) over a dead zone."""

    epsilon: float = 0.1
    gamma: float = 1.0

    def validate(self) -> None:
        """Check epsilon and gamma."""
        checks.nonnegative("epsilon", self.epsilon, _EPSILON)
        checks.positive("gamma", self.gamma, "For a loss that is not smooth: EpsilonInsensitive().")

    @property
    def lowest(self) -> float:
        """The least loss, without an error."""
        return 0.0

    def value(self, a: Floats, y: Floats) -> Floats:
        """phi(a)."""
        excess = np.maximum(_excess(a, y, self.epsilon), 0.0)
        bent = np.minimum(excess, self.gamma)
        return bent / self.gamma * (excess - 0.5 * bent)

    def gradient(self, a: Floats, y: Floats) -> Floats:
        """phi'(a)."""
        excess = np.maximum(_excess(a, y, self.epsilon), 0.0)
        return np.sign(a - y) * np.minimum(excess, self.gamma) / self.gamma

    def curvature(self, a: Floats, y: Floats) -> Floats:
        """1 / gamma where the loss is bent, else 0."""
        excess = np.abs(a - y) - self.epsilon
        return (excess > 0.0) * (excess < self.gamma) / self.gamma

    def conjugate(self, u: Floats, y: Floats) -> Floats:
        """phi*(u)."""
        size = np.minimum(np.abs(u), 1.0)
        slope = (np.copysign(1.0, u) * y + self.epsilon) + 0.5 * self.gamma * size
        return size * slope + barrier(u, -1.0, 1.0)

    def step(self, alpha: float, a: float, y: float, q: float) -> float:
        """New alpha of Option I."""
        pull = y - a + q * alpha
        shrunk = np.sign(pull) * max(abs(pull) - self.epsilon, 0.0)
        most = self.gamma + q
        return min(max(shrunk, -most), most) / most


def _excess(a: Floats, y: Floats, epsilon: float) -> Floats:
    """|a - y| - epsilon, to rounding of the result.

    Where it is nearly 0 the rounding of r = a - y would be all that is left. What r lacks of a - y
    is `lost`, exactly, by Knuth's sum of two numbers.
    """
    r = a - y
    back = r - a
    lost = (a - (r - back)) - (y + back)
    return (np.abs(r) - epsilon) + np.copysign(1.0, r) * lost
