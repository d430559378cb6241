"""Group lasso with a ridge."""

from typing import NamedTuple

import numpy as np

from quartz import checks
from quartz.arrays import Array, IntArray
from quartz.regularizers.elastic_net import counts

_TINY = 2.0**-1022  # least divisor of a vector, for a vector of zeros


class GroupL2(NamedTuple):
    """g(w) = ||w||^2 / 2 + mu sum_G ||w_G||; the coordinates of a group vanish together.

    Parameters
    ----------
    groups : ndarray of shape (d,)
        The group number of each coordinate, from 0.
    mu : float
        Weight of the group norms.
    """

    groups: IntArray
    mu: float = 1.0

    @property
    def length(self) -> int:
        """One group number for each coordinate."""
        return len(self.groups)

    def validate(self) -> None:
        """Check mu and groups."""
        checks.nonnegative("mu", self.mu, "It weighs the norms of the groups.")
        if not isinstance(self.groups, np.ndarray):
            raise ValueError(
                f"groups must be an array with the group of each coordinate, got {self.groups!r}."
            )
        checks.partition("groups", self.groups)

    def value(self, w: Array) -> float:
        """g(w)."""
        return np.sum(0.5 * w * w) + self.mu * np.sum(_norms(self.groups, w))

    def conjugate(self, u: Array) -> float:
        """sum_G max(||u_G|| - mu, 0)^2 / 2."""
        sizes = np.maximum(_norms(self.groups, u) - self.mu, 0.0)
        return np.sum(0.5 * sizes * sizes)

    def conjugate_gradient(self, u: Array) -> Array:
        """Each group shrunk towards 0 by mu."""
        norms = np.sqrt(np.bincount(self.groups, u * u))  # unscaled: it is part of every step
        kept = np.maximum(norms - self.mu, 0.0)
        return u * (kept / np.maximum(norms, 1e-300))[self.groups]

    def weakened(self, t: float) -> "GroupL2":
        """Weigh the norms of the groups by t mu."""
        return GroupL2(self.groups, t * self.mu)

    def vanishes_at(self, slope: Array) -> float:
        """max_G ||slope_G|| / mu; infinite if the norms have too little weight."""
        return float(_norms(self.groups, slope).max()) / self.mu if counts(self.mu) else np.inf


def _norms(groups: IntArray, w: Array) -> Array:
    """The norms of all groups, by squares that do not overflow, nor underflow where they count."""
    largest = max(np.max(np.abs(w)), _TINY)
    scaled = w / largest
    return largest * np.sqrt(np.bincount(groups, scaled * scaled))
