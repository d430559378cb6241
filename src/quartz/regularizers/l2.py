"""Squared Euclidean norm, also over the nonnegative orthant and over a box."""

from typing import NamedTuple

import numpy as np

from quartz.arrays import Array, Floats
from quartz.domain import barrier


class L2(NamedTuple):
    """g(w) = ||w||^2 / 2, its own conjugate [g-app-1]."""

    @property
    def separable(self) -> bool:
        """A sum over coordinates."""
        return True

    @property
    def quadratic(self) -> bool:
        """It is ||.||^2 / 2."""
        return True

    def value(self, w: Floats) -> Floats:
        """w_j^2 / 2."""
        return 0.5 * w * w

    def conjugate(self, u: Floats) -> Floats:
        """u_j^2 / 2."""
        return 0.5 * u * u

    def conjugate_gradient(self, u: Floats) -> Floats:
        """The identity."""
        return u

    def weakened(self, t: float) -> "L2":
        """Return g itself: h = 0."""
        return self


class NonnegativeL2(NamedTuple):
    """g(w) = ||w||^2 / 2 for w >= 0, else infinite."""

    @property
    def separable(self) -> bool:
        """A sum over coordinates."""
        return True

    def value(self, w: Floats) -> Floats:
        """w_j^2 / 2 for w_j >= 0."""
        inside = np.maximum(w, 0.0)  # the square of another w might overflow
        return 0.5 * inside * inside + barrier(w, 0.0, np.inf)

    def conjugate(self, u: Floats) -> Floats:
        """max(u_j, 0)^2 / 2."""
        w = np.maximum(u, 0.0)
        return 0.5 * w * w

    def conjugate_gradient(self, u: Floats) -> Floats:
        """max(u_j, 0)."""
        return np.maximum(u, 0.0)

    def conjugate_curvature(self, u: Floats) -> Floats:
        """1 for u_j > 0."""
        return np.asarray(u > 0.0, dtype=np.float64)

    def weakened(self, t: float) -> "NonnegativeL2":
        """Return g itself: h is 0 or infinite."""
        return self

    def nearest(self, w: Array) -> Array:
        """max(w_j, 0)."""
        return np.maximum(w, 0.0)


class BoxL2(NamedTuple):
    """g(w) = ||w||^2 / 2 for lower <= w_j <= upper, else infinite."""

    lower: float = -1.0
    upper: float = 1.0

    @property
    def separable(self) -> bool:
        """A sum over coordinates."""
        return True

    def validate(self) -> None:
        """Check the bounds."""
        if not -np.inf <= self.lower <= self.upper <= np.inf or np.inf in (
            self.lower,
            -self.upper,
        ):
            raise ValueError(
                f"lower must not exceed upper, got lower={self.lower!r}, upper={self.upper!r}."
            )

    def value(self, w: Floats) -> Floats:
        """w_j^2 / 2 inside the box."""
        inside = np.minimum(np.maximum(w, self.lower), self.upper)
        return 0.5 * inside * inside + barrier(w, self.lower, self.upper)

    def conjugate(self, u: Floats) -> Floats:
        """u_j w - w^2 / 2 at the maximizing w."""
        w = np.minimum(np.maximum(u, self.lower), self.upper)
        return w * (u - 0.5 * w)

    def conjugate_gradient(self, u: Floats) -> Floats:
        """u_j clipped to the box."""
        return np.minimum(np.maximum(u, self.lower), self.upper)

    def conjugate_curvature(self, u: Floats) -> Floats:
        """1 inside the box."""
        return np.asarray((self.lower < u) & (u < self.upper), dtype=np.float64)

    def weakened(self, t: float) -> "BoxL2":
        """Return g itself: h is 0 or infinite."""
        return self

    def nearest(self, w: Array) -> Array:
        """w_j clipped to the box."""
        return np.minimum(np.maximum(w, self.lower), self.upper)
