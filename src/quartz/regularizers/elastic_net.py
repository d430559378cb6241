"""Elastic net."""

from typing import NamedTuple

import numpy as np

from quartz import checks
from quartz.arrays import Array, Floats


class ElasticNet(NamedTuple):
    """g(w) = ||w||^2 / 2 + mu ||w||_1.

    scikit-learn's ``ElasticNet(alpha, l1_ratio)`` is lam = alpha (1 - l1_ratio) and
    mu = l1_ratio / (1 - l1_ratio).
    """

    mu: float = 1.0

    @property
    def separable(self) -> bool:
        """A sum over coordinates."""
        return True

    def validate(self) -> None:
        """Check mu."""
        checks.nonnegative("mu", self.mu, "It weighs the 1-norm.")

    def value(self, w: Floats) -> Floats:
        """w_j^2 / 2 + mu |w_j|."""
        return 0.5 * w * w + self.mu * np.abs(w)

    def conjugate(self, u: Floats) -> Floats:
        """max(|u_j| - mu, 0)^2 / 2."""
        size = np.maximum(np.abs(u) - self.mu, 0.0)
        return 0.5 * size * size

    def conjugate_gradient(self, u: Floats) -> Floats:
        """u_j shrunk towards 0 by mu."""
        return np.sign(u) * np.maximum(np.abs(u) - self.mu, 0.0)

    def conjugate_curvature(self, u: Floats) -> Floats:
        """1 for |u_j| > mu."""
        return np.asarray(np.abs(u) > self.mu, dtype=np.float64)

    def weakened(self, t: float) -> "ElasticNet":
        """Weigh the 1-norm by t mu."""
        return ElasticNet(t * self.mu)

    def vanishes_at(self, slope: Array) -> float:
        """max_j |slope_j| / mu; infinite if the 1-norm has too little weight."""
        return float(np.abs(slope).max()) / self.mu if counts(self.mu) else np.inf


def counts(mu: float) -> bool:
    """Whether a norm of weight mu has more than a hundredth of the weights of g, mu + 1.

    With less, the lam at which w = 0 becomes optimal is 99 times the slope or more.
    """
    return mu > 0.01 * (1 + mu)
