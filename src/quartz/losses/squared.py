"""Squared error."""

from typing import NamedTuple

from quartz.arrays import Floats


class Squared(NamedTuple):
    """phi(a) = (a - y)^2 / 2, the loss of ridge regression; phi*(u) = u^2 / 2 + u y."""

    @property
    def gamma(self) -> float:
        """phi'' = 1."""
        return 1.0

    @property
    def quadratic(self) -> bool:
        """phi'' is constant."""
        return True

    @property
    def lowest(self) -> float:
        """The least loss, without an error."""
        return 0.0

    def value(self, a: Floats, y: Floats) -> Floats:
        """phi(a)."""
        residual = a - y
        return 0.5 * residual * residual

    def gradient(self, a: Floats, y: Floats) -> Floats:
        """a - y."""
        return a - y

    def curvature(self, a: Floats, y: Floats) -> Floats:
        """1."""
        return 1.0 + 0.0 * a

    def conjugate(self, u: Floats, y: Floats) -> Floats:
        """phi*(u), finite everywhere."""
        return u * (0.5 * u + y)

    def step(self, alpha: float, a: float, y: float, q: float) -> float:
        """New alpha of Option I."""
        return (y - a + q * alpha) / (1.0 + q)
