"""A regularizer of the features beside free intercepts, the last coordinates."""

from typing import Any, NamedTuple

import numpy as np

from quartz.arrays import Array
from quartz.regularizers import base


class BesideIntercept(NamedTuple):
    """g of all coordinates but the last m, whatever these are.

    Its conjugate is finite only where the last coordinates are 0. That constraint is the business
    of the problem and its certificate; `conjugate` leaves it out, and `conjugate_gradient` is that
    of the proximal term that solvers have in its place.
    """

    features: Any  # g
    outputs: int = 1  # m

    def value(self, w: Array) -> float:
        """g of the features."""
        return base.value(self.features, w[: -self.outputs])

    def conjugate(self, u: Array) -> float:
        """g* of the features."""
        return base.conjugate(self.features, u[: -self.outputs])

    def conjugate_gradient(self, u: Array) -> Array:
        """That of g, and the last coordinates themselves."""
        return np.append(self.features.conjugate_gradient(u[: -self.outputs]), u[-self.outputs :])

    def weakened(self, t: float) -> "BesideIntercept":
        """Only g."""
        return BesideIntercept(base.weakened(self.features, t), self.outputs)
